"""Charts with plain lines over time, for Gateways and clusters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import BAD, GREYS, INK, Chart, milliseconds
from hadash.dashboard.charts.ends import label, last_known, moved_apart, room_for
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
    limits: Mapping[str, float] | None = None,
    named: tuple[Column, Column] | None = None,
    marks: Sequence[dict[str, Any]] = (),
) -> Chart:
    """Return a chart with a line per series, those with the highest values; missing samples are gaps.

    :param at: the times of the values, in order.
    :param series: name → values.
    :param span: the time that is shown.
    :param every: the usual time between two samples.
    :param unit: the unit on the axis.
    :param colours: the colours of series that have one (clusters).
    :param limits: named limits, drawn as lines across.
    :param named: where there may be very many series, the columns of their names and of their values: then the twin
        has a row for each value. Without, it has a column for each series.
    :param marks: shapes behind the lines, as of incidents.
    """
    shown = highest_first(series)[:MOST_LINES]
    times = _with_gaps(at, every)
    if len(series) > len(shown):
        more = ngettext(
            "The highest of %(all)s lines is drawn; the table has all.",
            "The %(count)s highest of %(all)s lines are drawn; the table has all.",
            len(shown),
        ) % {"count": len(shown), "all": f"{len(series):,}"}
        says = f"{says} {more}".strip()
    traces = []
    for place, key in enumerate(shown):
        by_time = dict(zip(at, series[key], strict=True))
        values = [None if moment is None else _round(by_time[moment], digits) for moment, _shown in times]
        shown_at = [milliseconds(moment) for _moment, moment in times]
        traces.append(
            line_of(key, place, shown_at, values, f"%{{y:,.{digits}f}} {unit}", (colours or {}).get(key))
        )
    top = 1.18 * (max([0.0, *(limits or {}).values(), *(_most(series[key]) for key in shown)]) or 1.0)
    columns, rows = _by_value(at, series, named) if named else _by_series(at, series)
    return Chart(
        name,
        title,
        columns,
        rows,
        traces if at else [],
        {
            "xaxis": {"type": "date", "range": [milliseconds(each) for each in span]},
            "yaxis": {
                "title": {"text": unit},
                **({"range": [0, top]} if limits else {"rangemode": "tozero"}),
            },
            "hovermode": "x",
            "margin": {"l": 56, "r": 24, "t": 24, "b": 40},
            "shapes": [*marks, *(limit_line(value, word) for word, value in (limits or {}).items())],
            **names_at_ends(traces, top),
        },
        says=says,
        empty=_("There are no samples of this time."),
        height=220,
    )


def highest_first(series: Mapping[str, Sequence[float | None]]) -> list[str]:
    """Return the names of series, those with the highest values first."""
    return sorted(series, key=lambda name: -_most(series[name]))


def line_of(
    name: str,
    place: int,
    at: Sequence[int],
    values: Sequence[float | None],
    said: str,
    colour: str | None = None,
) -> dict[str, Any]:
    """Return the trace of one line.

    :param place: its number among the lines of the chart: each has another stroke and other marks.
    :param at: milliseconds since 1970. :param said: Plotly's template of what is said of a value.
    :param colour: its own, as that of a cluster; without one it is grey.
    """
    return {
        "type": "scatter",
        "name": name,
        "x": list(at),
        "y": list(values),
        "line": {
            "color": colour or (INK if place == 0 else GREYS[min(place, 2)]),
            "width": 1.8,
            "dash": "solid" if colour else DASHES[place],
        },
        **marked(values, 40, 4, ("circle", "diamond", "square", "x", "cross")[place]),
        "hovertemplate": f"{said}<extra>{name}</extra>",
    }


def names_at_ends(traces: Sequence[Mapping[str, Any]], top: float) -> dict[str, Any]:
    """Return the part of a layout that names each of several lines at its end; one line alone needs no name.

    :param top: the upper end of the axis.
    """
    if len(traces) < 2:
        return {"showlegend": False}
    ends = [
        label(*last, trace["name"], trace["line"]["color"])
        for trace in traces
        if (last := last_known(trace["x"], trace["y"])) is not None
    ]
    return {
        "ends": {"names": moved_apart(ends, top), "room": room_for(trace["name"] for trace in traces)},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }


Twin = tuple[tuple[Column, ...], list[tuple[Any, ...]]]


def _by_series(at: Sequence[datetime], series: Mapping[str, Sequence[float | None]]) -> Twin:
    """Return the columns and rows of a twin with a column per series, the newest first."""
    columns = (Column("at", _("When"), "time"), *(Column(key, key, "number") for key in series))
    newest = reversed(list(enumerate(at)))
    return columns, [(moment, *(values[place] for values in series.values())) for place, moment in newest]


def _by_value(
    at: Sequence[datetime], series: Mapping[str, Sequence[float | None]], named: tuple[Column, Column]
) -> Twin:
    """Return the columns and rows of a twin with a row per value: the newest first, of these the unknown and then the
    highest first.
    """
    rows: list[tuple[Any, ...]] = []
    for place, moment in reversed(list(enumerate(at))):
        here = [(moment, key, values[place]) for key, values in series.items()]
        rows += sorted(here, key=lambda row: (row[2] is not None, -(row[2] or 0)))
    return (Column("at", _("When"), "time"), *named), rows


def marked(values: Sequence[float | None], few: int, size: int, symbol: str = "circle") -> dict[str, Any]:
    """Return a line's mode and marks: a mark for each value where there are ``few``, else one only for those that have
    a gap on both sides, which the line does not show.

    :param size: pixels.
    """
    alone = [
        value is not None and before is None and after is None
        for before, value, after in zip([None, *values], values, [*values[1:], None], strict=False)
    ]
    if len(values) > few and not any(alone):
        return {"mode": "lines"}
    sizes = size if len(values) <= few else [size if each else 0 for each in alone]
    return {"mode": "lines+markers", "marker": {"size": sizes, "symbol": symbol}}


def limit_line(value: float, word: str) -> dict[str, Any]:
    """Return a limit as a line across the whole chart, with its name on it."""
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"color": BAD, "width": 1.5, "dash": "dash"},
        "label": {
            "text": word,
            "textposition": "start",
            "yanchor": "bottom",
            "font": {"size": 11, "color": BAD},
        },
    }


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
