"""The Topics that each cluster is known to have. A broker that says they are gone is not believed at once.

A newly elected controller tells brokers of each other first, and of their partitions later. A broker that starts in
between names all brokers in METADATA, but says of every Topic that it does not exist. Clients believe that at once:
librdkafka drops what it had queued and refuses further records. If the partitions have no leader for now instead,
clients wait, and ask again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Set

from hadash.bindings.model import Placement
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.virtual import metadata
from hadash.gateway.virtual.metadata import Answer, Sliced, Topic

log = logging.getLogger(__name__)

#: Seconds during which answers that a Topic is gone, or has lost partitions, are not believed. A new controller reads
#: all of its cluster's partitions before it tells brokers of them, which takes seconds, in a large cluster most of a
#: minute. Clients of a Topic that was really deleted learn of it this much later.
DISBELIEF_SECONDS = 60.0

#: The most Topics of one cluster that are remembered; above it the one learnt first is dropped. About 10 MB.
MAX_TOPICS = 50_000

#: Topics that are checked in one slice: about 0.1 ms.
_SLICE = 256

_UNKNOWN = int(ErrorCode.unknown_topic_or_partition)


class KnownTopics:
    """The Topics of all clusters with their partitions, learnt from METADATA and from placements."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: The number of partitions, by cluster and Topic.
        self._partitions: dict[str, dict[str, int]] = {}
        #: Since when brokers of a cluster say less about a Topic than is known, by cluster and Topic.
        self._doubted: dict[tuple[str, str], float] = {}

    def placed(self, placements: Iterable[Placement]) -> None:
        """Take over the number of partitions that a switch has found on its target, even if they once were more."""
        for placement in placements:
            for name, leaders in placement.leaders.items():
                self._learn(placement.cluster, name, len(leaders))

    def check(self, cluster: str, answer: Answer, used: Set[str] = frozenset()) -> Sliced[None]:
        """Correct ``answer``, from a broker of ``cluster``, by what is known of its Topics.

        A Topic that the broker does not know, or knows in part, gets all its partitions, without a leader: its client
        waits. A Topic with another error, such as one that the client may not see, stays unchanged.

        :param used: if the client asked for all Topics: those that its AppID has used on this cluster. If the list
            lacked one of them, a regex subscriber would drop it, and its group would rebalance twice. (Other Topics
            that the list lacks may be ones that the AppID must not see.)
        """
        doubted: list[str] = []
        topics: list[Topic] = []
        for number, topic in enumerate(answer.topics, 1):
            topics.append(self._checked(cluster, answer.version, topic, doubted))
            if number % _SLICE == 0:
                yield
        if used:
            for name in sorted(used - {topic.name for topic in answer.topics}):
                absent = metadata.absent(name, answer.version)
                checked = self._checked(cluster, answer.version, absent, doubted)
                if checked is not absent:
                    topics.append(checked)
        answer.topics = topics
        if doubted:
            log.warning(
                "a broker of %s does not know %d Topics (or partitions) that were there, such as %s: not "
                "believed for %d s",
                cluster,
                len(doubted),
                ", ".join(doubted[:3]),
                DISBELIEF_SECONDS,
            )

    def _checked(self, cluster: str, version: int, topic: Topic, doubted: list[str]) -> Topic:
        """Return ``topic``, or what is known of it; add it to ``doubted`` if it is doubted from now on."""
        known = self._partitions.get(cluster, {}).get(topic.name, 0)
        if topic.error not in (0, _UNKNOWN):
            return topic  # the client may not see it, or it is being created
        if topic.partitions >= known:
            if topic.partitions > known:
                self._learn(cluster, topic.name, topic.partitions)
            if self._doubted:
                self._doubted.pop((cluster, topic.name), None)
            return topic
        now, since = self._clock(), self._doubted.get((cluster, topic.name))
        if since is None:
            self._doubted[cluster, topic.name] = now
            doubted.append(topic.name)
        elif now - since >= DISBELIEF_SECONDS:
            self._learn(cluster, topic.name, topic.partitions)
            return topic
        return metadata.with_leaders(topic._replace(partitions=known), version, (), 0)

    def _learn(self, cluster: str, name: str, partitions: int) -> None:
        self._doubted.pop((cluster, name), None)
        known = self._partitions.setdefault(cluster, {})
        if not partitions:
            known.pop(name, None)
            return
        known[name] = partitions
        if len(known) > MAX_TOPICS:
            oldest = next(iter(known))
            del known[oldest]
            self._doubted.pop((cluster, oldest), None)
