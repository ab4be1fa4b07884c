"""The map of a fleet: its islands beside each other, each with the things that have the most neighbours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from hadash.dashboard.charts.chart import INK, Chart, Linked
from hadash.dashboard.charts.map_marks import (
    TURNED_COLUMNS,
    Spot,
    by_cluster,
    by_turn,
    layout_of_map,
    looks,
    shortened,
    turned,
    turned_words,
)
from hadash.presentation.tables import Column

#: Most islands with a name on the map; more names would overlap.
NAMED_ISLANDS = 12


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
    traces += by_turn(spots) if since else by_cluster(clusters, spots)
    return Chart(
        "map",
        _("All islands"),
        TURNED_COLUMNS if since else _ISLAND_COLUMNS,
        turned(spots)
        if since
        else [
            (Linked(i.word, i.href), i.things, i.appids, i.topics, i.groups, i.cluster, i.radius)
            for i in islands
        ],
        traces,
        layout_of_map(),
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
        parts.append(turned_words(spots, since))
    return " ".join(parts)


def _circles(clusters: tuple[str, str], islands: Sequence[IslandSpot]) -> list[dict[str, Any]]:
    """Return the outlines of the islands. (static/charts.js turns ``circles`` into lines: a circle takes many
    points, which need not be sent.)
    """
    found = []
    for cluster, look in looks(clusters).items():
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
            shortened(island.word) if place < NAMED_ISLANDS else "" for place, island in enumerate(islands)
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


def spread(x: float, y: float, circle: tuple[float, float, float]) -> tuple[float, float]:
    """Convert a place on an island of radius 1 to the place on the map.

    >>> spread(0.5, 0.0, (10.0, 20.0, 4.0))
    (12.0, 20.0)
    """
    return round(circle[0] + x * circle[2], 3), round(circle[1] + y * circle[2], 3)
