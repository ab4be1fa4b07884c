"""The last records of partitions, through a consumer that stays connected: the first fetch of a new one takes
a second.
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

#: Seconds to read the last records of all partitions of a radius.
TAIL_SECONDS = float(os.environ.get("HADASH_KAFKA_TAIL_SECONDS", "5"))

#: Bytes of one answer that are accepted. A broker sends a batch that is larger than what was asked for by itself,
#: and no request that it takes is larger than its socket.request.max.bytes (100 MiB unless somebody has raised it).
RECEIVE_BYTES = 512 * 1024 * 1024


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
                # The end of a partition is said: its last offsets may hold no record (transaction markers).
                "enable.partition.eof": True,
                # As MirrorMaker reads: records of transactions that were aborted are copied, too.
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
        """The last ``count`` records (fewer where there are not so many) before ``ends``, by partition.

        :raises KafkaError: they could not be read within ``seconds``.
        """
        spans = {p: (max(starts.get(p, 0), end - count), end) for p, end in ends.items()}
        return self.read_spans(spans, seconds)

    def read_spans(
        self, spans: Mapping[Partition, tuple[int, int]], seconds: float = TAIL_SECONDS, max_bytes: int = 0
    ) -> dict[Partition, list[Record]]:
        """The records of each partition from the first offset of its span up to the end, in order. Offsets without a
        record (transaction markers, what compaction has removed) are left out.

        :param max_bytes: of keys and values that are read. Each partition has an equal share of it, and at least one
            record: the reading of one ends early when it has used its share. 0 for no limit.
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
                            f"Cluster {self._cluster}: the last records of {min(missing)} "
                            f"could not be read within {seconds:.0f} s."
                        )
                    # Exactly what is to come: asked for more, the client would wait for it although all is there.
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
        """Keep a record if it is wanted."""
        partition = Partition(message.topic(), message.partition())
        if (error := message.error()) is not None:
            if error.code() == ClientError._PARTITION_EOF:
                if partition in missing and message.offset() >= spans[partition][1]:
                    missing.discard(partition)
            elif not (error.retriable() or error.code() == ClientError._ALL_BROKERS_DOWN):
                raise KafkaError(f"Cluster {self._cluster}: {error.str()}.")
            return
        if partition not in missing:  # it has all that is wanted; the client goes on fetching from it
            return
        end = spans[partition][1]
        if message.offset() < end:
            parts = parts_of(message)
            found[partition].append(Record(message.offset(), checksum_of(parts), parts))
        left[partition] -= len(message.key() or b"") + len(message.value() or b"")
        if message.offset() >= end - 1 or left[partition] <= 0:
            missing.discard(partition)


def parts_of(message: Any) -> Parts:
    """The parts of a record that a mirror must have copied.

    Of the timestamp the time alone: where the broker has set it (``LogAppendTime``) the copy says ``CreateTime``
    with the same time, which is how a copy can keep it.
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
    """One checksum of all parts."""
    joined = parts.key + parts.value + parts.headers + parts.time.to_bytes(8, "big", signed=True)
    return _digest(joined).hex()


def _framed(part: bytes | None) -> bytes:
    """A part that cannot be taken for another, or for two: none at all differs from an empty one, and its length
    comes first.
    """
    return b"\0" if part is None else b"\1" + len(part).to_bytes(4, "big") + part


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
