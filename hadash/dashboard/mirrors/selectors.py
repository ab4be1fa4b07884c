"""Data for the pages of mirrors, from the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.accounts.roles import on_pairs
from hadash.dashboard.charts import mirror_lag, mirror_partitions, pairs_lag
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.charts.mirror_lag import PartitionLag, Switched
from hadash.dashboard.charts.pairs_lag import PairLagShown
from hadash.dashboard.mirrors.history import (
    Window,
    buckets_of,
    days_of,
    last_whole,
    many_buckets,
    moments_of,
    named,
    pairs_days,
    pairs_history,
    step_of,
)
from hadash.dashboard.mirrors.incidents import Bucket, Incident, incidents
from hadash.inventory.models import Pair
from hadash.inventory.selectors import without_access
from hadash.kafka.values import Partition
from hadash.mirroring.models import LagHour, LagSample, Mirror
from hadash.mirroring.samples import HOUR
from hadash.presentation import badges
from hadash.presentation.badges import State
from hadash.switching import policy
from hadash.switching.models.switches import Switch

#: The time and the step of the sparkline beside a mirror of the list.
SPARK_LENGTH, SPARK_STEP = timedelta(hours=1), timedelta(minutes=1)

#: Most switches that are marked in a chart.
MOST_SWITCHES = 20


@dataclass(frozen=True, slots=True)
class MirrorRow:
    """One mirror of the list.

    :param rpo: the RPO of its pair, in seconds.
    :param history: (when, records behind) over the last hour.
    :param tasks: (running tasks, all tasks).
    :param restarts: the sum of its tasks' restarts.
    """

    mirror: Mirror
    state: State
    rpo: float
    history: list[tuple[datetime, int | None]]
    tasks: tuple[int, int]
    restarts: int

    @property
    def is_late(self) -> bool:
        return self.mirror.lag_seconds is not None and self.mirror.lag_seconds > self.rpo

    @property
    def is_known(self) -> bool:
        """Whether its lag is of now."""
        return self.state.is_fine


def mirrors_for(user: Any) -> Any:
    """Return the mirrors of the pairs that a user may see, by pair and name."""
    found = Mirror.objects.filter(on_pairs(user))
    found = found.select_related("source", "pair__first", "pair__second").order_by("pair__name", "name")
    return without_access(found, "source", "pair__first", "pair__second")


def the_mirror(user: Any, pair: str, name: str) -> Mirror:
    """Return the mirror of this name.

    :raises Http404: there is none, or ``user`` may not see its pair.
    """
    found: Mirror | None = mirrors_for(user).filter(pair__name=pair, name=name).first()
    if found is None:
        raise Http404(_("There is no mirror %(name)s.") % {"name": name})
    return found


def rows_of(mirrors: Iterable[Mirror]) -> list[MirrorRow]:
    """Return mirrors as rows of the list. Three queries for any number of mirrors."""
    shown = list(mirrors)
    rpos = policy.rpos({mirror.pair for mirror in shown})
    now = timezone.now()
    begin = now - SPARK_LENGTH
    history = many_buckets([mirror.pk for mirror in shown], begin, now, SPARK_STEP)
    found = []
    for mirror in shown:
        running, tasks, restarts = tasks_of(mirror)
        line = _line(history.get(mirror.pk, []), begin, now)
        found.append(
            MirrorRow(
                mirror, badges.of_mirror(mirror), rpos[mirror.pair_id], line, (running, tasks), restarts
            )
        )
    return found


def tasks_of(mirror: Mirror) -> tuple[int, int, int]:
    """Return how many of its connector's tasks run, how many there are, and how often they have restarted."""
    running = sum(task["state"] == "RUNNING" for task in mirror.tasks)
    return running, len(mirror.tasks), sum(task["restarts"] for task in mirror.tasks)


def _line(buckets: Sequence[Bucket], begin: datetime, end: datetime) -> list[tuple[datetime, int | None]]:
    """Return a value for each step; ``None`` for steps without a sample."""
    known = {bucket.at: bucket.records for bucket in buckets}
    first = begin.replace(second=0, microsecond=0) + SPARK_STEP
    steps = int((end - first) / SPARK_STEP) + 1
    return [(at, known.get(at)) for at in (first + number * SPARK_STEP for number in range(steps))]


#: The time between two runs of the job Lag: a day that has just begun is not counted yet, which is no silence.
DAYS_COUNTED_EVERY = timedelta(hours=1)


@dataclass(frozen=True)
class History:
    """What is known of a mirror within a window of time.

    :param span: the time that is shown. :param step: the length of a bucket. :param rpo: seconds.
    :param switched: the switches that have used it.
    """

    span: tuple[datetime, datetime]
    step: timedelta
    rpo: float
    buckets: list[Bucket]
    incidents: list[Incident]
    switched: list[Switched]

    @property
    def begins_late(self) -> bool:
        """Whether nothing is known of the beginning of the window."""
        return mirror_lag.begins_late(self.buckets, self.step, self.span[0])

    @cached_property
    def chart(self) -> Chart:
        return mirror_lag.lag(self.buckets, self.step, self.span, self.rpo, self.incidents, self.switched)


def history_of(mirror: Mirror, window: Window, now: datetime) -> History:
    """Return what is known of a mirror within a window.

    :param now: the server's time, as that of the samples.
    """
    begin = now - window.length
    rpo = policy.rpos([mirror.pair])[mirror.pair_id]
    by_day = _is_by_day(window)
    buckets = days_of(mirror, begin) if by_day else buckets_of(mirror, begin, now, window.step)
    found = incidents(buckets, window.step, rpo, now, _usually_every(window))
    return History((begin, now), window.step, rpo, buckets, found, _switched(mirror, begin, now))


def _is_by_day(window: Window) -> bool:
    """Whether a window is longer than samples are kept, so that it has a figure a day."""
    return window.length > timedelta(hours=settings.LAG_KEPT_HOURS)


def _usually_every(window: Window) -> timedelta:
    """Return the usual time between two figures of a window."""
    return DAYS_COUNTED_EVERY if _is_by_day(window) else timedelta(seconds=settings.LAG_SAMPLE_SECONDS)


def _switched(mirror: Mirror, begin: datetime, end: datetime) -> list[Switched]:
    """Return the switches that used the mirror within a time, the newest first. (A plan names its mirrors.)"""
    during = Switch.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=begin), pair=mirror.pair_id, started_at__lt=end
    )
    used = during.filter(plan__mirrors__contains=[mirror.name]).select_related("target")
    return [
        Switched(switch.started_at, switch.ended_at, switch.target.name, reverse("switch", args=[switch.key]))
        for switch in used.order_by("-started_at")[:MOST_SWITCHES]
        if switch.started_at is not None
    ]


def partitions_of(mirror: Mirror) -> list[PartitionLag]:
    """Return the partitions in the newest sample: those with an unknown lag first, then those furthest behind."""
    sample = LagSample.objects.filter(mirror=mirror).order_by("-at").first()
    ends = {Partition(topic, partition): end for topic, partition, end in mirror.known_ends}
    behind = named(sample.partitions) if sample is not None else {}
    late = named(mirror.partition_seconds)
    # (Only partitions that are behind are noted.)
    none_noted = None if mirror.lag_seconds is None else 0.0
    rows = [
        PartitionLag(p.topic, p.partition, behind.get(p), ends.get(p), late.get(p, none_noted))
        for p in sorted({*ends, *behind})
    ]
    return sorted(
        rows, key=lambda row: (row.records is not None, -(row.records or 0), row.topic, row.partition)
    )


def over_time_of(mirror: Mirror, window: Window, now: datetime, topic: str = "") -> list[Chart]:
    """Return the charts of the mirror's Topics and partitions within a window, or of one Topic's, up to the last
    complete step; for a window that is longer than samples are kept, up to the last complete hour. They mark the
    mirror's incidents and switches.
    """
    step = step_of(window)
    if _is_by_day(window):
        end = last_whole(HOUR, now)
        moments = moments_of(mirror, end - window.length, end, step, LagHour)
    else:
        end = last_whole(step, now)
        moments = moments_of(mirror, end - window.length, end, step)
    span = (end - window.length, end)
    known = history_of(mirror, window, end)
    marks = mirror_lag.bands_of(known.incidents, span, known.switched)
    return [
        mirror_partitions.topics_over_time(moments, step, span, topic, marks),
        mirror_partitions.topics_seconds_over_time(moments, step, span, known.rpo, topic, marks),
        mirror_partitions.over_time(moments, step, span, topic, marks),
    ]


def lag_of_pairs(pairs: Sequence[Pair], window: Window, now: datetime) -> Chart:
    """Return the chart of the worst mirror of each pair within a window. Two queries."""
    begin = now - window.length
    found = pairs_days(pairs, begin) if _is_by_day(window) else pairs_history(pairs, begin, now, window.step)
    rpos = policy.rpos(pairs)
    shown = {
        pair.name: PairLagShown(
            buckets := found[pair.name],
            rpo := rpos[pair.pk],
            incidents(buckets, window.step, rpo, now, _usually_every(window)),
        )
        for pair in sorted(pairs, key=lambda each: each.name)
    }
    return pairs_lag.of_pairs(shown, (begin, now), window.step)


@dataclass(frozen=True, slots=True)
class TopicLag:
    """The lag of one Topic; ``records`` is ``None`` when that of any partition is unknown."""

    topic: str
    partitions: int
    behind: int
    records: int | None
    #: That of the partition that is furthest behind; ``None`` when that of any partition is unknown.
    seconds: float | None


def topics_of(rows: Iterable[PartitionLag]) -> list[TopicLag]:
    """Return the lag by Topic.
    >>> topics_of([PartitionLag("orders", 0, 5, 10, 1.5), PartitionLag("orders", 1, None, 10, 0.0)])
    [TopicLag(topic='orders', partitions=2, behind=1, records=None, seconds=1.5)]
    """
    by_topic: dict[str, list[PartitionLag]] = defaultdict(list)
    for row in rows:
        by_topic[row.topic].append(row)
    found = []
    for topic, own in sorted(by_topic.items()):
        known = [row.records for row in own if row.records is not None]
        behind = sum(records > 0 for records in known)
        late = [row.seconds for row in own if row.seconds is not None]
        found.append(
            TopicLag(
                topic,
                len(own),
                behind,
                sum(known) if len(known) == len(own) else None,
                max(late, default=0.0) if len(late) == len(own) else None,
            )
        )
    return found


def pairs_of(rows: Iterable[MirrorRow]) -> list[Pair]:
    """Return the pairs of the rows, each once, in order."""
    return list({row.mirror.pair_id: row.mirror.pair for row in rows}.values())
