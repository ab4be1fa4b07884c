"""What runs now, and what waits for a person: the counts beside the navigation, and the first lists of the overview."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, F, QuerySet, Value

from hadash.presentation import batches, changes, selectors


@dataclass(frozen=True, slots=True)
class Inbox:
    """Primary keys of the switches, batches and changes of bindings that run, or wait for one person."""

    running_switches: Sequence[int] = ()
    running_batches: Sequence[int] = ()
    waiting_switches: Sequence[int] = ()
    waiting_batches: Sequence[int] = ()
    waiting_changes: Sequence[int] = ()

    @property
    def waiting(self) -> int:
        """The number of all that wait for the person."""
        return len(self.waiting_switches) + len(self.waiting_batches) + len(self.waiting_changes)


def inbox_of(user: Any) -> Inbox:
    """Return what runs and ``user`` may see, and what waits for ``user``. One query."""
    found: dict[str, QuerySet[Any]] = {
        "running_switches": selectors.running(user),
        "running_batches": batches.running(user),
        "waiting_switches": selectors.waiting_for(user),
        "waiting_batches": batches.waiting_for(user),
        "waiting_changes": changes.waiting_for(user),
    }
    first, *others = (
        rows.order_by()
        .annotate(where=Value(where, CharField()), key_of=F("pk"))
        .values_list("where", "key_of")
        for where, rows in found.items()
    )
    keys: dict[str, list[int]] = defaultdict(list)
    for where, key in first.union(*others, all=True):
        keys[where].append(key)
    return Inbox(**keys)
