"""The map of a fleet: its islands beside each other, each with the things that have the most neighbours. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log10
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from hadash.dashboard.charts.chart import (
    BAD,
    FINE,
    FIRST,
    GREYS,
    INK,
    QUIET,
    SECOND,
    SURFACE,
    WAITING,
    Chart,
    Linked,
)
from hadash.presentation.tables import THING_WORDS, Column

#: Most islands, and most things of one island, with a name on the map; more names would overlap.
NAMED_ISLANDS, NAMED_THINGS = 12, 40
#: Things with a name where the map is narrow.
NAMED_ON_A_PHONE = 8

#: Most lines of one island that are drawn, and most characters of a name.
MOST_LINES, NAME_LENGTH = 1500, 28


#: With more marks than this, they are drawn smaller.
CROWD = 120


class Turn(StrEnum):
    """How a thing has changed since an earlier run."""

    SAME = "same"
    NEW = "new"
    GONE = "gone"
    MOVED = "moved"


#: turn → (word, colour, symbol). The symbol has the same meaning as the colour.
TURNS: Mapping[Turn, tuple[Any, Any, str]] = {
    Turn.SAME: (gettext_lazy("as it was"), [QUIET, 0.4], "circle"),
    Turn.NEW: (gettext_lazy("new"), FINE, "cross"),
    Turn.GONE: (gettext_lazy("gone"), BAD, "x"),
    Turn.MOVED: (gettext_lazy("on the other cluster now"), WAITING, "star-diamond"),
}


@dataclass(frozen=True, slots=True)
class IslandSpot:
    """An island. ``cluster``: empty when its things are on both. ``x``, ``y``, ``r``: its circle; ``None`` for an
    island that is too small to be drawn.
    """

    word: str
    things: int
    appids: int
    topics: int
    groups: int
    cluster: str
    radius: int
    href: str
    x: float | None = None
    y: float | None = None
    r: float | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A thing on the map. ``x``, ``y``: its place in the map's units. ``lines``: the numbers of the drawn things
    that it takes along.
    """

    number: int
    kind: str
    symbol: str
    word: str
    cluster: str
    radius: int
    neighbours: int
    x: float
    y: float
    href: str
    lines: tuple[int, ...] = ()
    turn: Turn = Turn.SAME


@dataclass(frozen=True, slots=True)
class Rest:
    """The islands that are too small to be drawn, counted together. ``href``: where they are listed."""

    islands: int = 0
    things: int = 0
    largest: int = 0
    href: str = ""


def island_map(
    clusters: tuple[str, str],
    islands: Sequence[IslandSpot],
    spots: Sequence[Spot],
    rest: Rest,
    since: str = "",
) -> Chart:
    """Return the map of all islands. Its table has the islands, or the changes since an earlier run.

    :param islands: the largest first.
    :param since: the time of the earlier run that it is compared with; empty for none.
    """
    placed = [island for island in islands if island.r is not None]
    traces = [*_circles(clusters, placed), _middles(placed), *_small_ones(placed, rest)]
    traces += _by_turn(spots) if since else _by_cluster(clusters, spots)
    return Chart(
        "map",
        _("All islands"),
        _TURNED_COLUMNS if since else _ISLAND_COLUMNS,
        _turned(spots)
        if since
        else [
            (Linked(i.word, i.href), i.things, i.appids, i.topics, i.groups, i.cluster, i.radius)
            for i in islands
        ],
        traces,
        _layout(),
        says=_said(islands, rest, spots, since),
        empty=_("No run has drawn a map yet: the next run of the job Topology does."),
        height=640,
    )


_ISLAND_COLUMNS = (
    Column("island", gettext_lazy("Around")),
    Column("things", gettext_lazy("Things"), "number", gettext_lazy("identities, Topics and groups")),
    Column("appids", gettext_lazy("AppIDs"), "number"),
    Column("topics", gettext_lazy("Topics"), "number"),
    Column("groups", gettext_lazy("Groups"), "number"),
    Column("cluster", gettext_lazy("Cluster"), "cluster"),
    Column(
        "radius", gettext_lazy("Moves together"), "number", gettext_lazy("things that move together at most")
    ),
)
_TURNED_COLUMNS = (
    Column("turn", gettext_lazy("Since then")),
    Column("kind", gettext_lazy("What"), "kind"),
    Column("name", gettext_lazy("Name")),
    Column("cluster", gettext_lazy("Cluster"), "cluster"),
    Column("radius", gettext_lazy("Moves together"), "number"),
)


def _turned(spots: Sequence[Spot]) -> list[tuple[Any, ...]]:
    """Return the rows of the changed spots: new, gone and moved ones, each with the largest radius first."""
    changed = sorted(
        (spot for spot in spots if spot.turn is not Turn.SAME),
        key=lambda spot: (list(Turn).index(spot.turn), -spot.radius, spot.word),
    )
    return [
        (
            TURNS[spot.turn][0],
            THING_WORDS.get(spot.kind, spot.kind),
            Linked(spot.word, spot.href),
            spot.cluster,
            spot.radius,
        )
        for spot in changed
    ]


def one_island(
    clusters: tuple[str, str], word: str, spots: Sequence[Spot], things: int, since: str = ""
) -> Chart:
    """Return the chart of one island with its lines. Its table has its things, or the changes since an earlier run.

    :param things: how many things it has, drawn or not.
    :param since: the time of the earlier run that it is compared with; empty for none.
    """
    by_number = {spot.number: spot for spot in spots}
    lines = [
        (spot, by_number[number])
        for spot in spots
        for number in spot.lines
        if number in by_number and (number > spot.number or spot.number not in by_number[number].lines)
    ][:MOST_LINES]
    xs: list[float | None] = []
    ys: list[float | None] = []
    for one, other in lines:
        xs += [one.x, other.x, None]
        ys += [one.y, other.y, None]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": xs,
            "y": ys,
            "line": {"color": [GREYS[2], 0.6], "width": 1},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        *(_by_turn(spots) if since else _by_cluster(clusters, spots)),
        _names(spots),
    ]
    leads = {spot.number: [by_number[n].word for n in spot.lines if n in by_number] for spot in spots}
    ordered = sorted(spots, key=lambda spot: (-spot.neighbours, spot.number))
    drawn = sum(spot.turn is not Turn.GONE for spot in spots)
    if drawn < things:
        says = _("%(shown)s of %(all)s things are drawn: those that hang together with most others.") % {
            "shown": f"{drawn:,}",
            "all": f"{things:,}",
        }
    else:
        says = ngettext("%(all)s thing.", "%(all)s things, all that hang together.", things) % {
            "all": f"{things:,}"
        }
    if since:
        says += " " + _turned_words(spots, since)
    return Chart(
        "island",
        _("The island around %(name)s") % {"name": word},
        _TURNED_COLUMNS
        if since
        else (
            Column("kind", _("What"), "kind"),
            Column("name", _("Name")),
            Column("cluster", _("Cluster"), "cluster"),
            Column("radius", _("Moves together"), "number"),
            Column("neighbours", _("Hangs together with"), "number", _("other things, directly")),
            Column("leads_to", _("Takes along"), "names"),
        ),
        _turned(spots)
        if since
        else [
            (
                THING_WORDS.get(spot.kind, spot.kind),
                Linked(spot.word, spot.href),
                spot.cluster,
                spot.radius,
                spot.neighbours,
                leads[spot.number],
            )
            for spot in ordered
        ],
        traces,
        _layout(),
        says=says,
        empty=_("Nothing of it is on the map."),
        height=640,
    )


def size_of(radius: int, among: int = 1) -> float:
    """Return the size of a mark in pixels, on a logarithmic scale of its radius. Among many marks, all are smaller.

    >>> size_of(1), size_of(1000), size_of(1000, among=CROWD + 1)
    (6.0, 18.0, 10.8)
    """
    return round((6 + 4 * log10(max(radius, 1))) * (0.6 if among > CROWD else 1), 1)


def _said(islands: Sequence[IslandSpot], rest: Rest, spots: Sequence[Spot], since: str) -> str:
    parts = []
    if islands:
        largest = islands[0]
        in_all = len(islands) + rest.islands
        parts.append(
            ngettext(
                "%(count)s island; its %(things)s things hang together.",
                "%(count)s islands; %(things)s things hang together on the largest.",
                in_all,
            )
            % {"count": f"{in_all:,}", "things": f"{largest.things:,}"}
        )
    if rest.islands:
        parts.append(
            ngettext(
                "%(count)s of them is too small to be drawn.",
                "%(count)s of them, with %(most)s things at most, are too small to be drawn.",
                rest.islands,
            )
            % {"count": f"{rest.islands:,}", "most": f"{rest.largest:,}"}
        )
    if since:
        parts.append(_turned_words(spots, since))
    return " ".join(parts)


def _turned_words(spots: Sequence[Spot], since: str) -> str:
    counts = {turn: sum(spot.turn is turn for spot in spots) for turn in Turn}
    return _("Of what is drawn, since %(since)s: %(new)s new, %(gone)s gone, %(moved)s moved.") % {
        "since": since,
        "new": counts[Turn.NEW],
        "gone": counts[Turn.GONE],
        "moved": counts[Turn.MOVED],
    }


def _layout() -> dict[str, Any]:
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "showline": False}
    return {
        "xaxis": {**bare},
        "yaxis": {**bare, "scaleanchor": "x"},
        "dragmode": "pan",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.04, "yanchor": "bottom", "itemsizing": "constant"},
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
    }


#: The edge of a filled mark.
_FILLED: Mapping[str, Any] = {"width": 0.5, "color": SURFACE}


@dataclass(frozen=True, slots=True)
class _Look:
    """How things on a cluster are drawn: colour is not the only signal.

    :param mark: what is added to the symbol of a thing. :param dash: of the outline of an island.
    """

    word: str
    colour: str
    mark: str
    dash: str
    edge: Mapping[str, Any]


def _looks(clusters: tuple[str, str]) -> dict[str, _Look]:
    """Return cluster → look; the empty name stands for both clusters."""
    return {
        clusters[0]: _Look(clusters[0], FIRST, "", "solid", _FILLED),
        clusters[1]: _Look(clusters[1], SECOND, "-open", "dash", {"width": 1.6}),
        "": _Look(_("both"), QUIET, "-open-dot", "dot", {"width": 1.2}),
    }


def _circles(clusters: tuple[str, str], islands: Sequence[IslandSpot]) -> list[dict[str, Any]]:
    """Return the outlines of the islands. (static/charts.js turns ``circles`` into lines: a circle takes many
    points, which need not be sent.)
    """
    found = []
    for cluster, look in _looks(clusters).items():
        own = [island for island in islands if island.cluster == cluster]
        if own:
            found.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "circles": [[island.x, island.y, island.r] for island in own],
                    "line": {"color": look.colour, "width": 1.2, "dash": look.dash},
                    "opacity": 0.75,
                    "hoverinfo": "skip",
                    "showlegend": False,
                }
            )
    return found


def _middles(islands: Sequence[IslandSpot]) -> dict[str, Any]:
    """Return a handle at the upper edge of each island: it shows what the island is, and a click opens it."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": _("island"),
        "x": [island.x for island in islands],
        "y": [(island.y or 0) + (island.r or 0) for island in islands],
        "text": [
            _short(island.word) if place < NAMED_ISLANDS else "" for place, island in enumerate(islands)
        ],
        "textposition": "top center",
        "textfont": {"size": 11},
        "customdata": [
            [i.href, i.word, f"{i.things:,}", f"{i.appids:,}", i.cluster or _("both"), f"{i.radius:,}"]
            for i in islands
        ],
        "marker": {"symbol": "triangle-down", "size": 8, "color": INK},
        "hovertemplate": "<b>%{customdata[1]}</b> · %{customdata[4]}<br>"
        + _("%(things)s things of %(appids)s AppIDs, of which %(radius)s move together at most")
        % {"things": "%{customdata[2]}", "appids": "%{customdata[3]}", "radius": "%{customdata[5]}"}
        + "<extra></extra>",
    }


def _small_ones(islands: Sequence[IslandSpot], rest: Rest) -> list[dict[str, Any]]:
    """Return one mark below the map for all islands that are too small to be drawn; a click lists them."""
    circles = [(i.x, i.y, i.r) for i in islands if i.x is not None and i.y is not None and i.r is not None]
    if not rest.islands or not circles:
        return []
    bottom = min(y - r for _x, y, r in circles)
    left, right = min(x - r for x, _y, r in circles), max(x + r for x, _y, r in circles)
    text = ngettext("%(count)s smaller island", "%(count)s smaller islands", rest.islands) % {
        "count": f"{rest.islands:,}"
    }
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": _("smaller islands"),
            "x": [(left + right) / 2],
            "y": [bottom - 0.06 * (right - left)],
            "text": [text % {"count": f"{rest.islands:,}"}],
            "textposition": "middle right",
            "textfont": {"size": 11},
            "customdata": [[rest.href, f"{rest.things:,}", f"{rest.largest:,}"]],
            "marker": {"symbol": "square-cross-open", "size": 14, "color": INK},
            "hovertemplate": _("%(things)s things, at most %(most)s on one of them")
            % {"things": "%{customdata[1]}", "most": "%{customdata[2]}"}
            + "<extra></extra>",
            "showlegend": False,
        }
    ]


def _by_cluster(clusters: tuple[str, str], spots: Sequence[Spot]) -> list[dict[str, Any]]:
    return [
        _marks(
            look.word,
            own,
            look.colour,
            [spot.symbol + look.mark for spot in own],
            look.edge,
            among=len(spots),
        )
        for cluster, look in _looks(clusters).items()
        if (own := [spot for spot in spots if spot.cluster == cluster])
    ]


def _by_turn(spots: Sequence[Spot]) -> list[dict[str, Any]]:
    return [
        _marks(str(word), own, colour, symbol, _FILLED, among=len(spots))
        for turn, (word, colour, symbol) in TURNS.items()
        if (own := [spot for spot in spots if spot.turn is turn])
    ]


def _marks(
    word: str,
    own: Sequence[Spot],
    colour: Any,
    symbol: str | list[str],
    edge: Mapping[str, Any],
    *,
    among: int,
) -> dict[str, Any]:
    """:param symbol: of all marks, or of each. :param edge: its line. :param among: the number of all marks."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": word,
        "x": [spot.x for spot in own],
        "y": [spot.y for spot in own],
        "customdata": [
            [spot.href, spot.word, str(THING_WORDS.get(spot.kind, spot.kind)), spot.radius] for spot in own
        ],
        "marker": {
            "symbol": symbol,
            "size": [size_of(spot.radius, among) for spot in own],
            "color": colour,
            "line": dict(edge),
        },
        "hovertemplate": "<b>%{customdata[1]}</b> · %{customdata[2]} · "
        + word
        + "<br>"
        + _("%(count)s things move together") % {"count": "%{customdata[3]:,}"}
        + "<extra></extra>",
    }


def _names(spots: Sequence[Spot]) -> dict[str, Any]:
    """Return the names of the things with the most neighbours; fewer where things are close together."""
    named: list[Spot] = []
    for spot in sorted(spots, key=lambda each: (-each.neighbours, each.number)):
        if len(named) == NAMED_THINGS:
            break
        if all(_apart(spot, other) for other in named):
            named.append(spot)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [spot.x for spot in named],
        "y": [spot.y for spot in named],
        "text": [_short(spot.word) for spot in named],
        "few": NAMED_ON_A_PHONE,
        "textposition": "bottom center",
        "textfont": {"size": 11},
        # (Invisible: it keeps the name off the mark.)
        "marker": {"size": [size_of(spot.radius, len(spots)) + 2 for spot in named], "opacity": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _apart(one: Spot, other: Spot) -> bool:
    """Whether two names have room beside or below each other, on an island of radius 1."""
    return abs(one.y - other.y) > 0.06 or abs(one.x - other.x) > 0.32


def _short(word: str) -> str:
    return word if len(word) <= NAME_LENGTH else f"{word[: NAME_LENGTH - 1]}…"


def spread(x: float, y: float, circle: tuple[float, float, float]) -> tuple[float, float]:
    """Convert a place on an island of radius 1 to the place on the map.

    >>> spread(0.5, 0.0, (10.0, 20.0, 4.0))
    (12.0, 20.0)
    """
    return round(circle[0] + x * circle[2], 3), round(circle[1] + y * circle[2], 3)
