"""Reading rows of large tables: their keys first, so that the database joins only the few rows that are shown
and not all that match.
"""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Count, Model, QuerySet, Window

T = TypeVar("T", bound=Model)


def first_of(rows: QuerySet[T], count: int) -> list[T]:
    """Return the first rows in their order. Two queries."""
    return _with_keys(rows, list(rows.values_list("pk", flat=True)[:count]))


def counted(rows: QuerySet[T], begin: int, end: int) -> tuple[list[T], int | None]:
    """Return (the rows from ``begin`` to ``end``, the number of all rows), for queries that have to visit every
    row anyway: one query does both.

    The number is ``None`` when there is no row in this range.
    """
    found = list(rows.annotate(of_all=Window(Count("*"))).values_list("pk", "of_all")[begin:end])
    if not found:
        return [], None
    return _with_keys(rows, [key for key, _of_all in found]), found[0][1]


def _with_keys(rows: QuerySet[T], keys: list[int]) -> list[T]:
    by_key = rows.order_by().in_bulk(keys)
    return [by_key[key] for key in keys if key in by_key]
