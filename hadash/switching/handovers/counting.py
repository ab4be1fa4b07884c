"""Counts of hand-overs, by kind of work and by how it reached a worker."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import F, Max, Sum
from django.utils import timezone

from hadash.switching.models.handovers import FAULTS, HandoverCount, Way, Work

log = logging.getLogger(__name__)

#: Days that are kept: a quarter shows whether a fault comes back.
KEPT_DAYS = 90
#: The default number of days that pages and the API show: today and yesterday, so that midnight hides nothing.
SHOWN_DAYS = 2


@dataclass(frozen=True, slots=True)
class Count:
    """How often one kind of work came one way in the days that were asked for."""

    work: Work
    way: Way
    count: int
    last_at: datetime


def count(work: Work, way: Way) -> None:
    """Count one hand-over. It has happened already: an error of the database is logged, not raised."""
    now = timezone.now()
    today = now.astimezone(UTC).date()
    try:
        with transaction.atomic():
            row, _new = HandoverCount.objects.get_or_create(
                day=today, work=work, way=way, defaults={"last_at": now}
            )
            HandoverCount.objects.filter(pk=row.pk).update(count=F("count") + 1, last_at=now)
    except DatabaseError:
        log.exception("a hand-over (%s, %s) is not counted", work.value, way.value)


def first_day(days: int) -> date:
    """The first of the last ``days`` days (UTC), today included."""
    return timezone.now().astimezone(UTC).date() - timedelta(days=days - 1)


def counts(days: int = SHOWN_DAYS) -> list[Count]:
    """The counts of the last ``days`` days (UTC), by kind of work and way."""
    found = HandoverCount.objects.filter(day__gte=first_day(days)).values("work", "way")
    sums = found.annotate(total=Sum("count"), newest=Max("last_at")).order_by("work", "way")
    return [Count(Work(r["work"]), Way(r["way"]), r["total"], r["newest"]) for r in sums]


def faults(days: int = SHOWN_DAYS) -> list[Count]:
    """The counts of work that did not reach a worker as it should, the most frequent first.

    Runs of jobs that no worker has taken are not faults: they wait for each other, and the pipeline's page shows
    which one has waited for too long.
    """
    found = [c for c in counts(days) if c.way in FAULTS and (c.work, c.way) != (Work.RUN, Way.NEVER_TAKEN)]
    return sorted(found, key=lambda c: -c.count)


def trim() -> None:
    """Delete the counts of days that are no longer kept."""
    HandoverCount.objects.filter(day__lt=first_day(KEPT_DAYS)).delete()
