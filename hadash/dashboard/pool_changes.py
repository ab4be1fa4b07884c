"""The table of changes of pools: its sort keys, and its rows as CSV."""

from __future__ import annotations

from typing import Any

from hadash.dashboard.sorting import REQUEST_FIELDS, Fields
from hadash.pools.models import PoolChange
from hadash.presentation.localized import sentence

#: Its sort keys.
FIELDS: Fields = {"pool": ("pool",), **REQUEST_FIELDS}

COLUMNS = (
    "key", "pair", "pool", "change", "status", "reason", "requested_by", "requested_at", "decided_by", "ended_at",
)  # fmt: skip


def row_of(change: PoolChange) -> tuple[Any, ...]:
    """Return the values of :data:`COLUMNS`."""
    return (
        change.key,
        change.pair.name if change.pair else None,
        change.pool,
        sentence(change.sentence),
        change.status,
        change.reason,
        change.requested_by.get_username(),
        change.requested_at,
        change.decided_by.get_username() if change.decided_by else None,
        change.ended_at,
    )
