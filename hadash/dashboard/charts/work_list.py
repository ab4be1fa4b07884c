"""The chart of how a fleet's islands shrink as its work list is done, step by step. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from hadash.dashboard.charts.chart import GREYS, Chart
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
        [(step.pair, step.place, step.appid, step.clients, step.before, step.after) for step in steps],
        traces,
        {
            "xaxis": {"title": {"text": _("steps done")}, "dtick": 1, "rangemode": "tozero"},
            "yaxis": {"title": {"text": _("things that move together at most")}, "rangemode": "tozero"},
            "annotations": labels,
            "margin": {"l": 64, "r": 90, "t": 12, "b": 44},
        },
        says=_(
            "Each step registers the InstanceIDs of one AppID. What moved as one island falls apart. Islands "
            "without a step are not counted."
        ),
        empty=_("Nothing is left to do: registering more InstanceIDs would break up nothing more."),
    )
