"""Both clusters of a pair, as auditors read them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from hadash.auditors.places import Held
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

    def have_changed(self) -> bool:
        """Whether a cluster has another address or password than the readers know; they are known from now on."""
        now = {each.pk: each for each in Cluster.objects.filter(pk__in=self._clusters)}
        changed = {key: each.access for key, each in now.items()} != {
            key: each.access for key, each in self._clusters.items()
        }
        if changed and now.keys() == self._clusters.keys():
            self._clusters = now
        return changed

    def held(self, partitions: Mapping[Partition, int]) -> dict[Partition, Held]:
        """Return what both sides hold of these partitions, the target's end read before the source's; without those
        that a cluster does not have, or that have no leader there.

        :param partitions: with the key of the cluster that is the source.
        :raises KafkaError: a cluster does not answer.
        """
        there = {key: self._existing(cluster, partitions) for key, cluster in self._clusters.items()}
        both = set.intersection(*there.values())
        starts = {key: cluster_client(each).start_offsets(both) for key, each in self._clusters.items()}
        targets = {key: {p for p in both if partitions[p] != key} for key in self._clusters}
        ends = {key: cluster_client(each).end_offsets(targets[key]) for key, each in self._clusters.items()}
        later = {
            key: cluster_client(each).end_offsets(both - targets[key]) for key, each in self._clusters.items()
        }
        found = {}
        for p in both:
            source = partitions[p]
            (target,) = self._clusters.keys() - {source}
            found[p] = Held(starts[source][p], later[source][p], starts[target][p], ends[target][p])
        return found

    def _existing(self, cluster: Cluster, partitions: Iterable[Partition]) -> set[Partition]:
        wanted = set(partitions)
        known = cluster_client(cluster).topics({p.topic for p in wanted})
        return {p for p in wanted if _has_leader(known.get(p.topic), p.partition)}

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
