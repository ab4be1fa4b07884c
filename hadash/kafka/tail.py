"""Reads the last records of partitions through a consumer that stays connected, because the first fetch of a
new one takes a second.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from math import inf
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import KafkaError as ClientError

from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition, Parts, Record
from hadash.sentences import say

#: Seconds to read the last records of all partitions of a radius.
TAIL_SECONDS = float(os.environ.get("HADASH_KAFKA_TAIL_SECONDS", "5"))

#: Bytes of one answer, at most. A broker sends a batch that is larger than the requested size alone, and it
#: accepts no batch larger than its socket.request.max.bytes (100 MiB by default).
RECEIVE_BYTES = 512 * 1024 * 1024


class TailReader:
    """Reads records of one cluster. Thread-safe; only one reading runs at a time."""

    def __init__(self, cluster: str, config: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._consumer = Consumer(
            {
                **config,
                "group.id": "hadash-tail",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                # Report the end of a partition: its last offsets may hold no record (transaction markers).
                "enable.partition.eof": True,
                # As MirrorMaker does, which also copies records of aborted transactions.
                "isolation.level": "read_uncommitted",
                "receive.message.max.bytes": RECEIVE_BYTES,
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
        """Return the last ``count`` records before ``ends`` (or as many as there are), by partition.

        :raises KafkaError: they could not be read within ``seconds``.
        """
        spans = {p: (max(starts.get(p, 0), end - count), end) for p, end in ends.items()}
        return self.read_spans(spans, seconds)

    def read_spans(
        self, spans: Mapping[Partition, tuple[int, int]], seconds: float = TAIL_SECONDS, max_bytes: int = 0
    ) -> dict[Partition, list[Record]]:
        """Return the records of each partition from the first offset of its span up to its end, in order.
        Offsets without a record (transaction markers, compacted records) are left out.

        :param max_bytes: the limit for the keys and values that are read; 0: none. Each partition has an equal
            share, and its reading ends early, after at least one record, when the share is used up.
        :raises KafkaError: they could not be read within ``seconds``.
        """
        found: dict[Partition, list[Record]] = {p: [] for p in spans}
        missing = {p for p, (first, end) in spans.items() if first < end}
        if not missing:
            return found
        left = dict.fromkeys(missing, max_bytes / len(missing) if max_bytes else inf)
        with self._lock:
            self._consumer.assign(
                [TopicPartition(p.topic, p.partition, spans[p][0]) for p in sorted(missing)]
            )
            try:
                deadline = time.monotonic() + seconds
                while missing:
                    if time.monotonic() > deadline:
                        raise KafkaError(
                            say(
                                "Cluster %(cluster)s: the last records of %(partition)s could not be read within "
                                "%(seconds)s s.",
                                cluster=self._cluster,
                                partition=min(missing),
                                seconds=f"{seconds:.0f}",
                            )
                        )
                    # Exactly the number of missing records: for more the client would wait although all are
                    # there.
                    to_come = sum(spans[p][1] - spans[p][0] - len(found[p]) for p in missing)
                    for message in self._consumer.consume(max(min(to_come, 500), 1), timeout=0.02):
                        self._take(message, spans, found, missing, left)
            finally:
                self._consumer.unassign()
        return found

    def _take(
        self,
        message: Any,
        spans: Mapping[Partition, tuple[int, int]],
        found: dict[Partition, list[Record]],
        missing: set[Partition],
        left: dict[Partition, float],
    ) -> None:
        """Keep a record if it is wanted, and note partitions that are complete."""
        partition = Partition(message.topic(), message.partition())
        if (error := message.error()) is not None:
            if error.code() == ClientError._PARTITION_EOF:
                if partition in missing and message.offset() >= spans[partition][1]:
                    missing.discard(partition)
            elif not (error.retriable() or error.code() == ClientError._ALL_BROKERS_DOWN):
                raise KafkaError(
                    say("Cluster %(cluster)s: %(error)s.", cluster=self._cluster, error=error.str())
                )
            return
        if partition not in missing:  # already complete; the client continues to fetch from it
            return
        end = spans[partition][1]
        if message.offset() < end:
            parts = parts_of(message)
            found[partition].append(Record(message.offset(), checksum_of(parts), parts))
        left[partition] -= len(message.key() or b"") + len(message.value() or b"")
        if message.offset() >= end - 1 or left[partition] <= 0:
            missing.discard(partition)


def parts_of(message: Any) -> Parts:
    """Return the parts of a record that a mirror must have copied.

    Of the timestamp only the time counts, not its type: where the broker has set it (``LogAppendTime``) the
    copy has ``CreateTime`` with the same time, because a copy cannot keep it otherwise.
    """
    headers = hashlib.blake2b(digest_size=16)
    for name, value in message.headers() or ():
        headers.update(_framed(name.encode()) + _framed(value))
    return Parts(
        _digest(_framed(message.key())),
        _digest(_framed(message.value())),
        headers.digest(),
        message.timestamp()[1],
    )


def checksum_of(parts: Parts) -> str:
    """Return one checksum of all parts, in hexadecimal."""
    joined = parts.key + parts.value + parts.headers + parts.time.to_bytes(8, "big", signed=True)
    return _digest(joined).hex()


def _framed(part: bytes | None) -> bytes:
    """Encode a part unambiguously: ``None`` differs from an empty part, and the length comes first."""
    return b"\0" if part is None else b"\1" + len(part).to_bytes(4, "big") + part


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
