"""The figures of the overview: what each counts, where it leads, and how it was over the last days."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard import selectors
from hadash.dashboard.figures import whole_percent
from hadash.dashboard.posture import TREND_DAYS, Standing, Tile, Trend, lag_trend, share, total
from hadash.governance.models import Run
from hadash.pipeline import schedules


def of_posture(standing: Standing, pairs: Iterable[str], rpo_seconds: float | None) -> list[Tile]:
    """What runs have said. Figures that no run has said are not known. Two queries.

    :param pairs: the names of those that count. :param rpo_seconds: of all of them; ``None`` when they differ.
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
        ),
        Tile(
            _("InstanceID coverage"),
            _percent(covered.now),
            _("of the clients that were seen are registered"),
            reverse("table", args=["coverage"]),
            covered,
            better="up",
        ),
        Tile(
            _("Shared AppIDs"),
            _number(shared.now),
            _("several clients use each of them"),
            reverse("table", args=["sharing"]),
            shared,
            better="down",
        ),
        Tile(
            _("Largest blast radius"),
            _number(radius.now),
            _("things move together with one"),
            reverse("table", args=["radii"]),
            radius,
            better="down",
        ),
        Tile(
            _("Open findings"),
            _number(findings.now),
            ngettext("%(n)s of high severity", "%(n)s of high severity", int(high or 0))
            % {"n": _number(high) or "?"},
            reverse("findings"),
            findings,
            better="down",
        ),
        Tile(
            _("Mirror lag today"),
            f"{lag.now:.1f}" if lag.now is not None else "",
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
    """Those of the last days, by the day on which they were asked for. One query."""
    today = timezone.now().astimezone(UTC).date()
    first = today - timedelta(days=TREND_DAYS - 1)
    rows = selectors.switches(user).filter(requested_at__date__gte=first).order_by()
    days = dict(rows.values_list(TruncDate("requested_at", tzinfo=UTC)).annotate(Count("pk")))
    trend = Trend([days.get(first + timedelta(days=number), 0) for number in range(TREND_DAYS)])
    says = ngettext("%(n)s waits for you", "%(n)s wait for you", waiting) % {"n": waiting}
    return Tile(_("Switches running"), _number(running), says, reverse("switches"), trend)


def of_pipeline(jobs: Iterable[schedules.Scheduled], alarms: int) -> Tile:
    """How fresh the tables are: when the facts that they are made of were brought up to date."""
    at = next(
        (job.published.ended_at for job in jobs if job.about.job is Run.Job.FACTS and job.published), None
    )
    says = (
        ngettext("something is wrong with %(n)s job", "something is wrong with %(n)s jobs", alarms)
        % {"n": alarms}
        if alarms
        else _("since the facts were brought up to date")
    )
    return Tile(_("Age of the facts"), _age(at), says, reverse("pipeline"), unit=_("min") if at else "")


def _age(at: datetime | None) -> str:
    return f"{(timezone.now() - at).total_seconds() / 60:.0f}" if at is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{whole_percent(value, 100.0)} %"
