"""The last records of partitions, through a consumer that stays connected: the first fetch of a new one takes a second."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import KafkaError as ClientError

from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition, Record

#: Seconds to read the last records of all partitions of a radius.
TAIL_SECONDS = float(os.environ.get("HADASH_KAFKA_TAIL_SECONDS", "5"))


class TailReader:
    """One cluster's. One reading at a time."""

    def __init__(self, cluster: str, config: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._consumer = Consumer(
            {
                **config,
                "group.id": "hadash-tail",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": False,
                "fetch.wait.max.ms": 20,
                "fetch.queue.backoff.ms": 5,
            }
        )

    def read(
        self,
        ends: Mapping[Partition, int],
        starts: Mapping[Partition, int],
        count: int,
        seconds: float = TAIL_SECONDS,
    ) -> dict[Partition, list[Record]]:
        """The last ``count`` records (fewer where there are not so many) before ``ends``, by partition.

        :raises KafkaError: they could not be read within ``seconds``.
        """
        spans = {p: (max(starts.get(p, 0), end - count), end) for p, end in ends.items()}
        found: dict[Partition, list[Record]] = {p: [] for p in ends}
        missing = {p for p, (first, end) in spans.items() if first < end}
        if not missing:
            return found
        with self._lock:
            self._consumer.assign(
                [TopicPartition(p.topic, p.partition, spans[p][0]) for p in sorted(missing)]
            )
            try:
                deadline = time.monotonic() + seconds
                while missing:
                    if time.monotonic() > deadline:
                        raise KafkaError(
                            f"Cluster {self._cluster}: the last records of {min(missing)} "
                            f"could not be read within {seconds:.0f} s."
                        )
                    # Exactly what is to come: asked for more, the client would wait for it although all is there.
                    to_come = sum(spans[p][1] - spans[p][0] - len(found[p]) for p in missing)
                    for message in self._consumer.consume(min(to_come, 500), timeout=0.02):
                        self._take(message, spans, found, missing)
            finally:
                self._consumer.unassign()
        return found

    def _take(
        self,
        message: Any,
        spans: Mapping[Partition, tuple[int, int]],
        found: dict[Partition, list[Record]],
        missing: set[Partition],
    ) -> None:
        if message.error() is not None:
            if message.error().retriable() or message.error().code() == ClientError._ALL_BROKERS_DOWN:
                return
            raise KafkaError(f"Cluster {self._cluster}: {message.error().str()}.")
        partition = Partition(message.topic(), message.partition())
        end = spans[partition][1]
        if message.offset() < end:
            found[partition].append(Record(message.offset(), _checksum(message)))
        if message.offset() >= end - 1:
            missing.discard(partition)


def _checksum(message: Any) -> str:
    """Of key, value, headers, timestamp and its type: what a mirror must have copied."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (message.key(), message.value()):
        digest.update(b"\0" if part is None else b"\1" + len(part).to_bytes(4, "big") + part)
    for name, value in message.headers() or ():
        digest.update(name.encode() + b"\0" + (value if value is not None else b"") + b"\0")
    digest.update(repr(message.timestamp()).encode())
    return digest.hexdigest()
