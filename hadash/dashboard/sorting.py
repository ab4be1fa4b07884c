"""In which order a table stands: what somebody has clicked at the head of a column. It is part of the
address, like filters and pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import F, QuerySet
from django.http import HttpRequest

from hadash.dashboard.views.common import address_with, searched

T = TypeVar("T")

#: What a column is ordered by: of rows in memory, a value of each; of rows of the database, its columns.
Keys = Mapping[str, Callable[[Any], Any]]
Fields = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Order:
    """``column``: by which one; empty where nobody has chosen, and the table stands as it is given. ``name``:
    what the address calls the order of this table, ``page`` what it calls its page. ``address``: of the page
    that shows it, when another address may have to show it as well. ``anchor``: the id of what is in sight
    after a click; empty for the top of the page.
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
        """As the address has it: the column, with a "-" before it when it is turned round."""
        return f"{'-' if self.descending else ''}{self.column}" if self.column else ""

    def of(self, column: str) -> str:
        """How the table is ordered by this column, in ARIA's words; empty when it is not."""
        if column != self.column:
            return ""
        return "descending" if self.descending else "ascending"

    def link(self, column: str, *, largest_first: bool = False) -> str:
        """The address that orders by this column; the other way round when it already does. The table is back
        on its first page.

        :param largest_first: what the first click asks for.
        """
        turned = not self.descending if column == self.column else largest_first
        asked = f"-{column}" if turned else column
        place = f"#{self.anchor}" if self.anchor else ""
        return self.address + address_with(self._request, **{self.name: asked, self.page: None}) + place

    def rows(self, rows: Iterable[T], keys: Keys) -> list[T]:
        """Of rows in memory; what a column has no value of comes last either way.

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
        """The same of rows of the database. :param then: what decides between equals, so that pages do not overlap."""
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
    """What the address says. A column that does not exist is nobody's choice.

    :param default: how the table is ordered when nobody has chosen, as in an address.
    """
    told = searched(request, name)
    told = told if told.removeprefix("-") in columns else default
    return Order(told.removeprefix("-"), told.startswith("-"), name, page, address, anchor, request)


def part_order(request: HttpRequest, part: str, columns: Collection[str], address: str = "") -> Order:
    """The same of one of several tables on a page (see :func:`hadash.dashboard.views.common.part_of`)."""
    return order_of(request, columns, f"{part}-sort", part, address)
