"""Data for the pages of Gateways: their membership now, and the samples that they have reported."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from hadash.bindings.model import GatewayMember
from hadash.dashboard.charts.chart import FIRST, SECOND, Chart
from hadash.dashboard.charts.lines import lines
from hadash.inventory.gateway_rates import Counted, Rate, only, rates, read, thinned
from hadash.inventory.gateway_samples import counted, rates_within
from hadash.inventory.models import GatewayHour, GatewaySample
from hadash.presentation import badges
from hadash.presentation.badges import State
from hadash.presentation.engines import Engines
from hadash.presentation.labels import TURNED_AWAY_WORDS

#: The times that can be shown, and the most points of a line.
WINDOWS: dict[str, tuple[Any, timedelta]] = {
    "hour": (gettext_lazy("1 hour"), timedelta(hours=1)),
    "day": (gettext_lazy("24 hours"), timedelta(days=1)),
    "month": (gettext_lazy("30 days"), timedelta(days=30)),
}
MOST_POINTS = 500

#: A sample that is older than this many intervals says nothing about now.
OLD_AFTER = 4


@dataclass(frozen=True, slots=True)
class GatewayRow:
    """A Gateway. ``rate``: its rates between its last two samples; ``None`` when they are unknown. ``gateway``:
    ``None`` for a former member of which only samples are left.
    """

    id: str
    gateway: GatewayMember | None
    state: State
    rate: Rate | None

    @property
    def connections(self) -> int | None:
        return sum(self.rate.connections.values()) if self.rate else None

    @property
    def requests(self) -> float | None:
        return sum(self.rate.requests.values()) if self.rate else None

    @property
    def given_up(self) -> float | None:
        """Parked requests per minute that waited too long, or were too many."""
        return 60 * (self.rate.expired + self.rate.overflowed) if self.rate else None

    @property
    def refused(self) -> float | None:
        """Refused connections and requests per minute."""
        return 60 * sum(self.rate.refused.values()) if self.rate else None


def rows_of(engines: Engines, clusters: Container[str]) -> list[GatewayRow]:
    """Return all members with their rates. One query.

    :param clusters: the clusters that the viewer may see; connections to others are left out.
    """
    since = timezone.now() - OLD_AFTER * timedelta(seconds=settings.GATEWAY_SAMPLE_SECONDS)
    last: dict[str, list[Counted]] = {}
    for sample in GatewaySample.objects.filter(at__gte=since).order_by("at"):
        last.setdefault(sample.gateway, []).append(counted(sample))
    found = []
    for gateway in engines.gateways:
        known = rates(last.get(gateway.id, []))
        found.append(
            GatewayRow(
                gateway.id,
                gateway,
                badges.of_gateway(gateway, engines.epoch),
                only(known[-1], clusters) if known else None,
            )
        )
    return found


def history_of(
    gateway: str, window: str, clusters: Container[str]
) -> tuple[list[Rate], tuple[datetime, datetime]]:
    """Return (the Gateway's rates, the time that they cover). Of a long time there are :data:`MOST_POINTS` steps with
    the highest values of each; of a time that is longer than samples are kept, one an hour.

    :param clusters: the clusters that the viewer may see; connections to others are left out.
    """
    now = timezone.now()
    begin = now - WINDOWS[window][1]
    if WINDOWS[window][1] > timedelta(hours=settings.SAMPLES_KEPT_HOURS):
        hours = GatewayHour.objects.filter(gateway=gateway, at__gte=begin).order_by("at")
        found = [read(hour.at, hour.most) for hour in hours]
    else:
        found = rates_within(gateway, begin, now)
    return thinned([only(rate, clusters) for rate in found], MOST_POINTS), (begin, now)


def step_of(found: Sequence[Rate]) -> timedelta:
    """Return the usual time between two points."""
    if len(found) < 2:
        return timedelta(seconds=settings.GATEWAY_SAMPLE_SECONDS)
    apart = sorted(later.at - earlier.at for earlier, later in itertools.pairwise(found))
    return max(apart[len(apart) // 2], timedelta(seconds=settings.GATEWAY_SAMPLE_SECONDS))


def charts_of(found: Sequence[Rate], span: tuple[datetime, datetime], hues: Mapping[str, str]) -> list[Chart]:
    """Return the charts of a Gateway.

    :param hues: cluster → ``first`` or ``second``.
    """
    at = [rate.at for rate in found]
    common: dict[str, Any] = {"span": span, "every": step_of(found)}
    clusters = _keys(rate.connections for rate in found)
    colours = {name: FIRST if hues.get(name) == "first" else SECOND for name in clusters if name in hues}
    kinds, reasons = _keys(rate.requests for rate in found), _keys(rate.refused for rate in found)
    refused = sum(sum(rate.refused.values()) for rate in found)
    return [
        lines(
            "connections",
            _("Connections"),
            at,
            {name: [rate.connections.get(name, 0) for rate in found] for name in clusters},
            unit=_("connections"),
            colours=colours,
            digits=0,
            says=_("By the cluster that each reaches."),
            **common,
        ),
        lines(
            "requests",
            _("Requests"),
            at,
            {kind: [rate.requests.get(kind, 0.0) for rate in found] for kind in kinds},
            unit=_("requests/s"),
            says=_("By kind; those with the most."),
            **common,
        ),
        lines(
            "bytes",
            _("Bytes"),
            at,
            {
                f"{kind}, {word}": [getattr(rate, which).get(kind, 0.0) / 1024 for rate in found]
                for kind in kinds
                for which, word in (("bytes_in", _("from clients")), ("bytes_out", _("to clients")))
            },
            unit="KiB/s",
            says=_("By kind; those with the most."),
            **common,
        ),
        lines(
            "epochs-behind",
            _("Changes of bindings not yet in effect"),
            at,
            {_("changes"): [rate.epochs_behind for rate in found]},
            unit=_("changes"),
            digits=0,
            says=_("How many epochs it was behind the Gateway that was furthest.")
            if any(rate.epochs_behind for rate in found)
            else _("It was never behind another Gateway within this time."),
            **common,
        ),
        lines(
            "parked",
            _("Parked requests"),
            at,
            {_("parked"): [rate.parked for rate in found]},
            unit=_("requests"),
            digits=0,
            says=_("They wait while their clients are blocked."),
            **common,
        ),
        lines(
            "given-up",
            _("Parked requests that were given up"),
            at,
            {
                _("waited too long"): [60 * rate.expired for rate in found],
                _("too many waited"): [60 * rate.overflowed for rate in found],
            },
            unit=_("a minute"),
            says=_("Their clients were told to try again, or lost their connection.")
            if any(rate.expired or rate.overflowed for rate in found)
            else _("No request was given up within this time."),
            **common,
        ),
        lines(
            "refused",
            _("Refused"),
            at,
            {
                str(TURNED_AWAY_WORDS.get(reason, reason)): [
                    60 * rate.refused.get(reason, 0.0) for rate in found
                ]
                for reason in reasons
            },
            unit=_("a minute"),
            says=_("Connections and requests that were turned away, by reason.")
            if refused
            else _("Nothing was turned away within this time."),
            **common,
        ),
        lines(
            "cpu",
            _("Processor"),
            at,
            {_("of one core"): [None if r.cpu is None else 100 * r.cpu for r in found]},
            unit="%",
            **common,
        ),
        lines(
            "memory",
            _("Memory"),
            at,
            {
                _("in memory"): [
                    None if r.memory_bytes is None else r.memory_bytes / 1024 / 1024 for r in found
                ]
            },
            unit="MiB",
            digits=0,
            **common,
        ),
    ]


def _keys(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({key for each in found for key in each})


def said_of(rows: Sequence[GatewayRow]) -> str:
    """Return a sentence with how many of the Gateways are fine."""
    fine = sum(row.state.is_fine for row in rows)
    return ngettext(
        "%(fine)s of %(all)s Gateway has the newest bindings in effect.",
        "%(fine)s of %(all)s Gateways have the newest bindings in effect.",
        len(rows),
    ) % {"fine": fine, "all": len(rows)}
