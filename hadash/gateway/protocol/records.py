"""The parts of PRODUCE and FETCH that a Gateway reads: names, counts and producer ids. Records stay unread bytes.

Only the fixed part of a record batch (magic 2) is read: its record count, producer id and epoch.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import NamedTuple

from hadash.gateway.protocol.cursor import Cursor
from hadash.gateway.protocol.since import Fetch, Produce
from hadash.gateway.protocol.wire import MalformedFrame, Request

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_BATCH_LENGTH_AT = 8
_BATCH_OVERHEAD = 12  # base offset and length
_BATCH_HEADER = 61
_PRODUCER = struct.Struct(">qhii")  # producer id, epoch, base sequence, record count
_PRODUCER_AT = 43
_MAGIC_AT = 16
#: Of a batch's header: its length (without base offset and itself), magic, and record count.
_BATCH = struct.Struct(">8xi4xb40xi")


class ProducedPartition(NamedTuple):
    """One partition of a PRODUCE: ``producer_id`` is -1 without idempotence."""

    topic: str
    partition: int
    records: int
    size: int
    producer_id: int
    producer_epoch: int
    #: Where the partition's record batches begin in the frame.
    at: int
    #: The first sequence number; -1 without idempotence.
    sequence: int = -1


class Produced(NamedTuple):
    """The content of a PRODUCE. With ``acks`` 0 there is no answer."""

    transactional_id: str | None
    acks: int
    partitions: tuple[ProducedPartition, ...]


def read_produce(request: Request) -> Produced:
    """Read the names, counts and producer ids of a PRODUCE, version 3 and later.

    :raises MalformedFrame: the lengths contradict each other.
    """
    try:
        return _read_produce(request)
    except (struct.error, IndexError):
        raise MalformedFrame(f"a PRODUCE of {len(request.frame)} bytes is cut off") from None
    except UnicodeDecodeError:
        raise MalformedFrame("a name that is not UTF-8") from None


def _read_produce(request: Request) -> Produced:
    """Read a PRODUCE. Each one passes here, so it reads the bytes in place, and uses :class:`Cursor` for rare parts."""
    data, flexible = request.frame, request.version >= Produce.FLEXIBLE
    end_of_frame = len(data)
    cursor = Cursor(data, request.body, flexible)
    cursor.tags()
    transactional_id = cursor.text()
    acks = cursor.int16()
    cursor.skip(4)
    topics = cursor.count()
    at = cursor.at
    found = []
    for _ in range(topics):
        cursor.at = at
        topic = cursor.text() or ""
        partitions = cursor.count()
        at = cursor.at
        for _ in range(partitions):
            (partition,) = _INT32.unpack_from(data, at)
            at += 4
            if flexible:
                size = shift = 0
                while (byte := data[at]) >= 0x80:
                    size |= (byte & 0x7F) << shift
                    shift += 7
                    at += 1
                    if shift > 28:
                        raise MalformedFrame("a variable-length integer of more than five bytes")
                size = (size | byte << shift) - 1
                at += 1
            else:
                (size,) = _INT32.unpack_from(data, at)
                at += 4
            size = max(size, 0)
            end = at + size
            if end > end_of_frame:
                raise MalformedFrame(f"a field of {size} bytes at {at} in a frame of {end_of_frame}")
            records, producer_id, epoch, sequence = _read_batches(data, at, end)
            found.append(ProducedPartition(topic, partition, records, size, producer_id, epoch, at, sequence))
            at = end
            if flexible:
                if data[at]:
                    cursor.at = at
                    cursor.tags()
                    at = cursor.at
                else:
                    at += 1
        if flexible:
            cursor.at = at
            cursor.tags()
            at = cursor.at
    return Produced(transactional_id, acks, tuple(found))


def _read_batches(data: bytes, start: int, end: int) -> tuple[int, int, int, int]:
    """Return the record count of all batches, and producer id, epoch and sequence of the first. A batch that is cut off
    is not counted."""
    records, producer_id, epoch, sequence = 0, -1, -1, -1
    at = start
    while at + _BATCH_HEADER <= end and data[at + _MAGIC_AT] == 2:
        pid, pid_epoch, first, count = _PRODUCER.unpack_from(data, at + _PRODUCER_AT)
        if at == start:
            producer_id, epoch, sequence = pid, pid_epoch, first
        (length,) = _INT32.unpack_from(data, at + _BATCH_LENGTH_AT)
        at += _BATCH_OVERHEAD + length
        if length <= 0 or at > end:
            break
        if count > 0:
            records += count
    return records, producer_id, epoch, sequence


def produce_errors(payload: bytes, version: int) -> dict[tuple[str, int], int]:
    """Return the error codes in the answer to a PRODUCE of version 3 to 9, by Topic and partition, without 0.

    An answer that cannot be read has no errors from there on.

    :param payload: the answer from the correlation id on.
    """
    flexible = version >= Produce.FLEXIBLE
    cursor = Cursor(payload, 4, flexible)
    found: dict[tuple[str, int], int] = {}
    try:
        cursor.tags()
        for _ in range(cursor.count()):
            topic = cursor.text() or ""
            for _ in range(cursor.count()):
                partition, error = cursor.int32(), cursor.int16()
                cursor.skip(
                    24 if version >= Produce.LOG_START else 16
                )  # base offset, append time, log start offset
                if version >= Produce.RECORD_ERRORS:
                    for _ in range(cursor.count()):
                        cursor.skip(4)
                        cursor.text()
                        cursor.tags()
                    cursor.text()
                cursor.tags()
                if error:
                    found[topic, partition] = error
            cursor.tags()
    except (MalformedFrame, IndexError):
        pass
    return found


class FetchedCounter:
    """Counts the records in a FETCH answer, versions 4 to 11, while it passes in pieces. Does no I/O.

    Counting stops where the answer is malformed; the client handles such an answer.
    """

    __slots__ = ("_held", "_next", "_rest", "_skip", "_steps", "_topic", "_want", "counts")

    def __init__(self, version: int) -> None:
        #: By Topic, the records so far and the bytes of their batches.
        self.counts: dict[str, tuple[int, int]] = {}
        self._steps: Generator[int, bytes, None] | None = self._fetched(version)
        #: The beginning of what is wanted next, when a piece has ended within it.
        self._held = b""
        #: Bytes that remain of a partition's records, and how many of them come before the next batch.
        self._rest = self._next = 0
        self._topic = ""
        #: Bytes to skip after these records, and bytes that are wanted after that.
        self._skip = 0
        self._want = next(self._steps)
        self._note_want()

    def feed(self, data: bytes) -> None:
        """Count the next piece of the answer (which begins after its length)."""
        if self._held:
            data, self._held = self._held + data, b""
        at, end = 0, len(data)
        while at < end:
            if self._rest:
                at = self._count(data, at)
                if self._held:
                    return
            elif self._steps is None:
                return
            elif self._skip:
                step = min(self._skip, end - at)
                self._skip -= step
                at += step
            elif end - at < self._want:
                self._held = data[at:]
                return
            else:
                at += self._want
                self._step(data[at - self._want : at])

    def _count(self, data: bytes, at: int) -> int:
        """Count the batches from ``at`` on; return where their partition, or ``data``, ends.

        (Batches may be small: this loop decides how much a Gateway can pass on.)
        """
        stop, following, end = at + self._rest, at + self._next, len(data)
        records = size = 0
        while following + _BATCH_HEADER <= stop:
            if following + _BATCH_HEADER > end:
                break
            length, magic, count = _BATCH.unpack_from(data, following)
            length += _BATCH_OVERHEAD
            if magic != 2 or not _BATCH_HEADER <= length <= stop - following:
                following = stop
                break
            if count > 0:
                records += count
            size += length
            following += length
        else:
            following = stop  # what is left is shorter than a header
        if size:
            before = self.counts.get(self._topic, (0, 0))
            self.counts[self._topic] = before[0] + records, before[1] + size
        if following < min(stop, end):
            self._held = data[following:]
            self._rest, self._next = stop - following, 0
            return end
        at = min(stop, end)
        self._rest, self._next = stop - at, following - at
        return at

    def _step(self, piece: bytes) -> None:
        assert self._steps is not None
        try:
            self._want = self._steps.send(piece)
            self._note_want()
        except (StopIteration, UnicodeDecodeError, MalformedFrame):
            self._steps = None

    def _note_want(self) -> None:
        """Handle a wish to skip, which is negative, and go on to the next wish."""
        assert self._steps is not None
        while self._want <= 0:
            self._skip -= self._want
            self._want = self._steps.send(b"")

    def _fetched(self, version: int) -> Generator[int, bytes, None]:
        """Yield how many bytes are needed next or, as a negative number, how many to skip; say where records are."""
        yield -(
            4 + 4 + (6 if version >= Fetch.SESSION else 0)
        )  # correlation id, throttle time, error and session
        before_records = 4 + 2 + 8 + 8 + (8 if version >= Fetch.LOG_START else 0)
        for _ in range(_size(_INT32, (yield 4))):
            name = yield _size(_INT16, (yield 2))
            topic = name.decode()
            for _ in range(_size(_INT32, (yield 4))):
                yield -before_records
                yield -16 * _size(_INT32, (yield 4))
                if version >= Fetch.RACK:
                    yield -4  # the replica to read from
                self._topic, self._rest = topic, _size(_INT32, (yield 4))


def _size(kind: struct.Struct, data: bytes) -> int:
    """Return a length or count; null (-1) counts as empty.

    :raises MalformedFrame: it is less than -1.
    """
    size: int = kind.unpack(data)[0]
    if size < -1:
        raise MalformedFrame(f"a length of {size}")
    return max(size, 0)
