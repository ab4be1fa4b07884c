"""Charts over days: the coverage of each pair, and the lag of mirrors against their RPO. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import BAD, GREYS, INK, QUIET, Chart, milliseconds
from hadash.dashboard.charts.ends import label, moved_apart
from hadash.presentation.posture import TREND_DAYS
from hadash.presentation.tables import Column

#: Most lines of coverage, and most mirrors that are drawn by name.
LINES = 4

#: Most mirrors that are drawn: the worst of perhaps thousands.
DRAWN = 60


def noon(day: date) -> int:
    """Return where a day (UTC) is drawn on the axis: at its noon."""
    return milliseconds(datetime.combine(day, time(12), UTC))


@dataclass(frozen=True, slots=True)
class CoverageDay:
    """The coverage of a pair on one day; or of an AppID, whose name is then in ``pair``."""

    day: date
    pair: str
    clients: int
    registered: int


def last_of_each_day(runs: Iterable[Mapping[str, Any]]) -> list[CoverageDay]:
    """Return the last run of each day, in the order of days.

    :param runs: the result of :func:`hadash.governance.selectors.coverage_over_time`, the newest first.

    >>> noon_of = lambda day, hour: datetime(2026, 11, day, hour, tzinfo=UTC)
    >>> runs = [{"at": noon_of(24, 9), "pair": "main", "clients": 4, "registered": 3},
    ...         {"at": noon_of(24, 8), "pair": "main", "clients": 4, "registered": 1},
    ...         {"at": noon_of(23, 8), "pair": "main", "clients": 4, "registered": 1}]
    >>> [(day.day.day, day.registered) for day in last_of_each_day(runs)]
    [(23, 1), (24, 3)]
    """
    found: dict[tuple[date, str], CoverageDay] = {}
    for run in runs:
        day = run["at"].astimezone(UTC).date()
        found.setdefault((day, run["pair"]), CoverageDay(day, run["pair"], run["clients"], run["registered"]))
    return [found[key] for key in sorted(found)]


def _axis(today: date) -> dict[str, object]:
    """Return an axis of the last :data:`TREND_DAYS` days, also when only a few of them have data."""
    ends = [noon(today - timedelta(days=TREND_DAYS - 1)), noon(today) + 12 * 3600 * 1000]
    # (Days are those of UTC, whatever the zone of the viewer.)
    return {"type": "date", "range": ends, "title": {"text": f"{_('day')} · UTC"}, "withoutZone": True}


def coverage(days: Sequence[CoverageDay], today: date, whose: Column | None = None) -> Chart:
    """Return the chart of the share of registered clients, a line per pair.

    :param days: in the order of days.
    :param whose: the table's column for what the lines stand for, when that is not the pair.
    """
    by_pair: dict[str, list[CoverageDay]] = defaultdict(list)
    for each in days:
        if each.clients:
            by_pair[each.pair].append(each)
    # The worst first: where there are more pairs than lines, these are what has to be seen.
    lines = sorted(by_pair, key=lambda pair: (_share(by_pair[pair][-1]), pair))[:LINES]
    says = _(
        "The share of the clients that were seen which are registered as InstanceIDs: only they can move by "
        "themselves."
    )
    if len(lines) < len(by_pair):
        says += " " + _(
            "Of %(all)s pairs the %(count)s with the lowest coverage are drawn; the table has all."
        ) % {"all": f"{len(by_pair):,}", "count": len(lines)}
    traces, labels = [], []
    for grey, pair in enumerate(lines):
        points = _without_gaps_hidden(by_pair[pair])
        colour = GREYS[grey % len(GREYS)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": pair,
                "x": [noon(day) for day, _each in points],
                "y": [None if each is None else each.registered / each.clients for _day, each in points],
                "line": {"color": colour, "width": 2, "dash": ("solid", "dash", "dot", "dashdot")[grey]},
                "marker": {"size": 5},
                "hovertemplate": f"<b>{pair}</b> %{{y:.0%}}<extra></extra>",
            }
        )
        last = by_pair[pair][-1]
        labels.append(label(noon(last.day), _share(last), pair, colour))
    return Chart(
        "coverage-over-time",
        _("Coverage over time"),
        (
            Column("day", _("Day"), "day"),
            whose or Column("pair", _("Pair")),
            Column("registered", _("Registered"), "number"),
            Column("clients", _("Clients"), "number"),
            Column("share", _("Share"), "percent"),
        ),
        [
            (
                each.day,
                each.pair,
                each.registered,
                each.clients,
                each.registered / each.clients if each.clients else None,
            )
            for each in reversed(days)
        ],
        traces,
        {
            "xaxis": _axis(today),
            "yaxis": {"range": [0, 1.04], "tickformat": ".0%", "title": {"text": _("registered")}},
            "annotations": moved_apart(labels, 1.04),
            "margin": {"l": 56, "r": 90, "t": 12, "b": 44},
        },
        says=says,
        empty=_("No run has counted clients yet."),
        height=220,
    )


def _share(day: CoverageDay) -> float:
    return day.registered / day.clients


def _without_gaps_hidden(days: Sequence[CoverageDay]) -> list[tuple[date, CoverageDay | None]]:
    """Return every day from the first to the last; a day without data is a gap."""
    known = {each.day: each for each in days}
    first, last = days[0].day, days[-1].day
    every = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [(day, known.get(day)) for day in every]


@dataclass(frozen=True, slots=True)
class MirrorDay:
    """One mirror on one day: how late it was in half of the samples, in 19 of 20, and at most, in seconds; ``None``
    when that is unknown.
    """

    day: date
    pair: str
    mirror: str
    samples: int
    unknown: int
    over_rpo: int
    half: float | None
    most_of_the_time: float | None
    most: float | None


def lag(days: Sequence[MirrorDay], rpos: Mapping[str, float], today: date, left_out: int = 0) -> Chart:
    """Return the chart of how late mirrors were, a line per mirror: the worst few by name, the others grey.

    :param rpos: pair → RPO in seconds.
    :param left_out: the number of less late mirrors that are not among ``days``.
    """
    by_mirror: dict[tuple[str, str], dict[date, MirrorDay]] = defaultdict(dict)
    for each in days:
        by_mirror[each.pair, each.mirror][each.day] = each
    ranked = sorted(by_mirror, key=lambda key: (-_worst(by_mirror[key].values()), key))
    every = sorted({each.day for each in days})
    every = [every[0] + timedelta(days=n) for n in range((every[-1] - every[0]).days + 1)] if every else []
    several = len({pair for pair, _mirror in ranked}) > 1
    traces, labels = [], []
    for place, key in enumerate(ranked):
        own = by_mirror[key]
        name = f"{key[1]} ({key[0]})" if several else key[1]
        named = place < LINES
        values = [own[day].most_of_the_time if day in own else None for day in every]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [noon(day) for day in every],
                "y": values,
                "line": {
                    "color": INK if named else [QUIET, 0.5],
                    "width": 2 if named else 1,
                    "dash": ("solid", "dash", "dot", "dashdot")[place] if named else "solid",
                },
                "marker": {"size": 5 if named else 3},
                "hovertemplate": f"<b>{name}</b> %{{y:.1f}} s<extra></extra>",
            }
        )
        last = next(
            (day for day, value in zip(reversed(every), reversed(values), strict=True) if value is not None),
            None,
        )
        if named and last is not None:
            value = own[last].most_of_the_time
            assert value is not None
            labels.append(label(noon(last), value, name, INK))
    top = 1.15 * max([1.0, *rpos.values(), *(_worst(own.values()) for own in by_mirror.values())])
    lines = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": rpo,
            "y1": rpo,
            "line": {"color": BAD, "width": 1.5, "dash": "dash"},
        }
        for rpo in sorted(set(rpos.values()))
    ]
    named_lines = [
        {
            "xref": "paper", "x": 0, "xanchor": "left", "y": rpo, "yanchor": "bottom",
            "text": _("RPO of %(pairs)s: %(rpo)s s") % {
                "pairs": ", ".join(sorted(pair for pair, own_rpo in rpos.items() if own_rpo == rpo)), "rpo": f"{rpo:g}",
            },
            "font": {"size": 11, "color": BAD},
        }
        for rpo in sorted(set(rpos.values()))
    ]  # fmt: skip
    return Chart(
        "lag-by-day",
        _("Lag by day"),
        (
            Column("day", _("Day"), "day"),
            Column("pair", _("Pair")),
            Column("mirror", _("Mirror")),
            Column("half", _("Median"), "seconds"),
            Column("most_of_the_time", _("95 %"), "seconds"),
            Column("most", _("Most"), "seconds"),
            Column("samples", _("Samples"), "number"),
            Column("unknown", _("Not known"), "number"),
            Column("over_rpo", _("Over the RPO"), "number"),
        ),
        [
            (e.day, e.pair, e.mirror, e.half, e.most_of_the_time, e.most, e.samples, e.unknown, e.over_rpo)
            for e in sorted(days, key=lambda each: (each.day, each.pair, each.mirror), reverse=True)
        ],
        traces,
        {
            "xaxis": _axis(today),
            "yaxis": {"title": {"text": _("seconds")}, "range": [0, top]},
            "shapes": lines,
            "annotations": [*moved_apart(labels, top), *named_lines],
            "margin": {"l": 56, "r": 110, "t": 16, "b": 44},
        },
        says=" ".join(
            [
                _(
                    "How late each mirror was in 19 of 20 samples of a day (UTC). Days without samples are gaps."
                ),
                *(
                    [
                        ngettext(
                            "%(n)s mirror that was never as late is left out.",
                            "%(n)s mirrors that were never as late are left out.",
                            left_out,
                        )
                        % {"n": f"{left_out:,}"}
                    ]
                    if left_out
                    else []
                ),
            ]
        ),
        empty=_("No mirror has been sampled yet."),
    )


def _worst(days: Iterable[MirrorDay]) -> float:
    return max((each.most_of_the_time or 0.0 for each in days), default=0.0)
