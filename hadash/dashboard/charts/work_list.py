"""The chart of how a fleet's islands shrink as its work list is done, step by step. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from hadash.dashboard.charts.chart import GREYS, Chart, Linked
from hadash.presentation.tables import Column


@dataclass(frozen=True, slots=True)
class Step:
    """A step: registering the InstanceIDs of one AppID. ``before`` and ``after``: how many things move together at
    most on its ``island``, which has a number within its pair. ``href``: the AppID's page.
    """

    pair: str
    place: int
    appid: str
    clients: int
    before: int
    after: int
    island: int
    href: str = ""


#: Most islands of a pair that are drawn: those that are largest now.
MOST_ISLANDS = 40


def each_island(steps: Sequence[Step]) -> list[list[int]]:
    """Return by island how many of its things move together at most: now, and after each step; the largest now first.

    :param steps: of one pair, in order.

    >>> shop, audit = Step("main", 1, "shop", 1, 9, 5, island=1), Step("main", 2, "audit", 1, 9, 2, island=2)
    >>> each_island([shop, audit, Step("main", 3, "stock", 1, 5, 1, island=1)])
    [[9, 5, 5, 1], [9, 9, 2, 2]]
    """
    found: dict[int, list[int]] = {}
    for place, step in enumerate(steps):
        # (Until its first step an island is as large as that begins with.)
        found.setdefault(step.island, [step.before] * (place + 1))
        for island, sizes in found.items():
            sizes.append(step.after if island == step.island else sizes[-1])
    return sorted(found.values(), key=lambda sizes: -sizes[0])


def falling_apart(steps: Sequence[Step]) -> Chart:
    """Return the chart of the largest island after each step, a line per pair. Islands without a step do not count.

    :param steps: in the order of pair and place.
    """
    by_pair: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        by_pair[step.pair].append(step)
    traces, labels = [], []
    for number, (pair, own) in enumerate(sorted(by_pair.items())):
        colour = GREYS[number % len(GREYS)]
        islands = each_island(own)
        largest = [max(sizes) for sizes in zip(*islands, strict=True)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [x for sizes in islands[:MOST_ISLANDS] for x in (*range(len(sizes)), None)],
                "y": [y for sizes in islands[:MOST_ISLANDS] for y in (*sizes, None)],
                "line": {"color": [colour, 0.5], "shape": "hv", "width": 1},
                "hoverinfo": "skip",
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": pair,
                "x": list(range(len(largest))),
                "y": largest,
                "customdata": [
                    ["", _("as it is now"), ""],
                    *([s.href, s.appid, f"{s.clients:,}"] for s in own),
                ],
                "line": {"color": colour, "shape": "hv", "width": 2},
                "marker": {"size": 7},
                "hovertemplate": "<b>%{customdata[1]}</b> %{customdata[2]}<br>"
                + _("%(y)s things move together at most") % {"y": "%{y:,}"}
                + "<extra></extra>",
            }
        )
        labels.append(
            {
                "x": len(largest) - 1,
                "y": largest[-1],
                "text": pair,
                "xanchor": "left",
                "xshift": 8,
                "font": {"size": 12, "color": colour},
            }
        )
    return Chart(
        "falling-apart",
        _("As the work list is done"),
        (
            Column("pair", _("Pair")),
            Column("place", _("No."), "number"),
            Column("appid", _("AppID")),
            Column("island", _("Island"), "number"),
            Column("clients", _("To be registered"), "number"),
            Column("before", _("Before"), "number"),
            Column("after", _("After"), "number"),
        ),
        [(s.pair, s.place, Linked(s.appid, s.href), s.island, s.clients, s.before, s.after) for s in steps],
        traces,
        {
            "xaxis": {"title": {"text": _("steps done")}, "dtick": 1, "rangemode": "tozero"},
            "yaxis": {"title": {"text": _("things that move together at most")}, "rangemode": "tozero"},
            "annotations": labels,
            "margin": {"l": 64, "r": 90, "t": 12, "b": 44},
        },
        says=_(
            "Each step registers the InstanceIDs of one AppID. What moved as one island falls apart: a thin line is "
            "one island, the thick one the largest of them. Islands without a step are not drawn."
        ),
        empty=_("Nothing is left to do: registering more InstanceIDs would break up nothing more."),
    )
