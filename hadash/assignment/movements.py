"""Which partitions a sticky assignor has moved so far, so that it does not move two of a Topic past each
other. Pure.
"""

from __future__ import annotations

from hadash.assignment.java_order import JavaHashSet, partition_hash
from hadash.assignment.values import Partition

#: From whom, to whom.
Way = tuple[str, str]


class Movements:
    """Each moved partition's way, from whom it was with at the beginning to whom it is with now."""

    def __init__(self) -> None:
        self._ways: dict[Partition, Way] = {}
        self._moved: dict[tuple[str, Way], JavaHashSet[Partition]] = {}

    def record(self, partition: Partition, source: str, target: str) -> None:
        """A partition has moved. When it is back where it was at the beginning, it has not."""
        way = self._ways.pop(partition, None)
        if way is not None:
            self._forget(partition, way)
            source = way[0]
        if source != target:
            self._ways[partition] = (source, target)
            self._moved.setdefault((partition.topic, (source, target)), JavaHashSet(partition_hash)).add(
                partition
            )

    def instead_of(self, partition: Partition, source: str, target: str) -> Partition:
        """The partition to move to ``target``: one of the same Topic that came the opposite way, if there is
        one, goes back instead.
        """
        way = self._ways.get(partition)
        back = (target, source if way is None else way[0])
        return next(iter(self._moved.get((partition.topic, back), ())), partition)

    def state(self) -> frozenset[tuple[Partition, Way]]:
        """All ways, to compare."""
        return frozenset(self._ways.items())

    def _forget(self, partition: Partition, way: Way) -> None:
        moved = self._moved[partition.topic, way]
        moved.discard(partition)
        if not moved:
            del self._moved[partition.topic, way]
