"""Kafka for tests: AppIDs of one's own on both clusters, and what the clusters really hold."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from support.environment import Cluster
from support.raw import NotSignedIn, RawClient
from support.waiting import SLOWER, eventually

#: Seconds for an answer of a cluster.
SECONDS = 20 * SLOWER

_MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


class Clusters:
    """Both clusters, with an admin client each that lives as long as this."""

    def __init__(self, described: dict[str, Cluster]) -> None:
        self.described = described
        self._admins = {name: AdminClient(c.client_config()) for name, c in described.items()}

    def admin(self, cluster: str) -> AdminClient:
        return self._admins[cluster]

    def brokers(self, cluster: str) -> dict[int, tuple[str, int]]:
        """Broker ids with their addresses."""
        metadata = self.admin(cluster).list_topics(timeout=SECONDS)
        return {broker.id: (broker.host, broker.port) for broker in metadata.brokers.values()}

    def leaders(self, cluster: str, topic: str) -> tuple[int, ...]:
        """The broker id of each partition's leader."""
        partitions = self.admin(cluster).list_topics(topic, timeout=SECONDS).topics[topic].partitions
        return tuple(partitions[index].leader for index in sorted(partitions))

    def create_topic(self, name: str, partitions: int = 1, on: Iterable[str] = ()) -> str:
        """A Topic with this name on both clusters, or ``on`` some."""
        for cluster in on or self.described:
            self.admin(cluster).create_topics([NewTopic(name, partitions, 1)])[name].result(SECONDS)
        for cluster in on or self.described:
            eventually(
                lambda cluster=cluster: self._all_led(cluster, name, partitions),
                f"leaders of {name} on {cluster}",
            )
        return name

    def _all_led(self, cluster: str, topic: str, partitions: int) -> bool:
        found = self.admin(cluster).list_topics(topic, timeout=SECONDS).topics[topic].partitions
        return len(found) == partitions and all(p.leader >= 0 for p in found.values())

    def end_offsets(self, cluster: str, topic: str) -> dict[int, int]:
        """Records written to each partition (our Topics begin at 0 and have no transactions)."""
        with self._reader(cluster) as consumer:
            return {
                p.partition: consumer.get_watermark_offsets(p, timeout=SECONDS)[1]
                for p in self._partitions(cluster, topic)
            }

    def wait_for_end(self, cluster: str, topic: str, end: int) -> None:
        """Return when partition 0 holds ``end`` records."""
        eventually(
            lambda: self.end_offsets(cluster, topic)[0] >= end, f"{end} records in {topic} on {cluster}"
        )

    def records(self, cluster: str, topic: str) -> list[Message]:
        """Everything that a Topic holds, in order within each partition."""
        ends = {p: end for p, end in self.end_offsets(cluster, topic).items() if end > 0}
        found: list[Message] = []
        with self._reader(cluster) as consumer:
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in ends])
            deadline = time.monotonic() + SECONDS
            while ends:
                assert time.monotonic() < deadline, f"{topic} on {cluster} cannot be read to its end: {ends}"
                for message in consumer.consume(1000, timeout=0.2):
                    if message.error():
                        raise KafkaException(message.error())
                    found.append(message)
                    if message.offset() + 1 >= ends.get(message.partition(), 0):
                        ends.pop(message.partition(), None)
        return found

    def topic_configs(self, cluster: str, topic: str) -> dict[str, str]:
        """What is in effect for a Topic."""
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic)]
        (found,) = self.admin(cluster).describe_configs(asked).values()
        return {name: entry.value for name, entry in found.result(SECONDS).items()}

    def set_topic_configs(self, cluster: str, topic: str, **configs: str) -> None:
        """Set some configs of a Topic, with ``_`` for the dots in their names."""
        changes = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in configs.items()
        ]
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=changes)]
        _wait(self.admin(cluster).incremental_alter_configs(asked).values())

    def values(self, cluster: str, topic: str) -> list[bytes]:
        return [message.value() or b"" for message in self.records(cluster, topic)]

    def members(self, cluster: str, group: str) -> int:
        """How many members a group has there."""
        described = self.admin(cluster).describe_consumer_groups([group])[group].result(SECONDS)
        return len(described.members)

    def committed(self, cluster: str, group: str) -> dict[tuple[str, int], int]:
        """A group's offsets by Topic and partition; empty for a group that the cluster does not know."""
        asked = [ConsumerGroupTopicPartitions(group)]
        found = self.admin(cluster).list_consumer_group_offsets(asked)[group].result(SECONDS)
        return {(p.topic, p.partition): p.offset for p in found.topic_partitions or ()}

    def _partitions(self, cluster: str, topic: str) -> list[TopicPartition]:
        partitions = self.admin(cluster).list_topics(topic, timeout=SECONDS).topics[topic].partitions
        return [TopicPartition(topic, index) for index in sorted(partitions)]

    @contextmanager
    def _reader(self, cluster: str) -> Iterator[Consumer]:
        consumer = Consumer(
            {**self.described[cluster].client_config(), "group.id": "reader", "enable.auto.commit": False}
        )
        try:
            yield consumer
        finally:
            consumer.close()


@dataclass
class App:
    """An AppID of the test's own, with the same password, Topics and rights on both clusters."""

    appid: str
    password: str
    clusters: Clusters
    #: What its Topics and groups begin with.
    prefix: str
    topics: list[str] = field(default_factory=list)

    def topic(self, partitions: int = 1) -> str:
        """A new Topic on both clusters that this AppID may use."""
        name = self.clusters.create_topic(f"{self.prefix}{uuid.uuid4().hex[:6]}", partitions)
        self.topics.append(name)
        return name

    def group(self) -> str:
        """The name of a new consumer group that this AppID may use."""
        return f"{self.prefix}group-{uuid.uuid4().hex[:6]}"

    def config(self, bootstrap: str, mechanism: str = "SCRAM-SHA-256", **more: Any) -> dict[str, Any]:
        """librdkafka settings for a client of this AppID."""
        return {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": self.appid,
            "sasl.password": self.password,
            "log_level": 0,
            **{
                name if name.endswith("_cb") else name.replace("_", "."): value
                for name, value in more.items()
            },
        }


@contextmanager
def new_app(clusters: Clusters) -> Iterator[App]:
    """An AppID that can sign in with SCRAM, and use whatever begins with its name. All of it goes away again."""
    name = f"t{uuid.uuid4().hex[:10]}"
    app = App(name, uuid.uuid4().hex, clusters, f"{name}.")
    for cluster in clusters.described:
        upserts = [
            UserScramCredentialUpsertion(
                app.appid, ScramCredentialInfo(mechanism, 4096), app.password.encode()
            )
            for mechanism in _MECHANISMS.values()
        ]
        for upsert in upserts:  # KRaft takes one of a user at a time
            _wait(clusters.admin(cluster).alter_user_scram_credentials([upsert]).values())
    with _rights(app):
        for described in clusters.described.values():
            eventually(
                lambda described=described: _can_sign_in(described, app), f"{app.appid} on {described.name}"
            )
        yield app
    for cluster in clusters.described:
        deletions = [UserScramCredentialDeletion(app.appid, mechanism) for mechanism in _MECHANISMS.values()]
        for deletion in deletions:
            _wait(clusters.admin(cluster).alter_user_scram_credentials([deletion]).values())


@contextmanager
def known_app(clusters: Clusters, appid: str, password: str) -> Iterator[App]:
    """An AppID that the stack has, for PLAIN (whose users the brokers read at their start). Its rights go again."""
    app = App(appid, password, clusters, f"t{uuid.uuid4().hex[:10]}.")
    with _rights(app):
        yield app


@contextmanager
def _rights(app: App) -> Iterator[None]:
    """All that begins with the AppID's prefix is its own, on both clusters; its Topics go away with the rights."""
    acls = [
        AclBinding(
            kind,
            app.prefix,
            ResourcePatternType.PREFIXED,
            f"User:{app.appid}",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    ]
    for cluster in app.clusters.described:
        _wait(app.clusters.admin(cluster).create_acls(acls).values())
    yield
    filters = [
        AclBindingFilter(
            ResourceType.ANY,
            app.prefix,
            ResourcePatternType.PREFIXED,
            f"User:{app.appid}",
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
    ]
    for cluster in app.clusters.described:
        admin = app.clusters.admin(cluster)
        if app.topics:
            _wait(admin.delete_topics(app.topics).values())
        _wait(admin.delete_acls(filters).values())


def _can_sign_in(cluster: Cluster, app: App) -> bool:
    """The brokers hear of a new user through ZooKeeper, a moment later."""
    try:
        for mechanism in _MECHANISMS:
            with RawClient(cluster.address, tls=cluster.tls()) as client:
                client.sign_in(app.appid, app.password, mechanism)
    except NotSignedIn:
        return False
    return True


def _wait(futures: Iterable[Any]) -> None:
    for future in futures:
        future.result(SECONDS)


def produce(config: dict[str, Any], topic: str, *values: bytes, partition: int = 0) -> None:
    """Write the values; raises for the first that was not acknowledged."""
    errors: list[KafkaError] = []
    producer = Producer({**config, "message.timeout.ms": SECONDS * 1000})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=partition,
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )
    assert producer.flush(SECONDS + 5) == 0
    if errors:
        raise KafkaException(errors[0])


def consume(config: dict[str, Any], topic: str, group: str, count: int) -> list[bytes]:
    """The first ``count`` values of a Topic, read by a member of ``group``."""
    consumer = Consumer({**config, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + SECONDS
    try:
        while len(values) < count:
            assert time.monotonic() < deadline, f"{len(values)} of {count} records came"
            message = consumer.poll(0.1)
            if message is not None:
                if message.error():
                    raise KafkaException(message.error())
                values.append(message.value() or b"")
    finally:
        consumer.close()
    return values


def error_of(action: Callable[[], object]) -> KafkaError:
    """The error that ``action`` raises."""
    try:
        action()
    except KafkaException as raised:
        error: KafkaError = raised.args[0]
        return error
    raise AssertionError("no error was raised")
