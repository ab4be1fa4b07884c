"""The chart of when which partitions of a mirror were behind: a row per partition, a column per step of time. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import INK, LINE, Chart, height_of, milliseconds
from hadash.dashboard.charts.lines import lines
from hadash.dashboard.mirrors.history import Moment
from hadash.kafka.values import Partition
from hadash.presentation.tables import Column

#: Most partitions that are drawn: those that were furthest behind.
DRAWN = 24


def over_time(
    moments: Sequence[Moment],
    step: timedelta,
    span: tuple[datetime, datetime],
    topic: str = "",
    marks: Sequence[dict[str, Any]] = (),
) -> Chart:
    """Return a heat map of the records behind. The scale is logarithmic, as one late partition would hide all others.

    :param moments: in order; a step without one is a gap.
    :param span: the time that is shown.
    :param topic: the only Topic to show; empty for all.
    :param marks: shapes of the mirror's incidents and switches; here they lie above the cells.
    """
    most: dict[Partition, int] = defaultdict(int)
    for moment in moments:
        for partition, records in moment.records.items():
            if topic in ("", partition.topic):
                most[partition] = max(most[partition], records)
    behind = sorted((p for p in most if most[p] > 0), key=lambda p: (-most[p], p))
    shown = behind[:DRAWN] or sorted(most)[:DRAWN]
    known = {moment.at: moment.records for moment in moments}
    columns = _columns(moments, step)
    late = {moment.at: moment.seconds for moment in moments}
    rows = [[known.get(at, {}).get(partition) for at in columns] for partition in reversed(shown)]
    in_words = cache(_records)  # (Most of some thousand cells say the same.)
    said = [
        [
            [in_words(records), _seconds(late[at][partition])] if records is not None else None
            for at, records in zip(columns, row, strict=True)
        ]
        for partition, row in zip(reversed(shown), rows, strict=True)
    ]
    top = max([*(most[partition] for partition in shown), 1])
    return Chart(
        "partitions-over-time",
        _("Partitions over time"),
        (
            Column("at", _("When"), "time"),
            Column("topic", _("Topic")),
            Column("partition", _("Partition"), "number"),
            Column("records", _("Records behind"), "number"),
            Column("seconds", _("Seconds behind"), "seconds"),
        ),
        [
            (moment.at, partition.topic, partition.partition, records, moment.seconds[partition])
            for moment in reversed(moments)
            for partition, records in _furthest_first(moment, topic)
        ],
        [
            {
                "type": "heatmap",
                "x": [milliseconds(at + step / 2) for at in columns],
                "y": [f"{partition.topic}-{partition.partition}" for partition in reversed(shown)],
                "z": [[None if records is None else _depth(records) for records in row] for row in rows],
                "customdata": said,
                "colorscale": [[0, [LINE, 0.35]], [1, INK]],
                "zmin": 0,
                "zmax": _depth(top),
                # (Plotly's colour bar uses inline styles, which the Content-Security-Policy refuses.)
                "showscale": False,
                "hoverongaps": False,
                "xgap": 1,
                "ygap": 1,
                "hovertemplate": "<b>%{y}</b> %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
            }
        ]
        if behind
        else [],
        {
            "xaxis": {"type": "date", "range": [milliseconds(each) for each in span]},
            "yaxis": {"type": "category", "showgrid": False},
            "shapes": [_above(mark) for mark in marks],
            "margin": {"l": 140, "r": 24, "t": 34 if marks else 12, "b": 44},
        },
        says=_says(topic, len(behind), len(most), len(shown)),
        empty=_("None of its partitions was behind within this time.")
        if most
        else _("Nobody has looked at it within this time."),
        height=height_of(len(shown)),
    )


def topics_over_time(
    moments: Sequence[Moment],
    step: timedelta,
    span: tuple[datetime, datetime],
    topic: str = "",
    marks: Sequence[dict[str, Any]] = (),
) -> Chart:
    """Return a line per Topic: the records that all its partitions lack together, in the worst sample of each step.

    :param topic: the only Topic to show; empty for all. :param marks: shapes of the mirror's incidents and switches.
    """
    sums = [_records_by_topic(moment, topic) for moment in moments]
    names = sorted(set().union(*sums))
    records = {name: [of_topic.get(name) for of_topic in sums] for name in names}
    return lines(
        "topics-over-time", _("Topics over time"), [moment.at + step / 2 for moment in moments], records,
        span=span, every=step, unit=_("records"), digits=0,
        says=_("How many records each Topic lacked in the worst sample of each step."),
        named=(Column("topic", _("Topic")), Column("records", _("Records behind"), "number")), marks=marks,
    )  # fmt: skip


def topics_seconds_over_time(
    moments: Sequence[Moment],
    step: timedelta,
    span: tuple[datetime, datetime],
    rpo: float,
    topic: str = "",
    marks: Sequence[dict[str, Any]] = (),
) -> Chart:
    """Return a line per Topic: the seconds that its furthest partition was behind, in the worst sample of each step.

    :param rpo: seconds; a line of its own.
    :param topic: the only Topic to show; empty for all. :param marks: shapes of the mirror's incidents and switches.
    """
    worst = [_seconds_by_topic(moment, topic) for moment in moments]
    names = sorted(set().union(*worst))
    seconds = {name: [of_topic.get(name) for of_topic in worst] for name in names}
    says = _("How far the furthest partition of each Topic was behind in the worst sample of each step.")
    if any(value is None for values in seconds.values() for value in values):
        says += " " + _("Where nothing is drawn it is not known.")
    return lines(
        "topics-seconds-over-time", _("Topics over time, in seconds"), [moment.at + step / 2 for moment in moments],
        seconds, span=span, every=step, unit=_("seconds"), limits={_("RPO: %(rpo)s s") % {"rpo": f"{rpo:g}"}: rpo},
        says=says, named=(Column("topic", _("Topic")), Column("seconds", _("Seconds behind"), "seconds")),
        marks=marks,
    )  # fmt: skip


def _records_by_topic(moment: Moment, topic: str) -> dict[str, int]:
    """Return the sum of each Topic's partitions, of one Topic or of all."""
    found: dict[str, int] = defaultdict(int)
    for partition, records in moment.records.items():
        if topic in ("", partition.topic):
            found[partition.topic] += records
    return dict(found)


def _seconds_by_topic(moment: Moment, topic: str) -> dict[str, float | None]:
    """Return the most of each Topic's partitions, of one Topic or of all. ``None`` if that of any partition is not
    known: it may be the one that is furthest behind.
    """
    found: dict[str, float | None] = {}
    for partition, late in moment.seconds.items():
        if topic not in ("", partition.topic):
            continue
        known = found.get(partition.topic, late)
        found[partition.topic] = None if late is None or known is None else max(late, known)
    return found


def _above(mark: dict[str, Any]) -> dict[str, Any]:
    """Return a band as a strip above the cells, which would hide it."""
    return {
        **mark,
        "y0": 1.02,
        "y1": 1.08,
        "label": {**mark["label"], "textposition": "top center", "yanchor": "bottom"},
    }


def _furthest_first(moment: Moment, topic: str) -> list[tuple[Partition, int]]:
    """Return the partitions that were behind, of one Topic or of all, and by how many records."""
    behind = [(p, records) for p, records in moment.records.items() if records > 0 and topic in ("", p.topic)]
    return sorted(behind, key=lambda each: (-each[1], each[0]))


def _records(records: int) -> str:
    return ngettext("%(count)s record", "%(count)s records", records) % {"count": f"{records:,}"}


def _seconds(seconds: float | None) -> str:
    return "? s" if seconds is None else f"{seconds:,.1f} s"


def _columns(moments: Sequence[Moment], step: timedelta) -> list[datetime]:
    """Return the beginning of every step, also of steps without samples."""
    if not moments:
        return []
    first, last = moments[0].at, moments[-1].at
    return [first + step * number for number in range(round((last - first) / step) + 1)]


def _depth(records: int) -> float:
    """Return the depth of a colour, on a logarithmic scale.
    >>> _depth(0), _depth(99), _depth(-3)
    (0.0, 2.0, 0.0)
    """
    return round(math.log10(1 + max(records, 0)), 3)


def _says(topic: str, behind: int, known: int, shown: int) -> str:
    said = ngettext(
        "%(behind)s of %(all)s partition was behind, as it was in the worst sample of each step.",
        "%(behind)s of %(all)s partitions were behind, as they were in the worst sample of each step.",
        known,
    ) % {"behind": f"{behind:,}", "all": f"{known:,}"}
    if topic:
        said = f"{topic}: {said}"
    said += " " + _("The darker a cell, the more records.")
    if shown < behind:
        said += " " + _("The %(count)s that were furthest behind are drawn.") % {"count": shown}
    return said
