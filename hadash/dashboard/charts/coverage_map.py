"""The map of coverage: how well clients are known, AppID by Topic. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from hadash.dashboard.charts.chart import Chart, Linked, height_of
from hadash.presentation.tables import Column

#: Most AppIDs and Topics that are drawn: as many as have room for their names.
APPIDS, TOPICS = 24, 30
#: Most Topics that have room on a phone; with more, the map is moved sideways there.
NARROW_TOPICS = 8


class Known(IntEnum):
    """How well the clients of a cell are known: the worst state of any of them."""

    REGISTERED = 0
    UNREGISTERED = 1
    CHANGING = 2
    TWICE = 3
    BYPASSING = 4

    @property
    def word(self) -> Any:
        return _WORDS[self]

    @property
    def mark(self) -> str:
        """The sign in the cell: colour is not the only signal."""
        return ("✓", "○", "↻", "×2", "⤳")[self]

    @property
    def colour(self) -> str:
        return ("@fine-tint", "@waiting-tint", "@waiting-strong", "@bad-tint", "@bad-strong")[self]


_WORDS: dict[Known, Any] = {
    Known.REGISTERED: gettext_lazy("registered"),
    Known.UNREGISTERED: gettext_lazy("not registered"),
    Known.CHANGING: gettext_lazy("changing at each start"),
    Known.TWICE: gettext_lazy("twice at once"),
    Known.BYPASSING: gettext_lazy("bypassing the Gateways"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """The clients of an AppID that use a Topic, counted by their states. ``href``: the AppID's page."""

    pair: str
    appid: str
    topic: str
    clients: int
    registered: int
    changing: int
    twice: int
    bypassing: int
    href: str = ""

    @property
    def known(self) -> Known:
        if self.bypassing:
            return Known.BYPASSING
        if self.twice:
            return Known.TWICE
        if self.changing:
            return Known.CHANGING
        return Known.UNREGISTERED if self.registered < self.clients else Known.REGISTERED


@dataclass(frozen=True, slots=True)
class Rest:
    """What there is beyond the cells that a map is given: the numbers of all AppIDs and of all cells, and what returns
    the cells, those with the worst state first.
    """

    appids: int
    count: int
    cells: Callable[[], Iterable[Cell]]


def coverage_map(cells: Sequence[Cell], query: str = "", rest: Rest | None = None) -> Chart:
    """Return the map: a row per AppID, those with the most unregistered clients first; a column per Topic.

    :param query: the text in names of AppIDs and Topics by which the cells were selected.
    :param rest: when the cells are not those of all AppIDs.
    """
    missing: dict[tuple[str, str], int] = defaultdict(int)
    users: dict[str, int] = defaultdict(int)
    for cell in cells:
        missing[cell.pair, cell.appid] += cell.clients - cell.registered
    rows = sorted(missing, key=lambda key: (-missing[key], key))[:APPIDS]
    for cell in cells:
        if (cell.pair, cell.appid) in set(rows):
            users[cell.topic] += 1
    of_rows = sorted(users, key=lambda topic: (-users[topic], topic))
    columns = of_rows[:TOPICS]
    shown = {(cell.pair, cell.appid) for cell in cells if cell.topic in set(columns)}
    rows = [row for row in rows if row in shown]
    by_place = {((cell.pair, cell.appid), cell.topic): cell for cell in cells}
    several = len({pair for pair, _appid in rows}) > 1
    names = [f"{appid} ({pair})" if several else appid for pair, appid in rows]
    grid = [[by_place.get((row, topic)) for topic in columns] for row in reversed(rows)]
    scale = [
        point for known in Known for point in ([known / 5, known.colour], [(known + 1) / 5, known.colour])
    ]
    return Chart(
        "coverage-map",
        _("Who is known where"),
        (
            Column("pair", _("Pair")),
            Column("appid", _("AppID")),
            Column("topic", _("Topic")),
            Column("state", _("State")),
            Column("clients", _("Clients"), "number"),
            Column("registered", _("Registered"), "number"),
            Column("changing", _("Changing"), "number"),
            Column("twice", _("Twice at once"), "number"),
            Column("bypassing", _("Bypassing"), "number"),
        ),
        list(map(_row, sorted(cells, key=lambda cell: (-cell.known, cell.pair, cell.appid, cell.topic)))),
        [
            {
                "type": "heatmap",
                "x": columns,
                "y": names[::-1],
                "z": [[cell.known + 0.5 if cell else None for cell in line] for line in grid],
                "text": [[cell.known.mark if cell else "" for cell in line] for line in grid],
                "texttemplate": "%{text}",
                "customdata": [
                    [[cell.href, _said(cell)] if cell else None for cell in line] for line in grid
                ],
                "zmin": 0,
                "zmax": 5,
                "colorscale": scale,
                "showscale": False,
                "xgap": 2,
                "ygap": 2,
                "hoverongaps": False,
                "hovertemplate": "<b>%{y}</b> · %{x}<br>%{customdata[1]}<extra></extra>",
            }
        ],
        {
            "xaxis": {"type": "category", "side": "top", "tickangle": -40, "showgrid": False},
            "yaxis": {"type": "category", "showgrid": False},
            "margin": {"l": 120, "r": 60, "t": 90, "b": 12},
        },
        says=_says(len(rows), rest.appids if rest else len(missing), len(columns), len(of_rows)),
        empty=_(
            "No AppID and no Topic of the map has “%(query)s” in its name. Of a very large pair the map keeps the "
            "AppIDs with the most to do: the table has all."
        )
        % {"query": query}
        if query
        else _("No run has counted clients yet."),
        height=height_of(len(rows) + 4),
        is_wide=len(columns) > NARROW_TOPICS,
        all_count=rest.count if rest else None,
        all_rows=(lambda: map(_row, rest.cells())) if rest else None,
    )


def _row(cell: Cell) -> tuple[Any, ...]:
    return (
        cell.pair,
        Linked(cell.appid, cell.href),
        cell.topic,
        str(cell.known.word),
        cell.clients,
        cell.registered,
        cell.changing,
        cell.twice,
        cell.bypassing,
    )


def _says(rows: int, appids: int, columns: int, topics: int) -> str:
    """Return the meaning of the marks, and how much of the map is drawn."""
    marks = " · ".join(f"{known.mark} {known.word}" for known in Known)
    if rows == appids and columns == topics:
        return marks
    drawn = _(
        "%(rows)s of %(appids)s AppIDs and %(columns)s of their %(topics)s Topics are drawn: those with the "
        "most to do. The search shows others. (Of a very large pair the map keeps the AppIDs with the most to do; "
        "the table has all.)"
    ) % {"rows": f"{rows:,}", "appids": f"{appids:,}", "columns": f"{columns:,}", "topics": f"{topics:,}"}
    return f"{marks}. {drawn}"


def _said(cell: Cell) -> str:
    parts = [
        ngettext(
            "%(n)s of %(all)s client is registered", "%(n)s of %(all)s clients are registered", cell.clients
        )
        % {"n": cell.registered, "all": cell.clients}
    ]
    for known, count in (
        (Known.CHANGING, cell.changing),
        (Known.TWICE, cell.twice),
        (Known.BYPASSING, cell.bypassing),
    ):
        if count:
            parts.append(f"{count} {known.word}")
    return ", ".join(parts)
