"""The partitions that a sticky assignor has moved so far, so that it does not move two partitions of a Topic
in opposite directions. Pure.
"""

from __future__ import annotations

from hadash.assignment.java_order import JavaHashSet, partition_hash
from hadash.assignment.values import Partition

#: The source and target member of a move.
Way = tuple[str, str]


class Movements:
    """Each moved partition's way, from its holder at the beginning to its holder now."""

    def __init__(self) -> None:
        self._ways: dict[Partition, Way] = {}
        self._moved: dict[tuple[str, Way], JavaHashSet[Partition]] = {}

    def record(self, partition: Partition, source: str, target: str) -> None:
        """Record that a partition moved. One that is back at its first holder counts as not moved."""
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
        """Return the partition to move to ``target``: instead of ``partition``, one of the same Topic that
        came the opposite way, if there is one.
        """
        way = self._ways.get(partition)
        back = (target, source if way is None else way[0])
        return next(iter(self._moved.get((partition.topic, back), ())), partition)

    def state(self) -> frozenset[tuple[Partition, Way]]:
        """Return all ways, for comparison."""
        return frozenset(self._ways.items())

    def _forget(self, partition: Partition, way: Way) -> None:
        moved = self._moved[partition.topic, way]
        moved.discard(partition)
        if not moved:
            del self._moved[partition.topic, way]
