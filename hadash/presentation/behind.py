"""Which Topics of a switch its mirrors still have to copy: what a drain waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hadash.mirroring.models import LagSample, Mirror
from hadash.presentation import badges
from hadash.switching.models.switches import Switch

#: Most Topics that are listed, those furthest behind.
SHOWN = 12


@dataclass(frozen=True, slots=True)
class TopicBehind:
    """A Topic that a mirror has not copied to the end. ``records`` and ``seconds`` (of the partition that is furthest
    behind) are ``None`` when they are not known.
    """

    topic: str
    mirror: str
    records: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Behind:
    """The Topics of a plan: ``rows`` are the furthest behind, those that are not known first."""

    rows: tuple[TopicBehind, ...] = ()
    #: How many are behind, or not known, beyond ``rows``.
    left_out: int = 0
    #: How many are copied to the end.
    whole: int = 0


def of_switch(switch: Switch) -> Behind:
    """Return how far the Topics of a switch are, by the newest sample of each of its mirrors. Two queries."""
    plan = switch.the_plan()
    mirrors = list(Mirror.objects.filter(pair=switch.pair_id, name__in=plan.mirrors))
    samples = LagSample.objects.filter(mirror__in=mirrors, at__gte=badges.mirrors_seen_since())
    newest = {sample.mirror_id: sample for sample in samples.order_by("at")}
    topics = set(plan.topics)
    return together(
        row
        for mirror in mirrors
        for row in topics_of(mirror, sorted(topics.intersection(mirror.topics)), newest.get(mirror.pk))
    )


def topics_of(mirror: Mirror, topics: Iterable[str], sample: LagSample | None) -> list[TopicBehind]:
    """Return how far Topics of one mirror are.

    :param sample: its newest sample: partition → records, of the partitions that are known. ``None`` when there is
        none of now: then nothing is known.
    """
    known = sample.partitions if sample is not None else {}
    records = _by_topic(
        {f"{topic}-{partition}": None for topic, partition, _end in mirror.known_ends} | known, sum
    )
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
