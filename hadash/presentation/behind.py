"""Which Topics of a switch its mirrors still have to copy: what a drain waits for."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from threading import Lock
from typing import Any

from django.utils import timezone

from hadash.mirroring.models import LagSample, Mirror
from hadash.presentation import badges
from hadash.switching.models.switches import Switch

#: Most Topics that are listed, those furthest behind.
SHOWN = 12

#: The time that a Topic's trend shows: most drains are over by then.
TREND = timedelta(minutes=2)

#: Most mirrors whose samples a process keeps for trends: more than switches at once have.
REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class TopicBehind:
    """A Topic that a mirror has not copied to the end. ``records`` and ``seconds`` (of the partition that is furthest
    behind) are ``None`` when they are not known. ``trend``: its records in the samples of the last :data:`TREND`.
    """

    topic: str
    mirror: str
    records: int | None
    seconds: float | None
    trend: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Behind:
    """The Topics of a plan: ``rows`` are the furthest behind, those that are not known first."""

    rows: tuple[TopicBehind, ...] = ()
    #: How many are behind, or not known, beyond ``rows``.
    left_out: int = 0
    #: How many are copied to the end.
    whole: int = 0


def of_switch(switch: Switch) -> Behind:
    """Return how far the Topics of a switch are, the furthest behind first. Two queries."""
    return together(every_topic(switch))


def every_topic(switch: Switch) -> list[TopicBehind]:
    """Return how far each Topic of a switch is, by the newest sample of its mirror. Two queries."""
    plan = switch.the_plan()
    mirrors = list(Mirror.objects.filter(pair=switch.pair_id, name__in=plan.mirrors))
    recent = _RECENT.of(mirrors)
    topics, since = set(plan.topics), badges.mirrors_seen_since()
    found: list[TopicBehind] = []
    for mirror in mirrors:
        known = recent[mirror.pk]
        newest = known.newest if known.newest is not None and known.newest.at >= since else None
        rows = topics_of(mirror, sorted(topics.intersection(mirror.topics)), newest)
        found += [replace(row, trend=known.trend(row.topic)) for row in rows]
    return found


@dataclass(slots=True)
class _Recent:
    """The samples of a mirror within :data:`TREND`. ``behind``: of each, when it was taken, and Topic → its records,
    without those that are copied to the end.
    """

    newest: LagSample | None = None
    behind: deque[tuple[datetime, Mapping[str, int | None]]] = field(default_factory=deque)

    def add(self, mirror: Mirror, sample: LagSample) -> None:
        records = _records_of(mirror, sample)
        self.newest = sample
        self.behind.append((sample.at, {topic: each for topic, each in records.items() if each != 0}))
        while self.behind[0][0] < sample.at - TREND:
            self.behind.popleft()

    def trend(self, topic: str) -> tuple[int | None, ...]:
        return tuple(records.get(topic, 0) for _at, records in self.behind)


class _RecentOfMirrors:
    """Reads each sample once in a process, however many people watch a switch."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[int, _Recent] = OrderedDict()

    def of(self, mirrors: Sequence[Mirror]) -> dict[int, _Recent]:
        """Return the samples of mirrors by their keys. One query."""
        begin = timezone.now() - TREND
        with self._lock:
            for mirror in mirrors:
                recent = self._known.setdefault(mirror.pk, _Recent())
                self._known.move_to_end(mirror.pk)
                if recent.newest is not None and recent.newest.at < begin:
                    recent.newest = None
                    recent.behind.clear()
            own = {mirror.pk: mirror for mirror in mirrors}
            seen = {pk: newest.at for pk in own if (newest := self._known[pk].newest) is not None}
            since = min(seen.values()) if len(seen) == len(own) and seen else begin
            for sample in LagSample.objects.filter(mirror__in=own, at__gt=since).order_by("at"):
                if sample.at > seen.get(sample.mirror_id, begin):
                    self._known[sample.mirror_id].add(own[sample.mirror_id], sample)
            while len(self._known) > max(REMEMBERED, len(own)):
                self._known.popitem(last=False)
            return {pk: replace(self._known[pk], behind=deque(self._known[pk].behind)) for pk in own}


_RECENT = _RecentOfMirrors()


def _records_of(mirror: Mirror, sample: LagSample) -> dict[str, int | None]:
    """Return Topic → how many records it is behind in a sample; ``None`` where a partition is not known."""
    expected = {f"{topic}-{partition}": None for topic, partition, _end in mirror.known_ends}
    return _by_topic(expected | sample.partitions, sum)


#: The columns of the CSV, which has every Topic.
COLUMNS = ("topic", "mirror", "records", "seconds")


def csv_rows(switch: Switch) -> list[tuple[Any, ...]]:
    """Return a row of :data:`COLUMNS` for each Topic of a switch."""
    return sorted((attrgetter(*COLUMNS)(row) for row in every_topic(switch)), key=lambda row: row[:2])


def topics_of(mirror: Mirror, topics: Iterable[str], sample: LagSample | None) -> list[TopicBehind]:
    """Return how far Topics of one mirror are.

    :param sample: its newest sample: partition → records, of the partitions that are known. ``None`` when there is
        none of now: then nothing is known.
    """
    records = _records_of(mirror, sample if sample is not None else LagSample(partitions={}))
    seconds = _by_topic(mirror.partition_seconds, max)  # (only those that are behind are noted)
    return [
        TopicBehind(
            topic, mirror.name, records.get(topic), 0.0 if records.get(topic) == 0 else seconds.get(topic)
        )
        for topic in topics
    ]


def together(rows: Iterable[TopicBehind]) -> Behind:
    """Return all Topics with the furthest behind first.

    >>> rows = [TopicBehind("a", "m", 0, 0.0), TopicBehind("b", "m", 7, 1.5), TopicBehind("c", "m", None, None)]
    >>> [row.topic for row in together(rows).rows], together(rows).whole
    (['c', 'b'], 1)
    """
    found = list(rows)
    late = [row for row in found if row.records is None or row.records > 0]
    late.sort(key=lambda row: (row.records is not None, -(row.records or 0), row.topic))
    return Behind(tuple(late[:SHOWN]), len(late[SHOWN:]), len(found) - len(late))


def _by_topic(partitions: dict[str, Any], combine: Any) -> dict[str, Any]:
    """Return the values of a Topic's partitions as one; ``None`` if one of them is not known.

    :param partitions: the name of a partition (``orders-3``) → its value.
    """
    found: dict[str, list[Any]] = {}
    for name, value in partitions.items():
        found.setdefault(name.rpartition("-")[0], []).append(value)
    return {topic: None if None in values else combine(values) for topic, values in found.items()}
