"""The positions at which a client reads: the offsets of its FETCH requests, by partition.

A group's committed offset says where its members continue; for a partition without one only the members know. A
library that has delivered no records of a partition commits nothing for it, and after a move it must not continue
where its ``auto.offset.reset`` says.
"""

from __future__ import annotations

import struct

from hadash.gateway.protocol.since import Fetch
from hadash.gateway.protocol.wire import Request

#: The most partitions recorded for one connection; which others the client reads is then unknown. A consumer of all
#: partitions of a large Topic has thousands.
MAX_PARTITIONS = 20_000

_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")
_INT64 = struct.Struct(">q")

#: Sizes before the version-dependent parts of a FETCH, from its body: replica id, max wait, min and max bytes,
#: isolation level; and since version 7 the session's id and epoch.
_TOPICS_AT = 4 + 4 + 4 + 4 + 1
_SESSION_SIZE = 8


class FetchPositions:
    """The positions of one connection, for versions 4 to 11 of FETCH.

    ``first`` is the lowest offset requested, by Topic and partition index. For a partition without a committed offset
    that is where its reader began: it has not committed what it has read since, so that is known nowhere else.
    """

    __slots__ = ("_last", "first", "topics")

    def __init__(self) -> None:
        self.first: dict[tuple[str, int], int] = {}
        #: The Topics requested, whether or not records came.
        self.topics: set[str] = set()
        self._last = b""

    def partitions(self) -> dict[str, list[int]] | None:
        """Return the partitions requested, by Topic; ``None`` when there were too many to record."""
        if len(self.first) >= MAX_PARTITIONS:
            return None
        found: dict[str, list[int]] = {}
        for topic, index in sorted(self.first):
            found.setdefault(topic, []).append(index)
        return found

    def note(self, request: Request) -> None:
        """Record the offsets of a FETCH that passes. One that cannot be read is ignored: the broker refuses it."""
        asked = request.frame[8:]  # everything after the API key, the version and the correlation id
        if asked == self._last:
            return  # an idle consumer repeats the same request
        self._last = asked
        try:
            self._read(request)
        except (struct.error, UnicodeDecodeError, IndexError):
            return

    def _read(self, request: Request) -> None:
        frame, version = request.frame, request.version
        at = request.body + _TOPICS_AT + (_SESSION_SIZE if version >= Fetch.SESSION else 0)
        before_offset = 4 + (4 if version >= Fetch.LEADER_EPOCH else 0)  # index, leader epoch
        after_offset = 8 + (8 if version >= Fetch.LOG_START else 0) + 4  # offset, log start offset, max bytes
        (topics,) = _INT32.unpack_from(frame, at)
        at += 4
        for _ in range(topics):
            (size,) = _INT16.unpack_from(frame, at)
            topic = frame[at + 2 : at + 2 + size].decode()
            at += 2 + size
            self.topics.add(topic)
            (partitions,) = _INT32.unpack_from(frame, at)
            at += 4
            for _ in range(partitions):
                (index,) = _INT32.unpack_from(frame, at)
                (offset,) = _INT64.unpack_from(frame, at + before_offset)
                at += before_offset + after_offset
                self._note((topic, index), offset)

    def _note(self, partition: tuple[str, int], offset: int) -> None:
        known = self.first.get(partition)
        if known is None and len(self.first) >= MAX_PARTITIONS:
            return
        if known is None or offset < known:
            self.first[partition] = offset
