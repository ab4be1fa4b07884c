"""The figures of the overview: what each counts, the page that it leads to, and its trend over the last days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.governance.catalogue import Severity
from hadash.governance.models.runs import Run
from hadash.inventory.models import DailyFigure
from hadash.percent import whole_percent
from hadash.pipeline import schedules
from hadash.presentation import batches, changes, pools, selectors
from hadash.presentation.badges import State
from hadash.presentation.labels import SEVERITY_WORDS
from hadash.presentation.pair_verdicts import PairView, worst_lag
from hadash.presentation.posture import TREND_DAYS, Part, Standing, Tile, Trend, lag_trend, share, total


def of_posture(standing: Standing) -> list[Tile]:
    """Return the figures that runs have published; others are unknown."""
    mirrored, covered = (
        standing.trend(share("mirrored_appids", "appids")),
        standing.trend(share("registered", "clients")),
    )
    shared, radius = standing.trend(total("shared_appids")), standing.trend(total("largest_radius"))
    findings = standing.trend(total("high", "medium", "low"))
    appids, counted = standing.trend(total("appids")).now, standing.trend(total("mirrored_appids"))
    return [
        Tile(
            _("AppIDs under HA"),
            _number(counted.now),
            _dated(_("all their Topics are mirrored"), counted),
            _table("coverage", "?show=under-ha"),
            mirrored,
            of=_number(appids),
            better="up",
            trend_unit=" %",
            without=standing.without("appids", "mirrored_appids"),
        ),
        Tile(
            _("InstanceID coverage"),
            _percent(covered.now),
            _dated(_("of the clients that were seen are registered"), covered),
            _table("coverage", "?sort=registered"),
            covered,
            better="up",
            without=standing.without("clients", "registered"),
        ),
        Tile(
            _("Shared AppIDs"),
            _number(shared.now),
            _dated(_("several clients use each of them"), shared),
            _table("sharing", "?show=shared"),
            shared,
            better="down",
            without=standing.without("shared_appids"),
        ),
        Tile(
            _("Largest blast radius"),
            _number(radius.now),
            _dated(_("things move together with one"), radius),
            _table("radii"),
            radius,
            better="down",
            without=standing.without("largest_radius"),
        ),
        Tile(
            _("Open findings"),
            _number(findings.now),
            _dated(_("not accepted by anybody"), findings),
            reverse("findings"),
            findings,
            better="down",
            parts=[_of_severity(standing, severity) for severity in Severity],
            without=standing.without("high", "medium", "low"),
        ),
    ]


def trends(tiles: Iterable[Tile]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return (columns, rows) of a table of all trends: a row for each day, the last one today (UTC)."""
    lines: dict[str, Trend] = {}
    for tile in tiles:
        for part in tile.parts:
            lines[f"{tile.word}: {part.word}"] = part.trend
        if tile.trend is not None and not tile.parts:
            lines[str(tile.trend_word or tile.word)] = tile.trend
    first = timezone.now().astimezone(UTC).date() - timedelta(days=TREND_DAYS - 1)
    days = (first + timedelta(days=number) for number in range(TREND_DAYS))
    values = zip(*(trend.values for trend in lines.values()), strict=True)
    return ["day", *lines], [(day.isoformat(), *row) for day, row in zip(days, values, strict=True)]


def _dated(says: str, trend: Trend) -> str:
    """``says``, with the age of the figure where it is older than a day: it is no figure of today then."""
    if trend.days_old < 2:
        return says
    old = ngettext("%(n)s day old", "%(n)s days old", trend.days_old) % {"n": trend.days_old}
    return f"{says} · {old}"


def _of_severity(standing: Standing, severity: Severity) -> Part:
    trend = standing.trend(total(severity.value))
    word = SEVERITY_WORDS[severity]
    return Part(word, _number(trend.now) or "?", f"{reverse('findings')}?severity={severity.value}", trend)


def of_lag(views: Sequence[PairView]) -> Tile:
    """Return the lag of the mirror that has used up most of its pair's RPO, with the worst mirror of each day as its
    trend. Two queries.
    """
    worst = worst_lag(views)
    unknown = sum(mirror.count for each in views for mirror in each.lags if mirror.is_unknown)
    down = sum(mirror.count for each in views for mirror in each.lags if mirror.is_down)
    if worst is None:
        says = ""
    elif len(views) > 1:
        says = _("mirror %(mirror)s of pair %(pair)s, and its RPO") % {
            "mirror": worst.mirror,
            "pair": worst.pair,
        }
    else:
        says = _("mirror %(mirror)s, and the RPO") % {"mirror": worst.mirror}
    if down:
        does_not_run = ngettext("%(n)s mirror does not run", "%(n)s mirrors do not run", down) % {"n": down}
        says = f"{says} · {does_not_run}" if says else does_not_run
    if worst is not None and unknown:
        says += " · " + ngettext("of %(n)s mirror not known", "of %(n)s mirrors not known", unknown) % {
            "n": unknown
        }
    return Tile(
        _("Mirror lag now"),
        f"{worst.seconds:.1f}" if worst is not None else "",
        says,
        reverse("mirror", args=[worst.pair, worst.mirror]) if worst is not None else reverse("mirrors"),
        lag_trend(each.pair.name for each in views),
        of=f"{worst.rpo_seconds:g}" if worst is not None else "",
        unit="s",
        better="down",
        trend_word=_("Seconds that the worst mirror of each day was behind in 19 of 20 samples"),
        alarming=bool(down) or (worst is not None and worst.seconds > worst.rpo_seconds),
    )


def of_clusters(views: Sequence[PairView], days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the clusters that answer.

    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    states = [state.holds for each in views for _cluster, state in each.clusters]
    answering, unknown = states.count(True), states.count(None)
    return Tile(
        _("Clusters that answer"),
        _number(answering) if states and unknown < len(states) else "",
        ngettext("%(n)s not looked at lately", "%(n)s not looked at lately", unknown) % {"n": unknown}
        if unknown
        else _("when a worker last looked"),
        reverse("clusters"),
        days[DailyFigure.Name.CLUSTERS],
        of=_number(len(states)),
        better="up",
        trend_word=_("Clusters that answered, the fewest of each day"),
        alarming=False in states,
    )


def of_switches(user: Any, running: int) -> Tile:
    """Return the figure of running switches, with how many began on each of the last days as its trend. One query."""
    trend = _by_day([selectors.switches(user)], "started_at")
    began = int(sum(each or 0 for each in trend.values))
    return Tile(
        _("Switches running"),
        _number(running),
        ngettext("%(n)s began in %(days)s days", "%(n)s began in %(days)s days", began)
        % {"n": f"{began:,}", "days": TREND_DAYS},
        f"{reverse('switches')}?status=running",
        trend,
        trend_word=_("Switches that began, by day"),
    )


def of_inbox(user: Any, waiting: int) -> Tile:
    """Return the figure of what waits for the user (switches, batches, changes of bindings and pools), with how many
    of them were requested on each of the last days as its trend. One query.
    """
    requested = [
        selectors.switches(user), batches.batches(user), changes.changes(user), pools.changes(user),
    ]  # fmt: skip
    return Tile(
        _("Waiting for you"),
        _number(waiting),
        _("to decide on, to review or to resume"),
        f"{reverse('switches')}?inbox=waiting",
        _by_day(requested, "requested_at"),
        trend_word=_("Requests of switches, batches and changes, by day"),
    )


def _by_day(found: Sequence[QuerySet[Any]], moment: str) -> Trend:
    """Return how many rows of these have this moment in each of the last days. One query."""
    first = timezone.now().astimezone(UTC).date() - timedelta(days=TREND_DAYS - 1)
    counts = [
        rows.filter(**{f"{moment}__date__gte": first})
        .order_by()
        .values_list(TruncDate(moment, tzinfo=UTC))
        .annotate(Count("pk"))
        for rows in found
    ]
    days: Counter[date] = Counter()
    for day, count in counts[0].union(*counts[1:], all=True):
        days[day] += count
    return Trend([days[first + timedelta(days=number)] for number in range(TREND_DAYS)])


def of_clients(clients: int | None, parked: int, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the connected clients.

    :param clients: how many are connected to the Gateways; ``None`` when it is unknown.
    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    says = ngettext("%(n)s request parked", "%(n)s requests parked", parked) % {"n": parked}
    trend = days[DailyFigure.Name.CLIENTS]
    return Tile(
        _("Clients at the Gateways"),
        _number(clients),
        says,
        reverse("clients"),
        trend,
        trend_word=_("Clients that were connected, the most of each day"),
    )


def of_gateways(gateways: Sequence[tuple[Any, State]], epoch: int | None, days: Mapping[str, Trend]) -> Tile:
    """Return the figure of the Gateways with the newest bindings.

    :param epoch: the epoch of the newest bindings; ``None`` when it is unknown.
    :param days: the result of :func:`hadash.presentation.posture.daily`.
    """
    fine = sum(state.is_fine for _gateway, state in gateways)
    return Tile(
        _("Gateways with the newest bindings"),
        _number(fine) if epoch is not None else "",
        _("epoch %(epoch)s") % {"epoch": epoch},
        reverse("gateways"),
        days[DailyFigure.Name.GATEWAYS],
        of=_number(len(gateways)),
        better="up",
        trend_word=_("Gateways that were there, the fewest of each day"),
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
        trend_word=_("Workers that were there, the fewest of each day"),
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
        trend_word=_("Minutes since the facts were brought up to date, the most of each day"),
        unit=_("min") if at else "",
        better="down",
    )


def _table(name: str, query: str = "") -> str:
    return reverse("table", args=[name]) + query


def _age(at: datetime | None) -> str:
    return f"{(timezone.now() - at).total_seconds() / 60:.0f}" if at is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{whole_percent(value, 100.0)} %"
