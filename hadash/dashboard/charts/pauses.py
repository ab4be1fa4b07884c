"""The chart of how long each client of a switch was without a record, with the stages behind the bars. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import BAD, INK, QUIET, Chart, height_of, milliseconds
from hadash.presentation.tables import Column
from hadash.switching.execution.pauses import Pause

#: Most bars that are drawn: those of the longest pauses. The table has all of them.
MOST_DRAWN = 40
#: Seconds of margin before the first and after the last moment that is shown.
MARGIN_SECONDS = 1.0
#: Levels of names above the bands, and the width of the plot in pixels by which their room is reckoned: that of a
#: page of 1,440. (On a phone they lie closer.)
LEVELS, PLOT_PIXELS = 4, 850.0
#: Opacities of the stages' bands, in turn.
BANDS = (0.10, 0.04)


@dataclass(frozen=True, slots=True)
class Band:
    """The band of one stage behind the bars."""

    word: str
    begin: datetime
    end: datetime
    #: Whether clients wait in this stage.
    blocked: bool


def pauses(found: Sequence[Pause], bands: Sequence[Band], several_appids: bool) -> Chart:
    """Return the chart: a bar per client for its writes, and one for its reads.

    :param found: the pauses: those that have not ended, then the longest first.
    :param bands: the stages, in order.
    :param several_appids: whether clients' names need their AppID.
    """
    shown = list(found[:MOST_DRAWN])
    words = {"produce": _("writes"), "consume": _("reads")}
    rows = [
        (
            pause.appid,
            pause.client_id,
            words[pause.kind],
            _moment(pause.since),
            None if pause.until is None else _moment(pause.until),
            pause.seconds,
        )
        for pause in found
    ]
    traces = [_bars(shown, kind, words[kind], bands, several_appids) for kind in words]
    begin, end = _span(shown, bands)
    return Chart(
        "client-pauses",
        _("Each client's own pause"),
        (
            Column("appid", _("AppID")),
            Column("client", _("client.id")),
            Column("what", _("What it does")),
            Column("since", _("Last record before"), "time"),
            Column("until", _("First record after"), "time"),
            Column("seconds", _("Seconds"), "seconds"),
        ),
        rows,
        [trace for trace in traces if trace["y"]] if shown else [],
        {
            "xaxis": {
                "type": "date",
                "range": [milliseconds(begin), milliseconds(end)],
                "withoutZone": False,
            },
            "yaxis": {
                "type": "category",
                "autorange": "reversed",
                "categoryarray": [_name(p, several_appids) for p in shown],
            },
            "shapes": [_shape(band, place) for place, band in enumerate(bands)],
            "annotations": _labels(bands, begin, end),
            "barmode": "group",
            "bargap": 0.3,
            "showlegend": len({pause.kind for pause in shown}) > 1,
            "legend": {"x": 1.01, "y": 1, "yanchor": "top"},
            "margin": {"l": 170, "r": 90, "t": 62, "b": 40},
        },
        says=_says(found),
        empty=_(
            "No Gateway has told how long clients were without records: it was an older one, or none of them moved any."
        ),
        height=height_of(len({(_name(pause, several_appids), pause.kind) for pause in shown})),
        is_wide=True,
    )


def _says(found: Sequence[Pause]) -> str:
    ended = [pause.seconds for pause in found if pause.seconds is not None]
    if not ended:
        return ""
    longest = next(pause for pause in found if pause.seconds is not None)
    said = ngettext(
        "One client; it was without a record for %(longest)s s.",
        "%(count)s clients; the longest time without a record was %(longest)s s (%(who)s). Who has little "
        "to do is without records anyway.",
        len(found),
    ) % {"count": len(found), "longest": f"{max(ended):.2f}", "who": longest.client_id or longest.appid}
    if len(found) > MOST_DRAWN:
        said += " " + _("Drawn are the %(count)s longest.") % {"count": MOST_DRAWN}
    return said


def _bars(
    found: Sequence[Pause], kind: str, word: str, bands: Sequence[Band], several_appids: bool
) -> dict[str, Any]:
    own = [pause for pause in found if pause.kind == kind]
    end = max((band.end for band in bands), default=None)
    ends = [pause.until if pause.until is not None or end is None else end.timestamp() for pause in own]
    return {
        "type": "bar",
        "orientation": "h",
        "name": word,
        "y": [_name(pause, several_appids) for pause in own],
        "base": [milliseconds(_moment(pause.since)) for pause in own],
        "x": [
            round(1000 * ((until or pause.since) - pause.since))
            for pause, until in zip(own, ends, strict=True)
        ],
        "text": [_("no record since") if p.seconds is None else f"{p.seconds:.2f} s" for p in own],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {
            "color": [BAD if pause.until is None else QUIET if kind == "consume" else INK for pause in own],
            "pattern": {"shape": "/" if kind == "consume" else "", "fgcolor": INK, "solidity": 0.4},
        },
        "hovertemplate": f"<b>%{{y}}</b> {word}: %{{text}}<extra></extra>",
    }


def _name(pause: Pause, several_appids: bool) -> str:
    """Return the name of a client's bar.
    >>> _name(Pause("shop", "", "produce", 1.0, 2.0), False), _name(Pause("shop", "web", "produce", 1.0, 2.0), True)
    ('shop', 'shop › web')
    """
    if not pause.client_id:
        return pause.appid
    return f"{pause.appid} › {pause.client_id}" if several_appids else pause.client_id


def _shape(band: Band, place: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": milliseconds(band.begin),
        "x1": milliseconds(band.end),
        "y0": 0,
        "y1": 1,
        "line": {"width": 0},
        "layer": "below",
        "fillcolor": [BAD if band.blocked else QUIET, BANDS[place % 2] * (2 if band.blocked else 1)],
    }


def _labels(bands: Sequence[Band], begin: datetime, end: datetime) -> list[dict[str, Any]]:
    """Return the names above the bands, on several levels where they would lie on each other. What has no room has its
    time in the table of stages.
    """
    free = [-1.0] * LEVELS
    length = (end - begin).total_seconds()
    found = []
    for band in sorted(bands, key=lambda each: each.begin):
        if band.end <= begin or band.begin >= end:
            continue
        place = max(0.0, (band.begin - begin).total_seconds()) / length
        level = next((number for number, until in enumerate(free) if until <= place), None)
        if level is None:
            continue
        wide = sum(12.0 if character > "\u2e80" else 6.5 for character in band.word)
        free[level] = place + (wide + 8) / PLOT_PIXELS
        found.append(
            {
                "x": milliseconds(max(band.begin, begin)),
                "xref": "x",
                "xanchor": "left",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "yshift": 13 * level,
                "text": band.word,
                "hovertext": f"{band.word}: {(band.end - band.begin).total_seconds():.2f} s",
            }
        )
    return found


def _span(shown: Sequence[Pause], bands: Sequence[Band]) -> tuple[datetime, datetime]:
    """Return the time to show: the pauses, and the stages in which clients wait."""
    waits = [band for band in bands if band.blocked] or list(bands)
    moments = [band.begin.timestamp() for band in waits] + [band.end.timestamp() for band in waits]
    moments += [pause.since for pause in shown] + [p.until for p in shown if p.until is not None]
    if not moments:
        moments = [0.0]
    return _moment(min(moments) - MARGIN_SECONDS), _moment(max(moments) + MARGIN_SECONDS)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
