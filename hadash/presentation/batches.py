"""Reads of batches, for pages and for the API. Nothing here changes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.accounts.roles import DECIDE, OPERATE, on_pairs
from hadash.inventory.selectors import without_access
from hadash.joined import with_names
from hadash.presentation import badges
from hadash.presentation.badges import State
from hadash.switching.approvals.four_eyes import undecided_by
from hadash.switching.batches.plans import LEFT_OUT
from hadash.switching.machines.batches import ItemStatus, Status
from hadash.switching.models.batches import Batch, BatchItem

#: The order of the counts, also in a progress bar.
TOLD = (ItemStatus.DONE, ItemStatus.RUNNING, ItemStatus.FAILED, ItemStatus.DROPPED, ItemStatus.WAITING)


def batches(user: Any) -> QuerySet[Batch]:
    """Return the batches that ``user`` may see, with all relations that a line about a batch shows."""
    visible = Batch.objects.filter(on_pairs(user))
    shown = visible.select_related("source", "target", "pair", "requested_by", "decided_by")
    return with_names(without_access(shown, "source", "target"), "requested_by", "decided_by")


def waiting_for(user: User) -> QuerySet[Batch]:
    """Return the batches that wait for ``user``: to decide on, or stopped ones to continue or to end."""
    return batches(user).filter(
        undecided_by(user) & on_pairs(user, DECIDE) | Q(status=Status.STOPPED.value) & on_pairs(user, OPERATE)
    )


def running(user: Any) -> QuerySet[Batch]:
    """Return the running batches that ``user`` may see."""
    return batches(user).filter(status=Status.RUNNING.value)


def the_batch(user: Any, key: str) -> Batch:
    """Return the batch with this key.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = batches(user).filter(key=key).first()
    if found is None:
        raise Http404(_("There is no batch %(key)s.") % {"key": key})
    return found


@dataclass(slots=True)
class Progress:
    """The progress of a batch, or of one of its waves. Radii that the request left out do not count."""

    wave: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def settled(self) -> int:
        """The number of items that are done or dropped."""
        return self.counts[ItemStatus.DONE] + self.counts[ItemStatus.DROPPED]

    @property
    def bar(self) -> list[tuple[str, int, float, float]]:
        """The parts of a progress bar, without waiting items: (status, count, begin and width in percent)."""
        found, before = [], 0
        for status in TOLD:
            count = self.counts[status]
            if count and status is not ItemStatus.WAITING:
                begins, width = (round(100 * number / self.total, 2) for number in (before, count))
                found.append((status.value, count, begins, width))
                before += count
        return found

    @property
    def told(self) -> dict[str, int]:
        """The count of every status."""
        return {status.value: self.counts[status] for status in TOLD}

    @property
    def look(self) -> ItemStatus:
        """The status that stands for the whole: failed and running ones come first."""
        for status in (ItemStatus.FAILED, ItemStatus.RUNNING):
            if self.counts[status]:
                return status
        if self.settled == self.total:
            return ItemStatus.DONE
        return ItemStatus.RUNNING if self.settled else ItemStatus.WAITING


def progress_of(found: Iterable[Batch]) -> dict[int, list[Progress]]:
    """Return the waves of each batch in order, by the batch's primary key. One query."""
    rows = (
        BatchItem.objects.filter(batch__in=[batch.pk for batch in found], wave__gt=LEFT_OUT)
        .order_by("batch", "wave")
        .values_list("batch", "wave", "status")
        .annotate(Count("pk"))
    )
    waves: dict[int, dict[int, Progress]] = {}
    for batch, wave, status, count in rows:
        waves.setdefault(batch, {}).setdefault(wave, Progress(wave)).counts[ItemStatus(status)] += count
    return {batch: list(found.values()) for batch, found in waves.items()}


def whole(waves: Iterable[Progress]) -> Progress:
    """Return the progress of all waves together."""
    return Progress(0, sum((wave.counts for wave in waves), Counter()))


@dataclass(frozen=True, slots=True)
class Row:
    """A batch as a line of a table."""

    batch: Batch
    state: State
    progress: Progress
    waves: int


def rows(found: Iterable[Batch]) -> list[Row]:
    """Return batches as lines of a table. Two queries for any number."""
    listed = list(found)
    waves = progress_of(listed)
    return [
        Row(batch, badges.of_row(batch), whole(waves.get(batch.pk, [])), len(waves.get(batch.pk, [])))
        for batch in listed
    ]


def rows_of(user: Any, keys: Collection[int]) -> list[Row]:
    """Return the batches with these keys that ``user`` may see as lines of a table; no query without keys."""
    return rows(batches(user).filter(pk__in=keys)) if keys else []


def took(batch: Batch) -> float | None:
    """Return the seconds from the batch's start to its end, or to now; ``None`` before it has started."""
    if batch.started_at is None:
        return None
    until: datetime = batch.ended_at or timezone.now()
    return (until - batch.started_at).total_seconds()
