"""The samples of a mirror, in as many steps as a chart can show. The database aggregates them: a day has 43,200."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Max, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils.translation import gettext_lazy as _
from psycopg import sql

from hadash.dashboard.mirrors.incidents import Bucket
from hadash.governance import selectors
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.kafka.values import Partition
from hadash.mirroring.models import LagHour, LagSample, Mirror, PairLag


@dataclass(frozen=True, slots=True)
class Window:
    """How much of the past is shown, and in which steps. ``live``: whether it is updated while it is shown."""

    name: str
    word: Any
    length: timedelta
    step: timedelta
    live: bool = False


WINDOWS: dict[str, Window] = {
    window.name: window
    for window in (
        Window("live", _("10 minutes, live"), timedelta(minutes=10), timedelta(seconds=2), live=True),
        Window("hour", _("1 hour"), timedelta(hours=1), timedelta(seconds=10)),
        Window("day", _("24 hours"), timedelta(days=1), timedelta(minutes=2)),
        Window("month", _("30 days"), timedelta(days=30), timedelta(days=1)),
    )
}


def buckets_of(mirror: Mirror, begin: datetime, end: datetime, step: timedelta) -> list[Bucket]:
    """Return the steps of a mirror's history in order, from the samples that are kept (``HADASH_LAG_KEPT_HOURS``).
    Steps without a sample are left out.
    """
    return many_buckets([mirror.pk], begin, end, step).get(mirror.pk, [])


def many_buckets(
    mirrors: Iterable[int], begin: datetime, end: datetime, step: timedelta
) -> dict[int, list[Bucket]]:
    """Return the same as :func:`buckets_of` for several mirrors, by their primary keys. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mirror_id, date_bin(%s, at, 'epoch'::timestamptz) AS step, max(records), max(seconds), count(*),"
            " count(*) FILTER (WHERE records IS NULL), array_agg(DISTINCT state)"
            " FROM mirroring_lagsample WHERE mirror_id = ANY(%s) AND at >= %s AND at < %s GROUP BY 1, 2 ORDER BY 1, 2",
            [step, list(mirrors), begin, end],  # type: ignore[list-item]
        )
        found: dict[int, list[Bucket]] = {}
        for key, at, records, seconds, samples, unknown, states in cursor.fetchall():
            known = tuple(sorted(state for state in states if state))
            found.setdefault(key, []).append(Bucket(at, records, seconds, samples, unknown, known))
    return found


def pairs_history(
    pairs: Iterable[Pair], begin: datetime, end: datetime, step: timedelta
) -> dict[str, list[Bucket]]:
    """Return the lag of pairs by their names, in the steps of a window that have a sample. One query."""
    names = {pair.pk: pair.name for pair in pairs}
    found: dict[str, list[Bucket]] = {name: [] for name in sorted(names.values())}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pair_id, date_bin(%s, at, 'epoch'::timestamptz) AS step, max(records), max(seconds), count(*),"
            " count(*) FILTER (WHERE unknown > 0), bool_or(down > 0)"
            " FROM mirroring_pairlag WHERE pair_id = ANY(%s) AND at >= %s AND at < %s GROUP BY 1, 2 ORDER BY 1, 2",
            [step, list(names), begin, end],  # type: ignore[list-item]
        )
        for pk, at, records, seconds, samples, unknown, is_down in cursor.fetchall():
            states = (Mirror.State.FAILED.value,) if is_down else ()
            found[names[pk]].append(Bucket(at, records, seconds, samples, unknown, states))
    return found


def pairs_days(pairs: Iterable[Pair], begin: datetime) -> dict[str, list[Bucket]]:
    """Return the same as :func:`pairs_history` by day, from the figures of the job Lag. Three queries."""
    found: dict[str, list[Bucket]] = {name: [] for name in sorted(pair.name for pair in pairs)}
    rows = selectors.rows(LagDay, selectors.published(Run.Job.LAG), list(found)).filter(
        date__gte=begin.date()
    )
    days = rows.order_by("pair", "date").values_list("pair", "date")
    worst = days.annotate(Max("records_most"), Max("seconds_most"), Sum("samples"), Sum("unknown"))
    down = _down_hours(begin).filter(mirror__pair__name__in=found)
    of_days = set(down.values_list("mirror__pair__name", TruncDate("at", tzinfo=UTC)).distinct())
    # (Of the hour that still goes on there are only samples.)
    lately = PairLag.objects.filter(pair__name__in=found, at__gte=begin, down__gt=0).order_by()
    of_days |= set(lately.values_list("pair__name", TruncDate("at", tzinfo=UTC)).distinct())
    for pair, day, records, seconds, samples, unknown in worst:
        states = DID_NOT_RUN if (pair, day) in of_days else ()
        found[pair].append(Bucket(beginning(day), records, seconds, samples, unknown, states))
    return found


#: The states of a step in which a mirror was seen not to run: stopped or failed is not kept for so long.
DID_NOT_RUN = (Mirror.State.FAILED.value,)


def _down_hours(begin: datetime) -> QuerySet[LagHour]:
    """Return the hours since ``begin`` in which a mirror was seen not to run."""
    return LagHour.objects.filter(down__gt=0, at__gte=begin).order_by()


def beginning(day: date) -> datetime:
    """Return when a day (UTC) begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def days_of(mirror: Mirror, begin: datetime) -> list[Bucket]:
    """Return a step per day from the figures of the job Lag, as samples are deleted earlier. Each has the day's
    largest lag, as steps have in every window.
    """
    run = selectors.published(Run.Job.LAG)
    rows = selectors.rows(LagDay, run, [mirror.pair.name]).filter(mirror=mirror.name, date__gte=begin.date())
    down = _down_hours(begin).filter(mirror=mirror)
    lately = LagSample.objects.filter(mirror=mirror, at__gte=begin, state__in=Mirror.DOWN).order_by()
    of_day = TruncDate("at", tzinfo=UTC)
    of_days = {day for found in (down, lately) for day in found.values_list(of_day, flat=True).distinct()}
    return [
        Bucket(
            beginning(row.date),
            row.records_most,
            row.seconds_most,
            row.samples,
            row.unknown,
            DID_NOT_RUN if row.date in of_days else (),
        )
        for row in rows.order_by("date")
    ]


#: Columns of the chart of partitions over time: each is wide enough to point at.
COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Moment:
    """How far each partition was behind in one sample: that of a step in which the mirror was furthest behind.
    ``records`` has only the partitions whose lag was known, and ``seconds`` the same; ``None``: not known.
    """

    at: datetime
    records: Mapping[Partition, int]
    seconds: Mapping[Partition, float | None]


def step_of(window: Window) -> timedelta:
    """Return the time of one column.

    >>> step_of(WINDOWS["live"]), step_of(WINDOWS["day"]), step_of(WINDOWS["month"])
    (datetime.timedelta(seconds=10), datetime.timedelta(seconds=1440), datetime.timedelta(seconds=43200))
    """
    return window.length / COLUMNS


def last_whole(step: timedelta, now: datetime) -> datetime:
    """Return the end of the last step that is over."""
    seconds = step.total_seconds()
    return datetime.fromtimestamp(now.timestamp() // seconds * seconds, UTC)


def moments_of(
    mirror: Mirror,
    begin: datetime,
    end: datetime,
    step: timedelta,
    kept: type[LagSample | LagHour] = LagSample,
) -> list[Moment]:
    """Return the moments in order; steps without a sample are left out. One query, which reads the partitions only of
    the chosen samples.

    :param kept: the samples, or the worst one of each hour.
    """
    query = sql.SQL(
        "SELECT step, sample.seconds, sample.partitions::text, sample.partition_seconds::text FROM ("
        "SELECT DISTINCT ON (step) id, date_bin(%s, at, 'epoch'::timestamptz) AS step"
        " FROM {kept} WHERE mirror_id = %s AND at >= %s AND at < %s"
        " ORDER BY step, records DESC NULLS LAST) AS chosen"
        " JOIN {kept} AS sample USING (id) ORDER BY step"
    ).format(kept=sql.Identifier(kept._meta.db_table))
    with connection.cursor() as cursor:
        cursor.execute(query, [step, mirror.pk, begin, end])  # type: ignore[list-item]
        return [
            _moment(at, seconds, json.loads(records), json.loads(late))
            for at, seconds, records, late in cursor.fetchall()
        ]


def _moment(
    at: datetime, seconds: float | None, records: Mapping[str, int], late: Mapping[str, float | None]
) -> Moment:
    """:param seconds: the lag of the whole mirror. :param late: that of each partition that is behind."""
    # (Only partitions that are behind are noted. Where none is, and yet the mirror was behind, they are not known.)
    not_noted = 0.0 if late or seconds == 0 else None
    by_partition = named(records)
    if not late:
        return Moment(at, by_partition, dict.fromkeys(by_partition, not_noted))
    known = named(late)
    return Moment(
        at, by_partition, {partition: known.get(partition, not_noted) for partition in by_partition}
    )


Lag = TypeVar("Lag", int, float | None)


def named(partitions: Mapping[str, Lag]) -> dict[Partition, Lag]:
    """Return the partitions' lags from the form in which samples keep them.

    >>> named({"shop-orders-3": 5})
    {Partition(topic='shop-orders', partition=3): 5}
    """
    return {_partition(name): records for name, records in partitions.items()}


@lru_cache(maxsize=20_000)
def _partition(name: str) -> Partition:
    """Return a partition from its name in samples. (Each sample of a mirror names the same ones.)"""
    topic, _dash, partition = name.rpartition("-")
    return Partition(topic, int(partition))
