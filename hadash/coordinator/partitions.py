"""How many partitions a Topic has, as its cluster says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from hadash.coordinator.consumer_config import connecting
from hadash.coordinator.documents import AssignmentDocument
from hadash.sentences import Explained, say


class TopicUnknown(Explained):
    """It is not known how many partitions a Topic has."""


class PartitionCounter:
    """Counts the partitions of Topics; one client for each cluster.

    :param secrets: settings of Kafka consumers that ZooKeeper must not hold.
    :param seconds: for an answer.
    """

    def __init__(self, secrets: Mapping[str, Any], seconds: float) -> None:
        self._secrets = secrets
        self._seconds = seconds
        self._clients: dict[tuple[tuple[str, Any], ...], AdminClient] = {}

    def count(self, document: AssignmentDocument, topic: str) -> int:
        """Return the number of partitions of a Topic on the cluster that a document names.

        :raises TopicUnknown: the cluster does not answer, or there is no such Topic.
        """
        config = connecting(document.consumer, self._secrets)
        key = tuple(sorted(config.items()))
        try:
            client = self._clients.get(key)
            if (
                client is None
            ):  # (librdkafka refuses settings that it cannot use, such as a sign-in without a password)
                client = self._clients[key] = AdminClient(config)
            found = client.list_topics(topic, timeout=self._seconds).topics[topic]
        except (KafkaException, ValueError, TypeError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise TopicUnknown(
                say(
                    "%(servers)s does not say how many partitions Topic %(topic)s has: %(reason)s.",
                    servers=document.consumer["bootstrap.servers"],
                    topic=topic,
                    reason=reason,
                )
            ) from error
        if found.error is not None:
            raise TopicUnknown(
                say(
                    "%(servers)s does not say how many partitions Topic %(topic)s has: %(reason)s.",
                    servers=document.consumer["bootstrap.servers"],
                    topic=topic,
                    reason=found.error.str(),
                )
            )
        return len(found.partitions)
