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
    most. ``href``: the AppID's page.
    """

    pair: str
    place: int
    appid: str
    clients: int
    before: int
    after: int
    href: str = ""


#: Most islands of a pair that are drawn: those that are largest now.
MOST_ISLANDS = 40


def each_island(steps: Sequence[Step]) -> list[list[int]]:
    """Return by island how many of its things move together at most: now, and after each step; the largest now first.

    A step does not name its island: it goes on with the one that is as large as the step begins with.

    >>> each_island([Step("main", 1, "a", 1, 9, 5), Step("main", 2, "b", 1, 7, 2), Step("main", 3, "c", 1, 5, 1)])
    [[9, 5, 5, 1], [7, 7, 2, 2]]
    """
    found: list[list[int]] = []
    for place, step in enumerate(steps):
        island = next((sizes for sizes in found if sizes[-1] == step.before), None)
        if island is None:
            island = [step.before] * (place + 1)
            found.append(island)
        for sizes in found:
            sizes.append(step.after if sizes is island else sizes[-1])
    return sorted(found, key=lambda sizes: -sizes[0])


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
        # A step is about one island. The largest island after it is this step's result, or one that a later step
        # begins with.
        left = [
            max([own[place].after, *(later.before for later in own[place + 1 :])])
            for place in range(len(own))
        ]
        largest = [max(step.before for step in own), *left]
        islands = each_island(own)
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
            Column("clients", _("To be registered"), "number"),
            Column("before", _("Before"), "number"),
            Column("after", _("After"), "number"),
        ),
        [
            (step.pair, step.place, Linked(step.appid, step.href), step.clients, step.before, step.after)
            for step in steps
        ],
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
