"""The table of changes of pools: its sort keys, and its rows as CSV."""

from __future__ import annotations

from typing import Any

from hadash.dashboard import change_rows
from hadash.dashboard.sorting import REQUEST_FIELDS, Fields
from hadash.pools.models import PoolChange
from hadash.presentation.localized import sentence

#: Its sort keys.
FIELDS: Fields = {"pool": ("pool",), **REQUEST_FIELDS}

COLUMNS = ("key", "pair", "pool", "change", *change_rows.COLUMNS)


def row_of(change: PoolChange) -> tuple[Any, ...]:
    """Return the values of :data:`COLUMNS`."""
    return (
        change.key,
        change.pair.name if change.pair else None,
        change.pool,
        sentence(change.sentence),
        *change_rows.cells_of(change),
    )
