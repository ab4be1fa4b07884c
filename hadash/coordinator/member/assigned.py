"""What a member is to read, from what ZooKeeper holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hadash.coordinator.member.topic_reader import Reading
from hadash.coordinator.pool_view import Assigned, PoolView


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a member is to read of a Topic.

    :param token: the assignment. :param version: of its document.
    :param consumer: settings of its Kafka consumer.
    """

    token: int
    version: int
    consumer: Mapping[str, str | int | float | bool]
    partitions: frozenset[int]

    def is_in_effect(self, reading: Reading) -> bool:
        """Whether this assignment is what a reader goes by, and it reads nothing else."""
        return reading.token == self.token and reading.running.keys() <= self.partitions


def wanted(
    view: PoolView, member: str, before: Mapping[str, Wanted] | None = None, *, has_name: bool
) -> dict[str, Wanted]:
    """Return Topic → what a member is to read of it: nothing while it is isolated, the pool is stopped, or another
    process has its name.

    :param before: what it was to read: a Topic whose document cannot be read goes on as it is.
    """
    reads = has_name and member not in view.isolated and not view.settings.is_stopped
    kept = {topic: each for topic, each in (before or {}).items() if reads and topic in view.unreadable}
    return kept | {topic: _wanted(assigned, member, reads) for topic, assigned in view.topics.items()}


def _wanted(assigned: Assigned, member: str, reads: bool) -> Wanted:
    partitions = assigned.document.of(member) if reads else frozenset()
    return Wanted(assigned.token, assigned.version, assigned.document.consumer, partitions)
