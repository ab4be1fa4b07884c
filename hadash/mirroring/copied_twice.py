"""The records that mirrors are known to have copied twice (``resync.after_copies`` finds them)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror, MirrorOffsetSync


@dataclass(frozen=True, slots=True)
class CopiedTwice:
    """Records that one cluster holds twice, because the Connect worker of a mirror to it died."""

    cluster: str
    partition: Partition
    records: int


def copied_twice(mirrors: Iterable[Mirror]) -> dict[int, list[CopiedTwice]]:
    """Return, by the id of each mirror, the records that it has copied twice: to its target, and to its source
    before it was turned round.
    """
    clusters = {mirror.pk: (mirror.source.name, mirror.target.name) for mirror in mirrors}
    found: dict[int, list[CopiedTwice]] = {pk: [] for pk in clusters}
    holding = MirrorOffsetSync.objects.filter(
        Q(source_repeated__gt=0) | Q(target_repeated__gt=0), mirror__in=clusters
    )
    for a in holding.order_by("topic", "partition"):
        for cluster, records in zip(
            clusters[a.mirror_id], (a.source_repeated, a.target_repeated), strict=True
        ):
            if records:
                found[a.mirror_id].append(CopiedTwice(cluster, Partition(a.topic, a.partition), records))
    return found
