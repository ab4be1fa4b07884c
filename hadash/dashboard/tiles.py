"""The figures of the overview: what each counts, the page that it leads to, and its trend over the last days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.figures import whole_percent
from hadash.governance.models import Run
from hadash.inventory.models import DailyFigure
from hadash.pipeline import schedules
from hadash.presentation import selectors
from hadash.presentation.badges import State
from hadash.presentation.posture import TREND_DAYS, Standing, Tile, Trend, lag_trend, share, total


def of_posture(standing: Standing, pairs: Iterable[str], rpo_seconds: float | None) -> list[Tile]:
    """Return the figures that runs have published; others are unknown. Two queries.

    :param pairs: the names of the pairs.
    :param rpo_seconds: the RPO of all pairs; ``None`` when it differs between them.
    """
    mirrored, covered = (
        standing.trend(share("mirrored_appids", "appids")),
        standing.trend(share("registered", "clients")),
    )
    shared, radius = standing.trend(total("shared_appids")), standing.trend(total("largest_radius"))
    findings, lag = standing.trend(total("high", "medium", "low")), lag_trend(pairs)
    appids, of_them = standing.trend(total("appids")).now, standing.trend(total("mirrored_appids")).now
    high = standing.trend(total("high")).now
    return [
        Tile(
            _("AppIDs under HA"),
            _number(of_them),
            _("all their Topics are mirrored"),
            reverse("table", args=["coverage"]),
            mirrored,
            of=_number(appids),
            better="up",
            trend_unit=" %",
            without=standing.without("appids", "mirrored_appids"),
        ),
        Tile(
            _("InstanceID coverage"),
            _percent(covered.now),
            _("of the clients that were seen are registered"),
            reverse("table", args=["coverage"]),
            covered,
            better="up",
            without=standing.without("clients", "registered"),
        ),
        Tile(
            _("Shared AppIDs"),
            _number(shared.now),
            _("several clients use each of them"),
            reverse("table", args=["sharing"]),
            shared,
            better="down",
            without=standing.without("shared_appids"),
        ),
        Tile(
            _("Largest blast radius"),
            _number(radius.now),
            _("things move together with one"),
            reverse("table", args=["radii"]),
            radius,
            better="down",
            without=standing.without("largest_radius"),
        ),
        Tile(
            _("Open findings"),
            _number(findings.now),
            ngettext("%(n)s of high severity", "%(n)s of high severity", int(high or 0))
            % {"n": _number(high) or "?"},
            reverse("findings"),
            findings,
            better="down",
            without=standing.without("high", "medium", "low"),
        ),
        Tile(
            _("Mirror lag today"),
            f"{lag.today:.1f}" if lag.today is not None else "",
            _("in 19 of 20 samples, RPO %(rpo)s s") % {"rpo": f"{rpo_seconds:g}"}
            if rpo_seconds is not None
            else _("in 19 of 20 samples, of the worst mirror"),
            reverse("table", args=["lag"]),
            lag,
            unit="s",
            better="down",
        ),
    ]


def of_switches(user: Any, running: int, waiting: int) -> Tile:
    """Return the figure of running switches, with the requests of the last days as its trend. One query."""
    today = timezone.now().astimezone(UTC).date()
    first = today - timedelta(days=TREND_DAYS - 1)
    rows = selectors.switches(user).filter(requested_at__date__gte=first).order_by()
    days = dict(rows.values_list(TruncDate("requested_at", tzinfo=UTC)).annotate(Count("pk")))
    trend = Trend([days.get(first + timedelta(days=number), 0) for number in range(TREND_DAYS)])
    says = ngettext("%(n)s waits for you", "%(n)s wait for you", waiting) % {"n": waiting}
    return Tile(_("Switches running"), _number(running), says, f"{reverse('switches')}?status=running", trend)


def of_clients(clients: int | None, parked: int, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the connected clients.

    :param clients: how many are connected to the Gateways; ``None`` when it is unknown.
    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    says = ngettext("%(n)s request parked", "%(n)s requests parked", parked) % {"n": parked}
    trend = days[DailyFigure.Name.CLIENTS]
    return Tile(_("Clients at the Gateways"), _number(clients), says, reverse("gateways"), trend)


def of_gateways(gateways: Sequence[tuple[Any, State]], epoch: int | None, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the Gateways with the newest bindings.

    :param epoch: the epoch of the newest bindings; ``None`` when it is unknown.
    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    fine = sum(state.look == "fine" for _gateway, state in gateways)
    return Tile(
        _("Gateways with the newest bindings"),
        _number(fine) if epoch is not None else "",
        _("epoch %(epoch)s") % {"epoch": epoch},
        reverse("gateways"),
        days[DailyFigure.Name.GATEWAYS],
        of=_number(len(gateways)),
        better="up",
    )


def of_workers(there: int, known: int, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the workers.

    :param known: all workers of the last day, even if they were killed.
    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    return Tile(
        _("Workers"),
        _number(there),
        _("carry out switches and jobs"),
        f"{reverse('overview')}#workers",
        days[DailyFigure.Name.WORKERS],
        of=_number(known),
        better="up",
    )


def of_pipeline(jobs: Iterable[schedules.Scheduled], alarms: int, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of how fresh the tables are: the time since the facts behind them were updated.

    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    at = next(
        (job.published.ended_at for job in jobs if job.about.job is Run.Job.FACTS and job.published), None
    )
    says = (
        ngettext("something is wrong with %(n)s job", "something is wrong with %(n)s jobs", alarms)
        % {"n": alarms}
        if alarms
        else _("since the facts were brought up to date")
    )
    return Tile(
        _("Age of the facts"),
        _age(at),
        says,
        reverse("pipeline"),
        days[DailyFigure.Name.FACTS_AGE],
        unit=_("min") if at else "",
        better="down",
    )


def _age(at: datetime | None) -> str:
    return f"{(timezone.now() - at).total_seconds() / 60:.0f}" if at is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{whole_percent(value, 100.0)} %"
