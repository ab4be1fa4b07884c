"""Things on a map: their marks by cluster or by what has changed, in its picture and in its table. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log10
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hadash.dashboard.charts.chart import BAD, FINE, FIRST, QUIET, SECOND, SURFACE, WAITING, Linked
from hadash.presentation.tables import THING_WORDS, Column

#: Most characters of a name.
NAME_LENGTH = 28

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


TURNED_COLUMNS = (
    Column("turn", gettext_lazy("Since then")),
    Column("kind", gettext_lazy("What"), "kind"),
    Column("name", gettext_lazy("Name")),
    Column("cluster", gettext_lazy("Cluster"), "cluster"),
    Column("radius", gettext_lazy("Moves together"), "number"),
)


def turned(spots: Sequence[Spot]) -> list[tuple[Any, ...]]:
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


def size_of(radius: int, among: int = 1) -> float:
    """Return the size of a mark in pixels, on a logarithmic scale of its radius. Among many marks, all are smaller.

    >>> size_of(1), size_of(1000), size_of(1000, among=CROWD + 1)
    (6.0, 18.0, 10.8)
    """
    return round((6 + 4 * log10(max(radius, 1))) * (0.6 if among > CROWD else 1), 1)


def turned_words(spots: Sequence[Spot], since: str) -> str:
    counts = {turn: sum(spot.turn is turn for spot in spots) for turn in Turn}
    return _("Of what is drawn, since %(since)s: %(new)s new, %(gone)s gone, %(moved)s moved.") % {
        "since": since,
        "new": counts[Turn.NEW],
        "gone": counts[Turn.GONE],
        "moved": counts[Turn.MOVED],
    }


def layout_of_map() -> dict[str, Any]:
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
class Look:
    """How things on a cluster are drawn: colour is not the only signal.

    :param mark: what is added to the symbol of a thing. :param dash: of the outline of an island.
    """

    word: str
    colour: str
    mark: str
    dash: str
    edge: Mapping[str, Any]


def looks(clusters: tuple[str, str]) -> dict[str, Look]:
    """Return cluster → look; the empty name stands for both clusters."""
    return {
        clusters[0]: Look(clusters[0], FIRST, "", "solid", _FILLED),
        clusters[1]: Look(clusters[1], SECOND, "-open", "dash", {"width": 1.6}),
        "": Look(_("both"), QUIET, "-open-dot", "dot", {"width": 1.2}),
    }


def by_cluster(clusters: tuple[str, str], spots: Sequence[Spot]) -> list[dict[str, Any]]:
    return [
        _marks(
            look.word,
            own,
            look.colour,
            [spot.symbol + look.mark for spot in own],
            look.edge,
            among=len(spots),
        )
        for cluster, look in looks(clusters).items()
        if (own := [spot for spot in spots if spot.cluster == cluster])
    ]


def by_turn(spots: Sequence[Spot]) -> list[dict[str, Any]]:
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


def shortened(word: str) -> str:
    return word if len(word) <= NAME_LENGTH else f"{word[: NAME_LENGTH - 1]}…"
