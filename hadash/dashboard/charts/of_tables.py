"""The charts above the tables that jobs publish, from the rows of the last published run. They only read, with as
many queries for a large fleet as for a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, timedelta
from functools import lru_cache, partial
from math import ceil
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Case, Count, F, IntegerField, Max, Q, QuerySet, Sum, When
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language

from hadash.dashboard.charts import coverage_map, over_time, sharing, work_list
from hadash.dashboard.charts.chart import Chart
from hadash.governance import selectors
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import AdviceStep, CoverageCell, LagDay, Sharing
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, Pair
from hadash.presentation.posture import TREND_DAYS
from hadash.switching import policy

#: Rows that are read from the database at a time for a CSV.
CHUNK = 2000
#: Most cached charts of published runs: for a few tables, for the pairs of some users, in two languages.
REMEMBERED = 64


def charts_of(table: str, run: Run | None, pairs: Sequence[str], query: str = "") -> Sequence[Chart]:
    """Return the charts of a table; none for a table without charts, or while no run has been published.

    :param pairs: the names of the pairs to show: the caller has checked that the user may see them.
    :param query: a part of a name. Only the map of coverage is filtered by it; other charts are about all rows.
    """
    make = _CHARTS.get(table)
    if make is None or run is None:
        return []
    if make is _coverage:
        return _coverage(run, tuple(pairs), query)
    return make(run, tuple(pairs))


def _today() -> date:
    return timezone.now().astimezone(UTC).date()


def _pages(rows: Iterable[Any]) -> dict[tuple[str, str], str]:
    """Return (pair, AppID) → the AppID's page, for the AppIDs of some rows. One query."""
    names = {row.appid for row in rows}
    known = AppID.objects.filter(name__in=names).values_list("pair__name", "name", "pk")
    return {(pair, name): reverse("appid", args=[pk]) for pair, name, pk in known}


def _sharing(run: Run, pairs: tuple[str, ...]) -> Sequence[Chart]:
    return _sharing_of(run, selectors.published(Run.Job.ADVICE), pairs, get_language())


@lru_cache(maxsize=REMEMBERED)
def _sharing_of(run: Run, advice: Run | None, pairs: tuple[str, ...], language: str) -> Sequence[Chart]:
    """Return the charts of sharing in the active ``language``. Cached: published runs do not change. (An AppID that
    was registered since then has no link.)
    """
    rows = selectors.rows(Sharing, run, pairs)
    counts = dict(rows.order_by().values_list("clients").annotate(Count("pk")))
    most = list(rows.order_by("-clients", "pair", "appid")[: sharing.RANKED])
    widest = list(rows.order_by("-radius", "-clients", "pair", "appid")[: sharing.NAMED // 2])
    named = {
        row.pk: row for row in [*rows.order_by("-clients", "pair", "appid")[: sharing.NAMED // 2], *widest]
    }
    pages = _pages([*most, *named.values()])

    def shared(row: Sharing) -> sharing.Shared:
        href = pages.get((row.pair, row.appid), "")
        return sharing.Shared(row.pair, row.appid, row.clients, row.applications, row.hosts, row.radius, href)

    return [
        sharing.distribution(counts, partial(_listed, pairs)),
        sharing.ranking([shared(row) for row in most]),
        sharing.against_radius(
            [shared(row) for row in named.values()], _crowds(run, pairs, list(named)) if len(counts) else []
        ),
        sharing.before_and_after(_changes(advice, pairs)),
    ]


def _changes(advice: Run | None, pairs: Sequence[str]) -> list[sharing.Change] | None:
    """Return the steps of the last work list; ``None`` before the first."""
    if advice is None:
        return None
    steps = list(selectors.rows(AdviceStep, advice, pairs).order_by("pair", "place"))
    pages = _pages(steps)
    return [
        sharing.Change(s.pair, s.appid, len(s.clients), s.before, s.after, pages.get((s.pair, s.appid), ""))
        for s in steps
    ]


def _crowds(run: Run, pairs: Sequence[str], named: Sequence[int]) -> list[sharing.Crowd]:
    """Return all AppIDs except the named ones, grouped by number of clients and by radius, each rounded to a power
    of the square root of two.
    """
    with connection.cursor() as cursor:
        # (Excluding some hundred rows would compare each row with all of them; subtracting them afterwards does not.)
        place = (
            # (In floating point: the logarithm of a ``numeric`` takes a hundred times as long.)
            "round(2 * ln(greatest(clients, 1)::float8) / ln(2::float8)) AS many,"
            " round(2 * ln(greatest(radius, 1)::float8) / ln(2::float8)) AS wide"
        )
        cursor.execute(
            f"SELECT many, wide, sum(counted)::bigint FROM ("
            f"SELECT {place}, count(*) AS counted FROM governance_sharing WHERE run_id = %s AND pair = "
            f"ANY(%s) GROUP BY 1, 2"
            f" UNION ALL SELECT {place}, -count(*) FROM governance_sharing WHERE id = ANY(%s) GROUP BY 1, 2) AS known"
            " GROUP BY 1, 2 HAVING sum(counted) > 0 ORDER BY 1, 2",
            [run.pk, list(pairs), list(named)],
        )
        return [
            sharing.Crowd(
                round(2 ** (many / 2)),
                round(2 ** (wide / 2)),
                appids,
                _listed(pairs, _rounded_to(many), _rounded_to(wide)),
            )
            for many, wide, appids in cursor.fetchall()
        ]


def _rounded_to(power: float) -> tuple[int, int]:
    """Return the least and the most number that is rounded to this power of the square root of two.

    >>> _rounded_to(0.0), _rounded_to(1.0), _rounded_to(2.0), _rounded_to(5.0)
    ((0, 1), (2, 1), (2, 2), (5, 6))
    """
    least, beyond = 2 ** (power / 2 - 0.25), 2 ** (power / 2 + 0.25)
    return (ceil(least) if power > 0 else 0, ceil(beyond) - 1)


def _listed(pairs: Sequence[str], clients: tuple[int, int], radius: tuple[int, int] | None = None) -> str:
    """Return the address of the table of the AppIDs with so many clients, and of such a radius."""
    asked = {"pair": pairs[0]} if len(pairs) == 1 else {}
    asked["clients"] = "{}-{}".format(*clients)
    if radius is not None:
        asked["radius"] = "{}-{}".format(*radius)
    return f"{reverse('table', args=['sharing'])}?{urlencode(asked)}#rows"


def _coverage(run: Run, pairs: tuple[str, ...], query: str = "") -> Sequence[Chart]:
    today = _today()
    since = today - timedelta(days=TREND_DAYS - 1)
    days = Posture.objects.filter(pair__in=pairs, day__gte=since, clients__isnull=False).order_by(
        "day", "pair"
    )
    return [
        over_time.coverage(
            [over_time.CoverageDay(day.day, day.pair, day.clients or 0, day.registered or 0) for day in days],
            today,
        ),
        _map_of(run, pairs, query) if query else _coverage_map_of(run, pairs, get_language()),
    ]


@lru_cache(maxsize=REMEMBERED)
def _coverage_map_of(run: Run, pairs: tuple[str, ...], language: str) -> Chart:
    """Return the map of coverage in the active ``language``. Cached: published runs do not change."""
    return _map_of(run, pairs, "")


def _map_of(run: Run, pairs: tuple[str, ...], query: str) -> Chart:
    found = selectors.rows(CoverageCell, run, pairs)
    if query:
        found = found.filter(Q(appid__icontains=query) | Q(topic__icontains=query))
    by_appid = found.order_by().values("pair", "appid")
    worst = by_appid.annotate(missing=Sum(F("clients") - F("registered"))).order_by(
        "-missing", "pair", "appid"
    )
    drawn = [(row["pair"], row["appid"]) for row in worst[: coverage_map.APPIDS]]
    of_drawn = found.filter(appid__in={appid for _pair, appid in drawn}).order_by("pair", "appid", "topic")
    cells = [cell for cell in of_drawn if (cell.pair, cell.appid) in set(drawn)]
    all_of_them = by_appid.annotate(cells_of=Count("pk")).aggregate(appids=Count("*"), cells=Sum("cells_of"))
    pages = _pages(cells)
    return coverage_map.coverage_map(
        [_cell(cell, pages.get((cell.pair, cell.appid), "")) for cell in cells],
        query,
        coverage_map.Rest(all_of_them["appids"], all_of_them["cells"] or 0, partial(_every_cell, found)),
    )


def _every_cell(found: QuerySet[CoverageCell]) -> Iterator[coverage_map.Cell]:
    """Yield the cells in the order of the map's table: those with the worst state first."""
    state = Case(
        When(bypassing__gt=0, then=coverage_map.Known.BYPASSING),
        When(duplicates__gt=0, then=coverage_map.Known.TWICE),
        When(changing__gt=0, then=coverage_map.Known.CHANGING),
        When(registered__lt=F("clients"), then=coverage_map.Known.UNREGISTERED),
        default=coverage_map.Known.REGISTERED,
        output_field=IntegerField(),
    )
    rows = found.order_by(state.desc(), "pair", "appid", "topic")
    return map(_cell, rows.iterator(chunk_size=CHUNK))


def _cell(row: CoverageCell, href: str = "") -> coverage_map.Cell:
    return coverage_map.Cell(
        row.pair,
        row.appid,
        row.topic,
        row.clients,
        row.registered,
        row.changing,
        row.duplicates,
        row.bypassing,
        href,
    )


def _advice(run: Run, pairs: tuple[str, ...]) -> Sequence[Chart]:
    steps = list(selectors.rows(AdviceStep, run, pairs).order_by("pair", "place"))
    if not steps:
        return []
    pages = _pages(steps)
    return [
        work_list.falling_apart(
            [
                work_list.Step(
                    step.pair,
                    step.place,
                    step.appid,
                    len(step.clients),
                    step.before,
                    step.after,
                    step.island,
                    pages.get((step.pair, step.appid), ""),
                )
                for step in steps
            ]
        )
    ]


def _lag(run: Run, pairs: tuple[str, ...]) -> Sequence[Chart]:
    known = list(Pair.objects.filter(name__in=pairs))
    rpos = policy.rpos(known)
    named = tuple(sorted((pair.name, rpos[pair.pk]) for pair in known))
    return _lag_of(run, pairs, named, _today(), get_language())


@lru_cache(maxsize=REMEMBERED)
def _lag_of(
    run: Run, pairs: tuple[str, ...], rpos: tuple[tuple[str, float], ...], today: date, language: str
) -> Sequence[Chart]:
    """Return the chart of the lag by day in the active ``language``. Cached: published runs do not change.

    :param rpos: (pair, RPO in seconds).
    """
    since = today - timedelta(days=TREND_DAYS - 1)
    rows = selectors.rows(LagDay, run, pairs).filter(date__gte=since)
    worst = (
        rows.order_by()
        .values("pair", "mirror")
        .annotate(worst=Max("seconds_p95"))
        .order_by(F("worst").desc(nulls_last=True), "pair", "mirror")
    )
    of_all = [(row["pair"], row["mirror"]) for row in worst]
    chosen = set(of_all[: over_time.DRAWN])
    days = [
        day
        for day in rows.filter(mirror__in={mirror for _pair, mirror in chosen}).order_by(
            "date", "pair", "mirror"
        )
        if (day.pair, day.mirror) in chosen
    ]
    return [
        over_time.lag(
            [
                over_time.MirrorDay(
                    day.date,
                    day.pair,
                    day.mirror,
                    day.samples,
                    day.unknown,
                    day.over_rpo,
                    day.seconds_p50,
                    day.seconds_p95,
                    day.seconds_most,
                )
                for day in days
            ],
            dict(rpos),
            today,
            left_out=len(of_all) - len(chosen),
        )
    ]


_CHARTS: dict[str, Callable[[Run, tuple[str, ...]], Sequence[Chart]]] = {
    "sharing": _sharing,
    "coverage": _coverage,
    "advice": _advice,
    "lag": _lag,
}
