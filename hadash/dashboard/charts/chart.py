"""The base of all charts: the data for Plotly, the table twin, and the text when there is nothing to draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property, partial
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils.html import json_script
from django.utils.safestring import SafeString

from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Keys, Order
from hadash.presentation.tables import Column

#: Most rows of a table twin on the page; the CSV has all of them.
TWIN_ROWS = 40

#: Up to this number, each whole number is marked on an axis.
MOST_MARKED = 10

#: Types of axes of which a part can be looked at more closely.
_MEASURED = ("date", "linear", "log")

#: Colours by their meaning. ``static/charts.js`` looks up their values for light and dark mode in ``hadash.css``.
FIRST, SECOND = "@first", "@second"
FINE, WAITING, BAD, UNKNOWN = "@fine", "@waiting", "@bad", "@unknown"
INK, QUIET, LINE, SURFACE = "@ink-2", "@ink-3", "@line", "@surface"
#: Colours for marks that mean neither a cluster nor a state, from strong to faint.
GREYS = ("@ink-2", "@ink-3", "@line-strong")


class Linked(str):
    """A name in a table twin that leads to the page of what it names. In CSV and in an order it is the name."""

    href: str

    def __new__(cls, name: str, href: str) -> Linked:
        """:param href: an address; empty for a name without a page."""
        made = super().__new__(cls, name)
        made.href = href
        return made


class LinkedCount(int):
    """A number in a table twin that leads to the list of what it counts. In CSV and in an order it is the number."""

    href: str

    def __new__(cls, count: int, href: str) -> LinkedCount:
        """:param href: an address; empty where there is no list."""
        made = super().__new__(cls, count)
        made.href = href
        return made


@dataclass(frozen=True)
class Chart:
    """One chart.

    Times are numbers, milliseconds since 1970, on an axis of type ``date``: the browser knows the viewer's time
    zone. A click on a point opens the first address in its ``customdata``; the twin has the same links as
    :class:`Linked` and :class:`LinkedCount`, for those who use no mouse. ``#csv`` in place of an address saves the CSV.

    :param name: the name in addresses and file names.
    :param columns: the columns of the table twin, and ``rows`` its rows.
    :param traces: Plotly's traces.
    :param layout: Plotly's layout; it overrides the layout that all charts share.
    :param says: a sentence with what can be read from the chart.
    :param empty: the text when there is nothing to draw.
    :param height: pixels.
    """

    name: str
    title: Any
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)
    says: Any = ""
    empty: Any = ""
    height: int = 280
    #: Whether it scrolls sideways on a narrow screen instead of shrinking.
    is_wide: bool = False
    #: The page that has its CSV, if it is not the page that shows the chart.
    address: str = ""
    #: Whether it is in a part that a page loads later: then the page's address cannot set the twin's order.
    is_fragment: bool = False
    #: Where ``rows`` are a part of what the CSV has: how many that are, and what returns them.
    all_count: int | None = None
    all_rows: Callable[[], Iterable[Sequence[Any]]] | None = None

    def twin(self, order: Order | None = None) -> list[list[tuple[Column, Any]]]:
        """Return the first rows of the twin in this order, each cell with its column."""
        rows = self.rows if order is None else order.rows(self.rows, self._keys)
        return [list(zip(self.columns, row, strict=True)) for row in rows[:TWIN_ROWS]]

    @property
    def _keys(self) -> Keys:
        """The sort key of each column."""
        return {column.name: partial(_comparable, number) for number, column in enumerate(self.columns)}

    @property
    def more(self) -> int:
        """How many rows the twin leaves out."""
        count = len(self.rows) if self.all_count is None else self.all_count
        return max(0, count - TWIN_ROWS)

    @property
    def zooms(self) -> bool:
        """Whether a part of it can be looked at more closely: on a map, and on an axis that measures something."""
        axis = self.layout.get("xaxis", {})
        return "scaleanchor" in self.layout.get("yaxis", {}) or axis.get("type", "") in _MEASURED

    @property
    def drawn(self) -> dict[str, Any]:
        """The data for the browser."""
        return {"name": self.name, "traces": list(self.traces), "layout": self.layout}

    @cached_property
    def script(self) -> SafeString:
        """The script element that holds :attr:`drawn` as JSON. (Rendered once for all viewers of a cached chart.)"""
        return json_script(self.drawn, self.element)

    @property
    def element(self) -> str:
        """The id of that element."""
        return f"chart-data-{self.name}"


def _comparable(number: int, row: Sequence[Any]) -> Any:
    """Return a row's value for comparison with others of its column: texts ignoring case, several names as one
    text.

    >>> _comparable(0, ["West"]), _comparable(0, [("b", "a")]), _comparable(0, [None])
    ('west', 'b, a', None)
    """
    value = row[number]
    if value is None or isinstance(value, int | float | datetime | date):
        return value
    return (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)).casefold()


#: The heights that ``static/hadash.css`` defines, in pixels.
HEIGHTS = (220, 280, 360, 480, 640)


def height_of(rows: int) -> int:
    """Return the height for so many rows, each as high as a line of text.

    >>> height_of(3), height_of(12), height_of(200)
    (220, 360, 640)
    """
    return next((height for height in HEIGHTS if height >= 60 + 22 * rows), HEIGHTS[-1])


def counting(word: str, most: int) -> dict[str, Any]:
    """Return the axis of a chart's bars of whole numbers.

    :param word: what is counted. :param most: the largest number. (Up to a few, Plotly would mark halves, and write
        them as whole numbers.)
    """
    return {
        "title": {"text": word},
        "rangemode": "tozero",
        "tickformat": ",d",
        **({"dtick": 1} if most <= MOST_MARKED else {}),
    }


def milliseconds(at: datetime) -> int:
    """Return a time as charts have it: milliseconds since 1970.

    >>> milliseconds(datetime.fromisoformat("2026-11-21T17:05:00+00:00"))
    1795280700000
    """
    return round(at.timestamp() * 1000)


def asked_csv(request: HttpRequest, charts: Iterable[Chart]) -> StreamingHttpResponse | None:
    """Return the table of the chart that ``?csv=`` names; ``None`` when it names none of these charts."""
    name = request.GET.get("csv", "")
    for chart in charts:
        if chart.name == name:
            rows = chart.rows if chart.all_rows is None else chart.all_rows()
            return csv_response(name, [column.name for column in chart.columns], rows)
    return None
