"""Charts with plain lines over time, for Gateways and clusters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from hadash.dashboard.charts.chart import GREYS, INK, Chart, milliseconds
from hadash.presentation.tables import Column

#: Line styles that distinguish lines without a colour of their own.
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

#: Most lines of one chart; more cannot be told apart.
MOST_LINES = 5


def lines(
    name: str,
    title: str,
    at: Sequence[datetime],
    series: Mapping[str, Sequence[float | None]],
    *,
    span: tuple[datetime, datetime],
    every: timedelta,
    unit: str,
    says: str = "",
    colours: Mapping[str, str] | None = None,
    digits: int = 1,
) -> Chart:
    """Return a chart with a line per series, those with the highest values; missing samples are gaps.

    :param at: the times of the values, in order.
    :param series: name → values.
    :param span: the time that is shown.
    :param every: the usual time between two samples.
    :param unit: the unit on the axis.
    :param colours: the colours of series that have one (clusters).
    """
    own = dict(sorted(series.items(), key=lambda item: -_most(item[1])))
    shown = list(own)[:MOST_LINES]
    times = _with_gaps(at, every)
    colours = colours or {}
    traces: list[dict[str, Any]] = []
    for place, key in enumerate(shown):
        by_time = dict(zip(at, own[key], strict=True))
        values = [None if moment is None else _round(by_time[moment], digits) for moment, _shown in times]
        colour = colours.get(key, INK if place == 0 else GREYS[min(place, 2)])
        traces.append(
            {
                "type": "scatter",
                "mode": "lines" if len(at) > 40 else "lines+markers",
                "name": key,
                "x": [milliseconds(shown_at) for _moment, shown_at in times],
                "y": values,
                "line": {"color": colour, "width": 1.8, "dash": "solid" if key in colours else DASHES[place]},
                "marker": {"size": 4, "symbol": ("circle", "diamond", "square", "x", "cross")[place]},
                "hovertemplate": f"%{{y:,.{digits}f}} {unit}<extra>{key}</extra>",
            }
        )
    return Chart(
        name,
        title,
        (Column("at", _("When"), "time"), *(Column(f"v{n}", key, "number") for n, key in enumerate(own))),
        [
            (moment, *(values[place] for values in own.values()))
            for place, moment in reversed(list(enumerate(at)))
        ],
        traces if at else [],
        {
            "xaxis": {"type": "date", "range": [milliseconds(each) for each in span]},
            "yaxis": {"title": {"text": unit}, "rangemode": "tozero"},
            "showlegend": len(shown) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hovermode": "x",
            "margin": {"l": 56, "r": 24, "t": 24, "b": 40},
        },
        says=says,
        empty=_("There are no samples of this time."),
        height=220,
    )


def _with_gaps(at: Sequence[datetime], every: timedelta) -> list[tuple[datetime | None, datetime]]:
    """Return (the sample's time, or ``None`` where samples are missing; the time on the axis)."""
    found: list[tuple[datetime | None, datetime]] = []
    for place, moment in enumerate(at):
        if place and moment - at[place - 1] > 3 * every:
            found.append((None, at[place - 1] + every))
        found.append((moment, moment))
    return found


def _most(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=-1.0)


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
