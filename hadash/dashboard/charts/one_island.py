"""The map of one island: its things with the lines between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import GREYS, Chart, Linked
from hadash.dashboard.charts.map_marks import (
    TURNED_COLUMNS,
    Spot,
    Turn,
    by_cluster,
    by_turn,
    layout_of_map,
    shortened,
    size_of,
    turned,
    turned_words,
)
from hadash.presentation.tables import THING_WORDS, Column

#: Most things with a name; more names would overlap. Fewer where the map is narrow.
NAMED_THINGS, NAMED_ON_A_PHONE = 40, 8

#: Most lines that are drawn.
MOST_LINES = 1500


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
        *(by_turn(spots) if since else by_cluster(clusters, spots)),
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
        says += " " + turned_words(spots, since)
    return Chart(
        "island",
        _("The island around %(name)s") % {"name": word},
        TURNED_COLUMNS
        if since
        else (
            Column("kind", _("What"), "kind"),
            Column("name", _("Name")),
            Column("cluster", _("Cluster"), "cluster"),
            Column("radius", _("Moves together"), "number"),
            Column("neighbours", _("Hangs together with"), "number", _("other things, directly")),
            Column("leads_to", _("Takes along"), "names"),
        ),
        turned(spots)
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
        layout_of_map(),
        says=says,
        empty=_("Nothing of it is on the map."),
        height=640,
    )


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
        "text": [shortened(spot.word) for spot in named],
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
