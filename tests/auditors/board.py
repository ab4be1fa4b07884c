"""A mirrored Topic of which the tests write both sides."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer, TopicPartition
from support.kafka import Clusters
from support.waiting import SLOWER

from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror, MirrorOffsetSync

#: (value, headers, time in milliseconds since 1970); the key is that of all.
Row = tuple[bytes, list[tuple[str, bytes]], int]

NOW_MS = int(time.time() * 1000) - 60_000


def rows(begin: int, end: int) -> list[Row]:
    return [(b"value %d" % n, [("number", b"%d" % n)], NOW_MS + n) for n in range(begin, end)]


class Board:
    """A mirrored Topic of two partitions: the tests write both sides."""

    def __init__(self, kafka: Clusters, pair: Pair) -> None:
        self.kafka, self.pair = kafka, pair
        self.topic = kafka.create_topic(f"audited-{uuid.uuid4().hex[:8]}", partitions=2)
        self.mirror = Mirror.objects.create(
            pair=pair, name=self.topic[-8:], topics=[self.topic], source=pair.first
        )
        for partition in (0, 1):
            MirrorOffsetSync.objects.create(
                mirror=self.mirror, topic=self.topic, partition=partition, source_offset=0, target_offset=0
            )

    def write(self, cluster: str, written: Sequence[Row], partition: int = 0) -> None:
        producer = Producer({**self.kafka.described[cluster].client_config(), "linger.ms": 5})
        for value, headers, at in written:
            producer.produce(
                self.topic, value, b"key", partition=partition, headers=list(headers), timestamp=at
            )
        assert producer.flush(20 * SLOWER) == 0

    def write_both(self, written: Sequence[Row], partition: int = 0) -> None:
        for cluster in ("east", "west"):
            self.write(cluster, written, partition)

    @contextmanager
    def writing_both(self) -> Iterator[Callable[[], int]]:
        """Write to the first partition of both sides all the time, one record after the other, the source first; yield
        how many there are."""
        producers = [
            Producer({**self.kafka.described[cluster].client_config(), "linger.ms": 0})
            for cluster in ("east", "west")
        ]
        stop = threading.Event()
        count = 0

        def write() -> None:
            nonlocal count
            while not stop.wait(0.01):
                ((value, headers, at),) = rows(count, count + 1)
                for producer in producers:
                    producer.produce(
                        self.topic, value, b"key", partition=0, headers=list(headers), timestamp=at
                    )
                    producer.poll(0)
                count += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield lambda: count
        finally:
            stop.set()
            thread.join()
            assert all(producer.flush(20 * SLOWER) == 0 for producer in producers)

    def delete_before(self, cluster: str, offset: int) -> None:
        asked = self.kafka.admin(cluster).delete_records([TopicPartition(self.topic, 0, offset)])
        for future in asked.values():
            future.result(20 * SLOWER)

    def row(self, partition: int = 0) -> AuditedPartition:
        return AuditedPartition.objects.get(topic=self.topic, partition=partition)

    def compared_up_to(self, source: int, target: int, partition: int = 0) -> bool:
        row = AuditedPartition.objects.filter(topic=self.topic, partition=partition).first()
        return row is not None and (row.source_next, row.target_next) == (source, target) and not row.fault

    def compared_up_to_at_least(self, offset: int) -> bool:
        row = AuditedPartition.objects.filter(topic=self.topic, partition=0).first()
        return row is not None and row.target_next >= offset and row.compared_at is not None

    def found(self) -> set[tuple[str, int, int]]:
        of_topic = AuditDifference.objects.filter(audited__topic=self.topic)
        return set(of_topic.values_list("kind", "source_offset", "target_offset"))
