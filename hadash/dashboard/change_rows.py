"""Tables of changes that people ask for, of bindings and of pools: the last columns of their CSV."""

from __future__ import annotations

from typing import Any

from hadash.switching.models.requested_change import RequestedChange

#: The columns that both tables end with.
COLUMNS = ("status", "reason", "requested_by", "requested_at", "decided_by", "ended_at")


def cells_of(change: RequestedChange) -> tuple[Any, ...]:
    """Return the values of :data:`COLUMNS`."""
    return (
        change.status,
        change.reason,
        change.requested_by.get_username(),
        change.requested_at,
        change.decided_by.get_username() if change.decided_by else None,
        change.ended_at,
    )
