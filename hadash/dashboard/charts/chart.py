"""What every chart has: its table twin, what Plotly is told, and what stands there when there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

#: Rows of a twin that stand on the page; the CSV has all of them.
TWIN_ROWS = 40

#: Colours by what they say. ``static/charts.js`` looks up what they are in the light and in the dark, in
#: ``hadash.css``.
FIRST, SECOND = "@first", "@second"
FINE, WAITING, BAD, UNKNOWN = "@fine", "@waiting", "@bad", "@unknown"
INK, QUIET, LINE, SURFACE = "@ink-2", "@ink-3", "@line", "@surface"
#: For what says neither a cluster nor a state, from strong to faint.
GREYS = ("@ink-2", "@ink-3", "@line-strong")


@dataclass(frozen=True)
class Chart:
    """One chart. ``name`` stands in addresses and names of files. ``says``: what can be read from it, in a
    sentence. ``columns`` and ``rows`` are the table twin. ``traces`` and ``layout`` are Plotly's; ``layout``
    lies over what all charts share. Moments are numbers, milliseconds since 1970, and the axis that has them
    is of type ``date``: the browser knows the viewer's zone. A point leads to the address that stands first
    in its ``customdata``. ``empty`` stands there when there is nothing to draw.
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
    #: On a narrow screen it is moved sideways instead of being pressed together.
    is_wide: bool = False
    #: The page that has its CSV, where that is not the one that shows it.
    address: str = ""
    #: It stands in what a page loads later: the page's address does not say how its twin is ordered.
    is_fragment: bool = False

    def twin(self, order: Order | None = None) -> list[list[tuple[Column, Any]]]:
        """The first rows in this order, each cell with its column."""
        rows = self.rows if order is None else order.rows(self.rows, self._keys)
        return [list(zip(self.columns, row, strict=True)) for row in rows[:TWIN_ROWS]]

    @property
    def _keys(self) -> Keys:
        """What each column is ordered by."""
        return {column.name: partial(_comparable, number) for number, column in enumerate(self.columns)}

    @property
    def more(self) -> int:
        """How many rows the twin leaves out."""
        return max(0, len(self.rows) - TWIN_ROWS)

    @property
    def drawn(self) -> dict[str, Any]:
        """What the browser is told."""
        return {"name": self.name, "traces": list(self.traces), "layout": self.layout}

    @cached_property
    def script(self) -> SafeString:
        """The element that holds :attr:`drawn` as JSON. (Written once for all who look at a chart that is
        remembered.)
        """
        return json_script(self.drawn, self.element)

    @property
    def element(self) -> str:
        """The id of that element."""
        return f"chart-data-{self.name}"


def _comparable(number: int, row: Sequence[Any]) -> Any:
    """A value of a row, as values of its column are compared: a text without regard to capitals, several
    names as one text.

    >>> _comparable(0, ["West"]), _comparable(0, [("b", "a")]), _comparable(0, [None])
    ('west', 'b, a', None)
    """
    value = row[number]
    if value is None or isinstance(value, int | float | datetime | date):
        return value
    return (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)).casefold()


#: Heights that ``static/hadash.css`` knows, in pixels.
HEIGHTS = (220, 280, 360, 480, 640)


def height_of(rows: int) -> int:
    """Room for so many rows below each other, each as high as a line of text.

    >>> height_of(3), height_of(12), height_of(200)
    (220, 360, 640)
    """
    return next((height for height in HEIGHTS if height >= 60 + 22 * rows), HEIGHTS[-1])


def milliseconds(at: datetime) -> int:
    """As charts count moments.

    >>> milliseconds(datetime.fromisoformat("2026-11-21T17:05:00+00:00"))
    1795280700000
    """
    return round(at.timestamp() * 1000)


def asked_csv(request: HttpRequest, charts: Iterable[Chart]) -> StreamingHttpResponse | None:
    """The table of the chart that ``?csv=`` names; ``None`` when it names none of these."""
    name = request.GET.get("csv", "")
    for chart in charts:
        if chart.name == name:
            return csv_response(name, [column.name for column in chart.columns], chart.rows)
    return None
