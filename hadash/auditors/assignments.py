"""What the pool's member tells an auditor to read, and what the auditor says that it reads: one entry for each Topic.

The member's threads and the auditor's meet here, and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from hadash.coordinator.member.topic_reader import Reading
from hadash.kafka.values import Partition


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be read of a Topic.

    :param token: the assignment that says so. :param is_ending: nothing of it, for good.
    """

    token: int = -1
    partitions: frozenset[int] = frozenset()
    is_ending: bool = False


@dataclass(slots=True)
class _Topic:
    asked: Asked = field(default_factory=Asked)
    reading: Reading = field(default_factory=Reading)


def token_of(asked: Mapping[str, Asked], partition: Partition) -> int | None:
    """The assignment by which a partition is to be read; ``None`` if it is not.

    >>> token_of({"orders": Asked(7, frozenset({0}))}, Partition("orders", 0))
    7
    """
    found = asked.get(partition.topic)
    if found is None or found.is_ending or partition.partition not in found.partitions:
        return None
    return found.token


class Assignments:
    """What is asked of an auditor, and what it says."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Told when a Topic has ended.
        self._ended = threading.Condition(self._lock)
        self._topics: dict[str, _Topic] = {}

    # -- called by the pool's member -------------------------------------------------------------------------------

    def topic(self, name: str) -> TopicAuditor:
        """Begin a Topic, of which nothing is asked yet."""
        with self._lock:
            self._topics[name] = _Topic()
        return TopicAuditor(name, self)

    def assign(self, topic: str, token: int, partitions: frozenset[int]) -> None:
        with self._lock:
            # (A Topic that was removed and is there again keeps its auditor, also when that was about to end.)
            self._topics.setdefault(topic, _Topic()).asked = Asked(token, partitions)

    def end(self, topic: str) -> None:
        with self._lock:
            if (found := self._topics.get(topic)) is not None:
                found.asked = Asked(found.asked.token, found.asked.partitions, is_ending=True)

    def reading(self, topic: str) -> Reading:
        with self._lock:
            found = self._topics.get(topic)
            return found.reading if found is not None else Reading()

    def await_end(self, topic: str, seconds: float) -> bool:
        """Whether nothing of a Topic is read any more; waits for it at most so long."""
        with self._ended:
            return self._ended.wait_for(lambda: topic not in self._topics, seconds)

    # -- called by the auditor -------------------------------------------------------------------------------------

    def asked(self) -> dict[str, Asked]:
        """Topic → what is to be read of it now."""
        with self._lock:
            return {name: each.asked for name, each in self._topics.items()}

    def say(self, asked: Mapping[str, Asked], readings: Mapping[str, Reading]) -> None:
        """Say what is read, now that ``asked`` has been put into effect. Topics that were to end, and of which nothing
        is read, are gone.

        :param readings: by Topic; one that is not named is not read.
        """
        with self._lock:
            for name, each in asked.items():
                if name not in self._topics:
                    continue
                reading = readings.get(name, Reading(each.token))
                if not each.is_ending:
                    self._topics[name].reading = reading
                elif not reading.running and self._topics[name].asked.is_ending:
                    del self._topics[name]
                    self._ended.notify_all()


class TopicAuditor:
    """The partitions of one Topic, for the pool's member: a :class:`hadash.coordinator.member.topic_reader.Reader`."""

    def __init__(self, topic: str, assignments: Assignments) -> None:
        self.topic = topic
        self._assignments = assignments

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        self._assignments.assign(self.topic, token, partitions)

    def reading(self) -> Reading:
        return self._assignments.reading(self.topic)

    def stop(self) -> None:
        self._assignments.end(self.topic)

    def is_closed(self, seconds: float = 0.0) -> bool:
        return self._assignments.await_end(self.topic, seconds)
