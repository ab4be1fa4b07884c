"""What is to be compared of a Topic: the ranges of both sides, and a place in each at which they correspond."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from hadash.auditors.clusters import PairClusters
from hadash.auditors.ledger import Known
from hadash.auditors.models import AuditedPartition
from hadash.auditors.one_audit import place_of
from hadash.auditors.pair_auditor import COMPACTED, NO_POINT, NOT_THERE, TURNING
from hadash.auditors.settings import AuditorSettings
from hadash.inventory.models import Cluster
from hadash.kafka.java_client import properties
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client, offset_syncs_of
from hadash.sentences import Explained, joined, say
from spark.orders import Order, Range

#: Differences that are told one by one, over all partitions; of each partition at least so many.
NOTED, LEAST_NOTED = 10_000, 20


class CannotCompare(Explained):
    """A Topic that cannot be compared now. Its sentence says why."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A Topic that can be compared. ``read_at``: when the ends of both sides were read."""

    order: Order
    source: Cluster
    read_at: datetime

    @property
    def offsets(self) -> int:
        """How many offsets of the source there are to compare."""
        return sum(each.source[1] - each.source[0] for each in self.order.ranges)


def prepare(mirror: Mirror, topic: str) -> Prepared:
    """Read what both sides hold of a Topic.

    :raises CannotCompare: it is compacted, its mirror is being turned round, or it is not known where both sides
        correspond.
    :raises KafkaError: a cluster does not answer.
    """
    if mirror.turning or mirror.rebuilding:
        raise CannotCompare(TURNING)
    source, target = mirror.source, mirror.target
    clusters = PairClusters(mirror.pair, AuditorSettings())
    if clusters.compacted([topic]):
        raise CannotCompare(COMPACTED)
    info = cluster_client(source).topics([topic]).get(topic)
    partitions = [Partition(topic, number) for number in range(len(info.leaders))] if info is not None else []
    held = clusters.held(dict.fromkeys(partitions, source.pk))
    if missing := [each for each in partitions if each not in held]:
        raise CannotCompare(joined(say("%(partition)s:", partition=missing[0]), NOT_THERE))
    if not partitions:
        raise CannotCompare(NOT_THERE)
    known = _known(mirror, topic)
    syncs = offset_syncs_of(mirror)
    ranges = []
    for each in partitions:
        here = held[each]
        place = place_of(known.get(each.partition), syncs.get(each), here)
        if place is None:
            raise CannotCompare(joined(say("%(partition)s:", partition=each), NO_POINT))
        ranges.append(
            Range(
                each.partition,
                (here.source_start, here.source_end),
                (here.target_start, here.target_end),
                (place.source, place.target),
            )
        )
    order = Order(
        topic,
        properties(source.access),
        properties(target.access),
        ranges,
        max(LEAST_NOTED, NOTED // len(ranges)),
    )
    return Prepared(order, source, timezone.now())


def _known(mirror: Mirror, topic: str) -> dict[int, Known]:
    """How far auditors have compared each partition, by the mirror's direction of now."""
    rows = AuditedPartition.objects.filter(pair=mirror.pair_id, topic=topic, begun=True)
    return {
        row.partition: Known(row.source_next, row.target_next)
        if row.source_id == mirror.source_id
        else Known(row.target_next, row.source_next)
        for row in rows
    }
