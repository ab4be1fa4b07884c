"""The Topics that each cluster was seen to have: a broker that was not told of them yet is not believed that
they are gone.

A controller that has just been elected tells brokers first of each other, and of their partitions later. A broker that
starts in between names all brokers in METADATA, and says of every Topic that it does not exist. Clients believe that at
once: librdkafka gives up what it had queued and refuses further records. With partitions that have no leader for now
they wait, and ask again.
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

#: Seconds for which nobody is believed that a Topic is gone, or has lost partitions. A new controller reads
#: all of its cluster's partitions before it tells brokers of them: seconds, in a large cluster most of a
#: minute. Who uses a Topic that was really deleted hears of it so much later.
DISBELIEF_SECONDS = 60.0

#: Topics of one cluster that are remembered; beyond it the one that was learnt first goes. About 10 MB.
MAX_TOPICS = 50_000

#: Topics that are checked in one go: about 0.1 ms.
_SLICE = 256

_UNKNOWN = int(ErrorCode.unknown_topic_or_partition)


class KnownTopics:
    """The Topics of all clusters with their partitions, learnt from METADATA and from placements."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: Number of partitions, by cluster and Topic.
        self._partitions: dict[str, dict[str, int]] = {}
        #: Since when brokers of a cluster say less of a Topic than is known.
        self._doubted: dict[tuple[str, str], float] = {}

    def placed(self, placements: Iterable[Placement]) -> None:
        """A switch has looked at its target: so many partitions its Topics have there, even if they once had more."""
        for placement in placements:
            for name, leaders in placement.leaders.items():
                self._learn(placement.cluster, name, len(leaders))

    def check(self, cluster: str, answer: Answer, used: Set[str] = frozenset()) -> Sliced[None]:
        """Put into ``answer``, of a broker of ``cluster``, what it ought to say of known Topics.

        A Topic that it does not know, or not all of, has all its partitions then, without a leader: its
        client waits. What the client may not see stays so.

        :param used: where all Topics are asked for: those that the client's AppID has used on this cluster. A
            list that lacks one of them would make a regex subscriber give it up, and rebalance its group
            twice. (Others that the list lacks the AppID may not see, for all that is known here.)
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
        """``topic``, or what is known of it; those that are doubted from now on are added to ``doubted``."""
        known = self._partitions.get(cluster, {}).get(topic.name, 0)
        if topic.error not in (0, _UNKNOWN):
            return topic  # it may not be seen, or is being created
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
