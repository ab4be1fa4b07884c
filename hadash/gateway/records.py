"""What a Gateway reads of PRODUCE and FETCH: names, counts and producer ids. Records stay unread bytes.

Only the fixed part of a record batch (magic 2) is looked at: its record count, producer id and epoch.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hadash.gateway.cursor import Cursor
from hadash.gateway.wire import Request

_BATCH_LENGTH = struct.Struct(">i")
_PRODUCER = struct.Struct(">qhii")  # producer id, epoch, base sequence, record count
_BATCH_OVERHEAD = 12  # base offset and length
_BATCH_HEADER = 61
_PRODUCER_AT = 43
_MAGIC_AT = 16


@dataclass(frozen=True, slots=True)
class ProducedPartition:
    """One partition of a PRODUCE: ``producer_id`` is -1 without idempotence."""

    topic: str
    partition: int
    records: int
    size: int
    producer_id: int
    producer_epoch: int

    @property
    def sequence_key(self) -> tuple[int, int, str, int]:
        """What a broker counts sequence numbers by: producer id, epoch and partition."""
        return self.producer_id, self.producer_epoch, self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Produced:
    """What a PRODUCE carries. ``acks`` 0 has no answer."""

    transactional_id: str | None
    acks: int
    partitions: tuple[ProducedPartition, ...]

    @property
    def idempotent(self) -> tuple[ProducedPartition, ...]:
        """The partitions whose batches carry a producer id."""
        return tuple(p for p in self.partitions if p.producer_id >= 0)


def read_produce(request: Request) -> Produced:
    """Names, counts and producer ids of a PRODUCE, version 3 and later.

    :raises MalformedFrame: its lengths contradict each other.
    """
    flexible = request.version >= 9
    cursor = Cursor(request.frame, request.body, flexible)
    cursor.tags()
    transactional_id = cursor.text()
    acks = cursor.int16()
    cursor.skip(4)
    found = []
    for _ in range(cursor.count()):
        topic = cursor.text() or ""
        for _ in range(cursor.count()):
            partition = cursor.int32()
            start, end = cursor.sized()
            cursor.tags()
            records, producer_id, epoch = _read_batches(request.frame, start, end)
            found.append(ProducedPartition(topic, partition, records, end - start, producer_id, epoch))
        cursor.tags()
    return Produced(transactional_id, acks, tuple(found))


def _read_batches(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    """Record count over all batches, and the producer of the first. A batch that is cut off is not counted."""
    records, producer_id, epoch = 0, -1, -1
    at, first = start, True
    while at + _BATCH_HEADER <= end:
        if data[at + _MAGIC_AT] != 2:
            break
        pid, pid_epoch, _, count = _PRODUCER.unpack_from(data, at + _PRODUCER_AT)
        if first:
            producer_id, epoch, first = pid, pid_epoch, False
        (length,) = _BATCH_LENGTH.unpack_from(data, at + 8)
        if length <= 0 or at + _BATCH_OVERHEAD + length > end:
            break
        records += max(count, 0)
        at += _BATCH_OVERHEAD + length
    return records, producer_id, epoch


def read_fetched(payload: bytes, version: int) -> dict[str, int]:
    """Records by Topic in a FETCH response, versions 4 to 11 (``payload`` without the length)."""
    cursor = Cursor(payload, 4, flexible=False)
    cursor.skip(4)
    if version >= 7:
        cursor.skip(6)
    counts: dict[str, int] = {}
    partition_prefix = 4 + 2 + 8 + 8 + (8 if version >= 5 else 0)
    for _ in range(cursor.count()):
        topic = cursor.text() or ""
        for _ in range(cursor.count()):
            cursor.skip(partition_prefix)
            cursor.skip(16 * cursor.count())
            if version >= 11:
                cursor.skip(4)
            start, end = cursor.sized()
            if end > start:
                counts[topic] = counts.get(topic, 0) + _read_batches(payload, start, end)[0]
    return counts
