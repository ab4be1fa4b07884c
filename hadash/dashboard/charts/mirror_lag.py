"""The chart of one mirror's lag: seconds above, records below, with its incidents and switches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import (
    BAD,
    INK,
    LINE,
    UNKNOWN,
    WAITING,
    Chart,
    height_of,
    milliseconds,
)
from hadash.dashboard.charts.lines import limit_line, marked
from hadash.dashboard.mirrors.incidents import KIND_WORDS, Bucket, Incident, Kind, usually_apart
from hadash.presentation.tables import Column

#: Most partitions that are drawn; the table has all of them.
PARTITIONS = 40

#: kind of incident → (colour, opacity) of its band.
BANDS: dict[Kind, tuple[str, float]] = {
    Kind.DOWN: (BAD, 0.22),
    Kind.LATE: (WAITING, 0.22),
    Kind.UNKNOWN: (UNKNOWN, 0.16),
    Kind.SILENT: (UNKNOWN, 0.1),
}


#: kind of incident → the sign above its band: colour is not the only signal.
SIGNS: dict[Kind, str] = {Kind.DOWN: "✕", Kind.LATE: "▲", Kind.UNKNOWN: "?", Kind.SILENT: "…"}


@dataclass(frozen=True, slots=True)
class Switched:
    """A switch that used the mirror within the chart's time. ``ended``: ``None`` while it runs."""

    began: datetime
    ended: datetime | None
    target: str
    href: str


def points_of(buckets: Sequence[Bucket], step: timedelta) -> dict[str, list[Any]]:
    """Return the values for the lines, with gaps where samples are missing or the lag was unknown."""
    apart = usually_apart(buckets, step, step)
    at: list[int] = []
    seconds: list[float | None] = []
    records: list[int | None] = []
    for place, bucket in enumerate(buckets):
        if place and bucket.at - buckets[place - 1].at > 3 * apart:
            at.append(milliseconds(buckets[place - 1].at + step))
            seconds.append(None)
            records.append(None)
        at.append(milliseconds(bucket.at))
        seconds.append(None if bucket.seconds is None else round(bucket.seconds, 2))
        records.append(bucket.records)
    return {"at": at, "seconds": seconds, "records": records}


def lag(
    buckets: Sequence[Bucket],
    step: timedelta,
    span: tuple[datetime, datetime],
    rpo: float,
    found: Sequence[Incident],
    switched: Sequence[Switched] = (),
) -> Chart:
    """Return the chart of a mirror's lag.

    :param step: the length of a bucket.
    :param span: the time that is shown.
    :param rpo: seconds.
    :param found: the incidents within that time.
    """
    points = points_of(buckets, step)
    known = [value for value in points["seconds"] if value is not None]
    most = max(known, default=None)
    shown = {"type": "scatter", "line": {"color": INK, "width": 1.6}}
    return Chart(
        "lag",
        _("Lag"),
        (
            Column("at", _("When"), "time"),
            Column("seconds", _("Seconds"), "seconds"),
            Column("records", _("Records"), "number"),
            Column("samples", _("Samples"), "number"),
            Column("unknown", _("Not known"), "number", _("samples that nobody could take")),
        ),
        [(b.at, b.seconds, b.records, b.samples, b.unknown) for b in reversed(buckets)],
        [
            {
                **shown,
                **marked(points["seconds"], 60, 3),
                "x": points["at"],
                "y": points["seconds"],
                "hovertemplate": "%{y:.1f} s<extra></extra>",
            },
            {
                **shown,
                **marked(points["records"], 60, 3),
                "x": points["at"],
                "y": points["records"],
                "yaxis": "y2",
                "hovertemplate": _("%(records)s records") % {"records": "%{y:,}"} + "<extra></extra>",
            },
        ],
        {
            "xaxis": {
                "type": "date",
                "range": [milliseconds(span[0]), milliseconds(span[1])],
                "anchor": "y2",
            },
            "yaxis": {
                "title": {"text": _("seconds")},
                "domain": [0.46, 1],
                "range": [0, 1.12 * max(rpo, *(known or [0]), 1)],
            },
            "yaxis2": {"title": {"text": _("records")}, "domain": [0, 0.34], "rangemode": "tozero"},
            "shapes": shapes_of(found, span, rpo, switched),
            "hovermode": "x",
            "margin": {"l": 64, "r": 24, "t": 26, "b": 44},
        },
        says=_said(most, rpo, found, is_young=begins_late(buckets, step, span[0])),
        empty=_("Nobody has looked at it within this time."),
        height=480,
    )


def shapes_of(
    found: Iterable[Incident], span: tuple[datetime, datetime], rpo: float, switched: Iterable[Switched] = ()
) -> list[dict[str, Any]]:
    """Return the RPO as a line, with incidents and switches as :func:`bands_of` has them."""
    return [*bands_of(found, span, switched), limit_line(rpo, _("RPO: %(rpo)s s") % {"rpo": f"{rpo:g}"})]


def bands_of(
    found: Iterable[Incident], span: tuple[datetime, datetime], switched: Iterable[Switched] = ()
) -> list[dict[str, Any]]:
    """Return incidents as bands with the sign of their kind, and switches as bands with an outline and where they
    led.
    """
    bands = [
        {
            "type": "rect",
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "line": {"width": 0},
            "fillcolor": list(BANDS[each.kind]),
            "x0": milliseconds(max(each.since, span[0])),
            "x1": milliseconds(each.until or span[1]),
            "label": {
                "text": SIGNS[each.kind],
                "textposition": "top center",
                "font": {"size": 12, "color": BANDS[each.kind][0]},
            },
        }
        for each in found
    ]
    switches = [
        {
            "type": "rect",
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "line": {"color": INK, "width": 1, "dash": "dot"},
            "fillcolor": [LINE, 0.4],
            "x0": milliseconds(max(each.began, span[0])),
            "x1": milliseconds(each.ended or span[1]),
            "label": {
                "text": _("switch to %(cluster)s") % {"cluster": each.target},
                "textposition": "bottom left",
                "font": {"size": 11, "color": INK},
            },
        }
        for each in switched
    ]
    return [*bands, *switches]


def begins_late(buckets: Sequence[Bucket], step: timedelta, begin: datetime) -> bool:
    """Whether a history begins only within the time that is shown, so that nothing is known of the time before."""
    return bool(buckets) and buckets[0].at - begin > 2 * step


def _said(most: float | None, rpo: float, found: Sequence[Incident], *, is_young: bool) -> str:
    first = _how_late(most, rpo)
    if is_young:
        first += " " + _("Nothing is known of the time before the first point.")
    if not found:
        return first
    kinds = [kind for kind in reversed(Kind) if any(each.kind is kind for each in found)]
    words = _("; ").join(f"{SIGNS[kind]} {KIND_WORDS[kind]}" for kind in kinds)
    count = ngettext("%(count)s incident: %(kinds)s.", "%(count)s incidents: %(kinds)s.", len(found))
    return f"{first} {count % {'count': len(found), 'kinds': words}}"


def _how_late(most: float | None, rpo: float) -> str:
    if most is None:
        return _("How far it was behind is not known.")
    values = {"most": f"{most:,.1f}", "rpo": f"{rpo:g}"}
    if most > rpo:
        return _("It was up to %(most)s s behind: more than the RPO of %(rpo)s s.") % values
    return _("It was never more than %(most)s s behind (RPO %(rpo)s s).") % values


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """How far a partition is behind. ``source_end``: the source's end when it was last seen. ``None`` is unknown."""

    topic: str
    partition: int
    records: int | None
    source_end: int | None
    seconds: float | None = None


def partitions(rows: Sequence[PartitionLag]) -> Chart:
    """Return the chart of the partitions that are behind.

    :param rows: those with an unknown lag first, then those furthest behind.
    """
    shown = [row for row in rows if row.records][:PARTITIONS]
    names = [f"{row.topic}-{row.partition}" for row in shown]
    unknown = sum(row.records is None for row in rows)
    behind = sum(bool(row.records) for row in rows)
    says = ngettext(
        "%(behind)s of %(all)s partition is behind.",
        "%(behind)s of %(all)s partitions are behind.",
        len(rows),
    ) % {"behind": f"{behind:,}", "all": f"{len(rows):,}"}
    if unknown:
        says += " " + _("Of %(count)s nobody knows.") % {"count": f"{unknown:,}"}
    return Chart(
        "partitions",
        _("By partition"),
        (
            Column("topic", _("Topic")),
            Column("partition", _("Partition"), "number"),
            Column("records", _("Records behind"), "number"),
            Column("seconds", _("Seconds behind"), "seconds"),
            Column("source_end", _("End of the source"), "number"),
        ),
        [(row.topic, row.partition, row.records, row.seconds, row.source_end) for row in rows],
        [
            {
                "type": "bar",
                "orientation": "h",
                "x": [row.records for row in reversed(shown)],
                "y": names[::-1],
                "marker": {"color": INK},
                "text": [_late(row.seconds) for row in reversed(shown)],
                "textposition": "outside",
                "cliponaxis": False,
                "hovertemplate": "<b>%{y}</b> %{x:,}<br>%{text}<extra></extra>",
            }
        ]
        if shown
        else [],
        {
            "xaxis": {"title": {"text": _("records behind")}, "rangemode": "tozero"},
            "yaxis": {"type": "category"},
            "margin": {"l": 140, "r": 24, "t": 12, "b": 44},
        },
        says=says,
        empty=_("Its Topics have no partitions that anybody has looked at yet."),
        height=height_of(max(1, len(shown))),
    )


def _late(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:,.1f} s"
