"""Reads whole logs directly from the clusters, without a Gateway, and finds out how far groups have read."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from hadash_sandbox import kafka_admin
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.traffic.logs import CopiedTwice, Logged, Logs, number_of

#: Seconds that a cluster may take to answer one request.
ASK_SECONDS = 20.0
#: Seconds without any record or end of a log after which reading counts as failed.
READ_SECONDS = 60.0
#: Records that are consumed at once, at most, and seconds to wait for them.
BATCH, BATCH_SECONDS = 5000, 1.0
#: Seconds between two looks at committed offsets and ends of logs, which have to be polled.
LOOK_SECONDS = 0.5


def read_logs(config: Mapping[str, str], topics: Iterable[str]) -> Logs:
    """Read every record of these Topics on one cluster, with a consumer that is in no group.

    :param config: librdkafka settings of an account that may read the Topics.
    :raises SandboxError: a Topic is missing there, or cannot be read to its end.
    """
    # librdkafka asks for a group.id; without a subscription and without commits, the cluster sees no group.
    consumer = Consumer(
        {
            **config,
            "group.id": "sandbox-log-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        left = {(topic, p) for topic in topics for p in _partitions(consumer, topic)}
        found: dict[tuple[str, int], list[Logged]] = {where: [] for where in left}
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for topic, p in sorted(left)])
        deadline = time.monotonic() + READ_SECONDS
        while left:
            for message in consumer.consume(BATCH, BATCH_SECONDS):
                deadline = time.monotonic() + READ_SECONDS
                where = message.topic() or "", _number(message.partition())
                error = message.error()
                if error is None:
                    found[where].append(_logged(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(where)
                else:
                    raise SandboxError(f"The log of {where[0]}/{where[1]} cannot be read: {error}.")
            if time.monotonic() > deadline:
                names = ", ".join(f"{topic}/{p}" for topic, p in sorted(left))
                raise SandboxError(
                    f"Within {READ_SECONDS:.0f} s no record came from {names}, nor the end of the log."
                )
        return found
    finally:
        consumer.close()


def _partitions(client: Consumer | AdminClient, topic: str) -> list[int]:
    """The partitions of a Topic.

    :raises SandboxError: the cluster does not know the Topic.
    """
    described = client.list_topics(topic, timeout=ASK_SECONDS).topics[topic]
    if described.error is not None or not described.partitions:
        raise SandboxError(f"Topic {topic} cannot be read: {described.error or 'it has no partitions'}.")
    return list(described.partitions)


def _logged(message: Message) -> Logged:
    key, value = message.key(), message.value()
    digest = hashlib.blake2b(repr((key, value, message.headers())).encode(), digest_size=16).digest()
    kind, milliseconds = message.timestamp()
    name = (key or b"").decode(errors="backslashreplace") if not isinstance(key, str) else key
    number = number_of(value.encode() if isinstance(value, str) else value)
    return Logged(_number(message.offset()), name, number, digest, (milliseconds, kind))


def _number(value: int | None) -> int:
    assert value is not None  # every message that a consumer returns has a partition and an offset
    return value


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a group on the cluster on which it has members.

    ``committed`` offsets and ``ends`` of the logs are by (Topic, partition).
    """

    cluster: str
    committed: dict[tuple[str, int], int]
    ends: dict[tuple[str, int], int]

    @property
    def caught_up(self) -> bool:
        """Whether the group has committed every end. (An empty partition has nothing to commit.)"""
        return bool(self.ends) and all(
            self.committed.get(where, -1) >= end if end else True for where, end in self.ends.items()
        )

    def behind(self) -> str:
        """The partitions that the group has not read to their ends, as text."""
        return ", ".join(
            f"{topic}/{p} committed {self.committed.get((topic, p), 'nothing')} of {end}"
            for (topic, p), end in sorted(self.ends.items())
            if end and self.committed.get((topic, p), -1) < end
        )


class Sides:
    """Asks both clusters directly, without a Gateway in between."""

    def __init__(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """:param configs: by cluster, librdkafka settings of an account that may read everything there."""
        self._configs = dict(configs)
        self._admins: dict[str, AdminClient] = {
            name: kafka_admin.connect(config) for name, config in configs.items()
        }

    def clusters_of(self, group: str) -> list[str]:
        """The clusters on which a group has members; more than one means that it is split."""
        found = []
        for cluster, admin in self._admins.items():
            described = admin.describe_consumer_groups([group], request_timeout=ASK_SECONDS)[group].result()
            if described.members:
                found.append(cluster)
        return found

    def position(self, group: str, topics: Iterable[str]) -> Position | str:
        """The position of a group; a sentence with the reason when it cannot be determined now."""
        try:
            clusters = self.clusters_of(group)
            if len(clusters) != 1:
                return f"group {group} has members on {' and '.join(clusters) or 'no cluster'}"
            (cluster,) = clusters
            ends = self._offsets(cluster, topics, OffsetSpec.latest())
            return Position(cluster, self.committed(cluster, group), ends)
        except (KafkaException, SandboxError) as error:
            return f"where group {group} is cannot be asked: {error}"

    def committed(self, cluster: str, group: str) -> dict[tuple[str, int], int]:
        """The offsets that a group has committed on one cluster, by (Topic, partition).

        :raises KafkaException: the cluster answers with an error.
        """
        asked = [ConsumerGroupTopicPartitions(group)]
        answer = self._admins[cluster].list_consumer_group_offsets(asked, request_timeout=ASK_SECONDS)
        return {(tp.topic, tp.partition): tp.offset for tp in answer[group].result().topic_partitions or ()}

    def _offsets(self, cluster: str, topics: Iterable[str], which: OffsetSpec) -> dict[tuple[str, int], int]:
        admin = self._admins[cluster]
        wanted = {TopicPartition(topic, p): which for topic in topics for p in _partitions(admin, topic)}
        found = admin.list_offsets(wanted, request_timeout=ASK_SECONDS)
        return {(tp.topic, tp.partition): answer.result().offset for tp, answer in found.items()}

    def _sizes(self, cluster: str, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        first = self._offsets(cluster, topics, OffsetSpec.earliest())
        return {
            where: end - first[where]
            for where, end in self._offsets(cluster, topics, OffsetSpec.latest()).items()
        }

    def await_same_size(
        self, topics: Sequence[str], seconds: float, ask: Callable[[], CopiedTwice] = dict
    ) -> CopiedTwice:
        """Wait until each partition has the same number of records on all clusters, or ``seconds`` have passed.

        :param ask: returns the copied duplicates that hadash reports; they are not counted.
        :return: the last answer of ``ask``.
        """
        deadline = time.monotonic() + seconds
        while True:
            told = ask()
            one, *others = (
                {where: size - told.get((cluster, *where), 0) for where, size in sizes.items()}
                for cluster, sizes in ((name, self._sizes(name, topics)) for name in self._admins)
            )
            if all(other == one for other in others) or time.monotonic() > deadline:
                return told
            time.sleep(LOOK_SECONDS)

    def logs(self, topics: Sequence[str]) -> dict[str, Logs]:
        """By cluster, every record of these Topics.

        :raises SandboxError: a log cannot be read to its end.
        """
        return {cluster: read_logs(config, topics) for cluster, config in self._configs.items()}


def await_caught_up(
    sides: Sides,
    wanted: Mapping[str, Sequence[str]],
    seconds: float,
    settle_seconds: float,
) -> list[str]:
    """Wait until two looks, ``settle_seconds`` apart, find the same positions, with each group at the ends.

    ``settle_seconds`` should be more than the clients' commit interval, so that a group that has gone back to read
    again shows it, or has noted the repeated records in its journal.

    :param wanted: by group, the Topics that it reads.
    :return: sentences for what is not the case after ``seconds``; none when all groups have caught up.
    """
    return list(groups_behind(sides, wanted, seconds, settle_seconds).values())


def groups_behind(
    sides: Sides,
    wanted: Mapping[str, Sequence[str]],
    seconds: float,
    settle_seconds: float,
) -> dict[str, str]:
    """As :func:`await_caught_up`, but the sentences are by group."""
    deadline = time.monotonic() + seconds
    before: dict[str, Position | str] = {}
    while True:
        now = {group: sides.position(group, topics) for group, topics in wanted.items()}
        behind = {group: found for group, found in now.items() if not _caught_up(found)}
        if not behind and now == before:
            return {}
        if time.monotonic() > deadline:
            return {group: _sentence(group, found) for group, found in (behind or now).items()}
        before = {} if behind else now
        time.sleep(settle_seconds if before else LOOK_SECONDS)


def _caught_up(found: Position | str) -> bool:
    return isinstance(found, Position) and found.caught_up


def _sentence(group: str, found: Position | str) -> str:
    if isinstance(found, str):
        return found
    if found.caught_up:
        return f"the committed offsets of group {group} on {found.cluster} do not come to rest"
    return f"group {group} on {found.cluster} has not caught up: {found.behind()}"
