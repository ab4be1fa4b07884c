"""Both clusters of a pair, as auditors read them."""

from __future__ import annotations

import time
from collections.abc import Iterable

from hadash.auditors.settings import AuditorSettings
from hadash.auditors.side_reader import SideReader
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring.services import cluster_client

#: Seconds for which it is remembered whether a Topic is compacted: it hardly ever changes.
POLICY_SECONDS = 60.0


class PairClusters:
    """The clusters of a pair, by their keys."""

    def __init__(self, pair: Pair, settings: AuditorSettings) -> None:
        self._clusters: dict[int, Cluster] = {pair.first.pk: pair.first, pair.second.pk: pair.second}
        self._settings = settings
        #: Topic → (whether it is compacted, until when that is believed).
        self._policies: dict[str, tuple[bool, float]] = {}

    def readers(self) -> dict[int, SideReader]:
        """A new reader of each cluster."""
        return {
            key: SideReader(cluster.access.config(), self._settings)
            for key, cluster in self._clusters.items()
        }

    def held(self, partitions: Iterable[Partition]) -> dict[int, dict[Partition, tuple[int, int]]]:
        """Return the first and the next offset of these partitions, by cluster; without those that a cluster does not
        have, or that have no leader there.

        :raises KafkaError: a cluster does not answer.
        """
        wanted = set(partitions)
        found = {}
        for key, cluster in self._clusters.items():
            client = cluster_client(cluster)
            known = client.topics({p.topic for p in wanted})
            there = {p for p in wanted if _has_leader(known.get(p.topic), p.partition)}
            starts, ends = client.start_offsets(there), client.end_offsets(there)
            found[key] = {p: (starts[p], ends[p]) for p in there}
        return found

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """Return those of the Topics that are compacted on one of the clusters.

        :raises KafkaError: a cluster does not answer.
        """
        now = time.monotonic()
        wanted = set(topics)
        unknown = {name for name in wanted if self._policies.get(name, (False, 0.0))[1] < now}
        if unknown:
            compacted: set[str] = set()
            for cluster in self._clusters.values():
                client = cluster_client(cluster)
                settings = client.topic_settings(client.topics(unknown).keys(), ["cleanup.policy"])
                compacted |= {
                    name for name, each in settings.items() if "compact" in each.get("cleanup.policy", "")
                }
            self._policies |= {name: (name in compacted, now + POLICY_SECONDS) for name in unknown}
        return {name for name in wanted if self._policies[name][0]}


def _has_leader(topic: TopicInfo | None, partition: int) -> bool:
    return topic is not None and partition < len(topic.leaders) and topic.leaders[partition] >= 0
