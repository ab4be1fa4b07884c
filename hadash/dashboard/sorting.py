"""The order of a table, chosen by a click on a column's head. It is part of the address, like filters and pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import F, QuerySet
from django.http import HttpRequest

from hadash.dashboard.views.common import address_with, searched

T = TypeVar("T")

#: A column's sort key: for rows in memory a function, for rows of the database their fields.
Keys = Mapping[str, Callable[[Any], Any]]
Fields = Mapping[str, tuple[str, ...]]

#: The sort keys that every table of requests has on which others decide.
REQUEST_FIELDS: Fields = {
    "state": ("status",),
    "reason": ("reason",),
    "by": ("requested_by__username",),
    "when": ("requested_at",),
}


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a table.

    :param column: the column; empty when none was chosen, and rows stay in their given order.
    :param name: the query parameter for this table's order, and ``page`` the one for its page.
    :param address: the page that shows the table, when another address may have to show it, too.
    :param anchor: the id of the element to scroll to after a click; empty for the top of the page.
    """

    column: str
    descending: bool
    name: str
    page: str
    address: str
    anchor: str
    _request: HttpRequest = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The order as in the address: the column, with a "-" before it when it is descending."""
        return f"{'-' if self.descending else ''}{self.column}" if self.column else ""

    def of(self, column: str) -> str:
        """Return how the table is ordered by this column, in ARIA's words; empty when it is not."""
        if column != self.column:
            return ""
        return "descending" if self.descending else "ascending"

    def link(self, column: str, *, largest_first: bool = False) -> str:
        """Return the address that orders by this column, in reverse when it is the present order. The table returns
        to its first page.

        :param largest_first: whether the first click orders descending.
        """
        turned = not self.descending if column == self.column else largest_first
        asked = f"-{column}" if turned else column
        place = f"#{self.anchor}" if self.anchor else ""
        return self.address + address_with(self._request, **{self.name: asked, self.page: None}) + place

    def rows(self, rows: Iterable[T], keys: Keys) -> list[T]:
        """Order rows in memory; rows without a value in the column come last in both directions.

        >>> order = Order("lag", True, "sort", "page", "", "", HttpRequest())
        >>> order.rows([{"lag": 1}, {"lag": None}, {"lag": 3}], {"lag": lambda row: row["lag"]})
        [{'lag': 3}, {'lag': 1}, {'lag': None}]
        """
        if self.column not in keys:
            return list(rows)
        rows = list(rows)
        key = keys[self.column]
        known = [row for row in rows if key(row) is not None]
        return sorted(known, key=key, reverse=self.descending) + [row for row in rows if key(row) is None]

    def query(self, found: QuerySet[Any], fields: Fields, then: tuple[str, ...] = ("pk",)) -> QuerySet[Any]:
        """Order rows of the database; rows without a value in the column come last in both directions.

        :param then: the fields that decide between equals, so that pages do not overlap.
        """
        if self.column not in fields:
            return found
        columns = (F(name) for name in fields[self.column])
        turned = [
            column.desc(nulls_last=True) if self.descending else column.asc(nulls_last=True)
            for column in columns
        ]
        return found.order_by(*turned, *then)


def order_of(
    request: HttpRequest,
    columns: Collection[str],
    name: str = "sort",
    page: str = "page",
    address: str = "",
    default: str = "",
    anchor: str = "",
) -> Order:
    """Read the order of a table from the address. A column that does not exist is ignored.

    :param default: the order when none was chosen, in the form of an address.
    """
    told = searched(request, name)
    told = told if told.removeprefix("-") in columns else default
    return Order(told.removeprefix("-"), told.startswith("-"), name, page, address, anchor, request)


def part_order(request: HttpRequest, part: str, columns: Collection[str], address: str = "") -> Order:
    """Read the order of one of several tables on a page (see :func:`hadash.dashboard.views.common.part_of`)."""
    return order_of(request, columns, f"{part}-sort", part, address)
