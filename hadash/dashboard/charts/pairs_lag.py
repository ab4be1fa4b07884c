"""The chart of the lag of each pair's worst mirror: seconds above, records below, with the pairs' incidents. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import INK, Chart, milliseconds
from hadash.dashboard.charts.lines import MOST_LINES, highest_first, limit_line, line_of, names_at_ends
from hadash.dashboard.charts.mirror_lag import BANDS, SIGNS, points_of
from hadash.dashboard.mirrors.incidents import KIND_WORDS, Bucket, Incident, kind_of
from hadash.presentation.tables import Column


@dataclass(frozen=True, slots=True)
class PairLagShown:
    """The lag of a pair's mirrors within the time that is shown.

    :param buckets: the largest lag of all mirrors of which it is known, in the order of time. ``unknown`` counts the
        looks at which that of some mirror was not known.
    :param rpo: seconds.
    :param incidents: those of the pair: any of its mirrors, whichever it was.
    """

    buckets: Sequence[Bucket]
    rpo: float
    incidents: Sequence[Incident]

    @property
    def most_seconds(self) -> float:
        return max((each.seconds for each in self.buckets if each.seconds is not None), default=-1.0)


def of_pairs(pairs: Mapping[str, PairLagShown], span: tuple[datetime, datetime], step: timedelta) -> Chart:
    """Return the chart, with a line and a row of incidents per pair: of those that were furthest behind.

    :param pairs: by name. :param step: the length of a bucket.
    """
    shown = highest_first({name: [each.most_seconds] for name, each in pairs.items()})[:MOST_LINES]
    points = {name: points_of(pairs[name].buckets, step) for name in shown}
    above: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = []
    for place, name in enumerate(shown):
        at, seconds, records = (points[name][key] for key in ("at", "seconds", "records"))
        said = _("%(records)s records") % {"records": "%{y:,}"}
        above.append(line_of(name, place, at, seconds, "%{y:,.1f} s"))
        below.append(line_of(name, place, at, records, said) | {"yaxis": "y2", "showlegend": False})
    top = 1.18 * max(
        [1.0, *(each.rpo for each in pairs.values()), *(each.most_seconds for each in pairs.values())]
    )
    return Chart(
        "pair-lag",
        _("The worst mirror of each pair"),
        (
            Column("at", _("When"), "time"),
            Column("pair", _("Pair")),
            Column("seconds", _("Seconds"), "seconds"),
            Column("records", _("Records"), "number"),
            Column("unknown", _("Not known"), "number", _("samples in which the lag of a mirror was not known")),
            Column("incident", _("Incident")),
        ),
        _rows(pairs),
        [*above, *below, *(_incidents(name, pairs[name].incidents, span) for name in shown)]
        if any(each.buckets for each in pairs.values())
        else [],
        {
            "xaxis": {"type": "date", "range": [milliseconds(each) for each in span], "anchor": "y3"},
            "yaxis": {"title": {"text": _("seconds")}, "domain": [0.58, 1], "range": [0, top]},
            "yaxis2": {"title": {"text": _("records")}, "domain": [0.27, 0.5], "rangemode": "tozero"},
            "yaxis3": {
                "type": "category",
                "domain": [0, 0.19],
                "categoryorder": "array",
                "categoryarray": shown[::-1],
                "range": [-0.5, len(shown) - 0.5],
                "showgrid": False,
            },
            "shapes": [limit_line(rpo, word) for word, rpo in _limits(pairs).items()],
            "barmode": "overlay",
            "bargap": 0.2,
            "hovermode": "closest",
            "margin": {"l": 64, "r": 24, "t": 24, "b": 40},
            **names_at_ends(above, top),
        },
        says=_says(pairs, len(shown), (span[1] - span[0]) // step),
        empty=_("There are no samples of this time."),
        height=480,
    )  # fmt: skip


def _incidents(pair: str, found: Sequence[Incident], span: tuple[datetime, datetime]) -> dict[str, Any]:
    """Return the bars of a pair's incidents, each with the sign of its kind: colour is not the only signal."""
    begins = [max(each.since, span[0]) for each in found]
    ends = [each.until or span[1] for each in found]
    return {
        "type": "bar",
        "orientation": "h",
        "yaxis": "y3",
        "showlegend": False,
        "y": [pair] * len(found) or [pair],
        "base": [milliseconds(begin) for begin in begins] or [milliseconds(span[0])],
        "x": [milliseconds(end) - milliseconds(begin) for begin, end in zip(begins, ends, strict=True)]
        or [0],
        "text": [SIGNS[each.kind] for each in found],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "insidetextfont": {"color": INK},
        "textangle": 0,
        "constraintext": "none",
        "marker": {"color": [[BANDS[each.kind][0], 0.5] for each in found]},
        "hovertext": [_in_words(each) for each in found],
        "hovertemplate": f"<b>{pair}</b> %{{hovertext}}<extra></extra>",
    }


def _in_words(incident: Incident) -> str:
    word = f"{SIGNS[incident.kind]} {KIND_WORDS[incident.kind]}"
    if incident.worst is None:
        return word
    return _("%(what)s, %(seconds)s s at most") % {"what": word, "seconds": f"{incident.worst:,.1f}"}


def _rows(pairs: Mapping[str, PairLagShown]) -> list[tuple[Any, ...]]:
    """Return the twin: the newest first, and of each time the pair that is furthest behind."""
    rows = [
        (
            bucket.at,
            name,
            bucket.seconds,
            bucket.records,
            bucket.unknown,
            "" if (kind := kind_of(bucket, pair.rpo)) is None else KIND_WORDS[kind],
        )
        for name, pair in pairs.items()
        for bucket in pair.buckets
    ]
    return sorted(rows, key=lambda row: (-row[0].timestamp(), row[2] is not None, -(row[2] or 0.0), row[1]))


def _limits(pairs: Mapping[str, PairLagShown]) -> dict[str, float]:
    """Return the RPOs by the words on their lines. Pairs with the same RPO share one."""
    named: dict[float, list[str]] = {}
    for name, pair in pairs.items():
        named.setdefault(pair.rpo, []).append(name)
    return {
        _("RPO: %(rpo)s s") % {"rpo": f"{rpo:g}"}
        + (f" ({_(', ').join(names)})" if len(named) > 1 else ""): rpo
        for rpo, names in named.items()
    }


def _says(pairs: Mapping[str, PairLagShown], drawn: int, steps: int) -> str:
    """:param drawn: the number of pairs that are drawn. :param steps: the number of steps of the time."""
    late = sorted(name for name, pair in pairs.items() if pair.most_seconds > pair.rpo)
    unknown = sorted(name for name, pair in pairs.items() if any(bucket.unknown for bucket in pair.buckets))
    # (The last step is still being filled.)
    has_gaps = any(
        len(pair.buckets) < steps - 1 or any(bucket.seconds is None for bucket in pair.buckets)
        for pair in pairs.values()
    )
    says = (
        _("Beyond its RPO within this time: %(pairs)s.") % {"pairs": _(", ").join(late)}
        if late
        else _("No mirror was beyond its pair's RPO within this time, as far as is known.")
        if unknown or has_gaps
        else _("No pair's worst mirror was beyond its RPO within this time.")
    )
    if unknown:
        says += " " + _("The lag of some mirrors was not known for some of it: %(pairs)s.") % {
            "pairs": _(", ").join(unknown)
        }
    kinds = {each.kind for pair in pairs.values() for each in pair.incidents}
    if kinds:
        signs = _("; ").join(f"{SIGNS[kind]} {word}" for kind, word in KIND_WORDS.items() if kind in kinds)
        says += " " + _("Incidents: %(kinds)s.") % {"kinds": signs}
    if drawn < len(pairs):
        says += " " + ngettext(
            "Of %(all)s pairs the %(count)s that was furthest behind is drawn; the table has all.",
            "Of %(all)s pairs the %(count)s that were furthest behind are drawn; the table has all.",
            drawn,
        ) % {"count": drawn, "all": f"{len(pairs):,}"}
    return says
