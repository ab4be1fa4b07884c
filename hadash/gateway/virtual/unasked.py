"""Translates requests in versions that are served but not offered
(:data:`~hadash.gateway.protocol.api_keys.UNASKED`), and their answers.

The rest of the Gateway reads METADATA up to version 8 and OFFSET_COMMIT from version 2 on. A request in another version
is first translated to one of these, and a METADATA answer is written in the version of the request.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hadash.gateway.protocol.api_keys import OFFERED, ApiKey
from hadash.gateway.protocol.codec import build, decode_request, encode_request, nested_class, request_class
from hadash.gateway.protocol.cursor import Cursor
from hadash.gateway.protocol.since import Fetch, Metadata, OffsetCommit
from hadash.gateway.protocol.wire import MalformedFrame, Request, framed, parse_request
from hadash.gateway.virtual.metadata import SLICE, Sliced
from hadash.gateway.waiting.replies import Reply
from hadash.gateway.waiting.slices import Slices

#: The version of METADATA that a cluster is asked instead of 9 and 10.
HIGHEST_METADATA = OFFERED[ApiKey.METADATA][1]

_INT32 = struct.Struct(">i")
_NO_RETENTION = struct.pack(">q", -1)
_NO_TOPIC_ID = bytes(16)
#: Bytes of one partition of a FETCH, version 9 to 11: index, leader epoch, offset, log start offset, max bytes.
_FETCH_PARTITION = 4 + 4 + 8 + 8 + 4
#: Bytes before the three node lists of a METADATA partition: error, index, leader and leader epoch.
_PARTITION_HEAD = 2 + 4 + 4 + 4


def as_served(request: Request) -> Request:
    """Return the request as the rest of the Gateway reads it, and as both clusters serve it.

    :raises MalformedFrame: it cannot be read.
    """
    if request.kind is ApiKey.OFFSET_COMMIT:
        return commit(request)
    if request.kind is ApiKey.FETCH:
        return without_rack(request)
    return request


def commit(request: Request) -> Request:
    """Return an OFFSET_COMMIT in a served version: version 1 becomes version 2, whose answer has the same bytes.

    Version 1 has a timestamp for each partition, from which a broker counts until the offset expires. Clients that use
    version 1 leave it to the broker (-1), as version 2 does.

    :raises MalformedFrame: the request cannot be read.
    """
    if request.version >= OffsetCommit.NO_TIME:
        return request
    frame = request.frame
    cursor = Cursor(frame, request.body, flexible=False)
    cursor.text()  # group
    cursor.skip(4)  # generation
    cursor.text()  # member id
    parts = [frame[:2], b"\0\2", frame[4 : cursor.at], _NO_RETENTION]
    begin = cursor.at
    for _ in range(cursor.count()):
        cursor.text()
        for _ in range(cursor.count()):
            cursor.skip(4 + 8)  # partition and offset
            parts.append(frame[begin : cursor.at])
            cursor.skip(8)  # timestamp
            begin = cursor.at
            cursor.text()  # metadata
    parts.append(frame[begin : cursor.at])
    return parse_request(b"".join(parts))


def without_rack(request: Request) -> Request:
    """Return a FETCH without the name of its client's rack.

    With it a broker may name a replica of its own cluster to read from, inside an answer that passes unread.

    :raises MalformedFrame: the request cannot be read.
    """
    if request.version < Fetch.RACK:
        return request
    frame = request.frame
    cursor = Cursor(frame, request.body, flexible=False)
    cursor.skip(
        4 + 4 + 4 + 4 + 1 + 4 + 4
    )  # replica, max wait, min and max bytes, isolation, session and its epoch
    for _ in range(cursor.count()):
        cursor.text()
        cursor.skip(cursor.count() * _FETCH_PARTITION)
    for _ in range(cursor.count()):  # the Topics that it removes from its session
        cursor.text()
        cursor.skip(cursor.count() * 4)
    before = cursor.at
    if not cursor.text():
        return request
    return replace(request, frame=frame[:before] + b"\0\0" + frame[cursor.at :])


def metadata_request(request: Request, message: Any) -> tuple[Request, Any]:
    """Return a METADATA of version 9 or 10 as one of version 8, encoded and decoded.

    :raises MalformedFrame: it names a Topic by its id, which no broker accepts before version 12.
    """
    entity = request_class(ApiKey.METADATA, HIGHEST_METADATA)
    topic = nested_class(entity, "MetadataRequestTopic")
    names = None if message.topics is None else [each.name for each in message.topics]
    if names is not None and None in names:
        raise MalformedFrame(f"a METADATA version {request.version} names a Topic by its id")
    asked = build(
        entity,
        topics=None if names is None else tuple(build(topic, name=name) for name in names),
        allow_auto_topic_creation=message.allow_auto_topic_creation,
        include_cluster_authorized_operations=message.include_cluster_authorized_operations,
        include_topic_authorized_operations=message.include_topic_authorized_operations,
    )
    data = encode_request(ApiKey.METADATA, HIGHEST_METADATA, request.correlation_id, request.client_id, asked)
    older = parse_request(data[4:])
    return older, decode_request(older)


class LaterReply:
    """A reply to a METADATA of version 9 or 10 that is completed with an answer of version 8."""

    def __init__(
        self, reply: Reply, version: int, slices: Slices, failed: Callable[[Exception], None]
    ) -> None:
        self._reply = reply
        self._version = version
        self._slices = slices
        self._failed = failed

    def complete(self, frame: bytes) -> None:
        self._slices.run(metadata_answer(frame, self._version), self._reply.complete, self._failed)


def metadata_answer(frame: bytes, version: int) -> Sliced[bytes]:
    """Translate a framed METADATA answer of version 8 (the Gateway's own) to version 9 or 10.

    Topics get no ids: the ids of one Topic differ between the clusters.
    """
    return _Later(frame, version).answer()


class _Later:
    """Reads an answer of version 8 and writes it in a flexible version."""

    def __init__(self, frame: bytes, version: int) -> None:
        self._data = frame
        self._at = 4
        self._version = version
        self._parts: list[bytes] = []

    def answer(self) -> Sliced[bytes]:
        parts = self._parts
        self._copy(4)  # correlation id
        parts.append(b"\0")  # the header's tags
        self._copy(4)  # throttle time
        for _ in range(self._count()):
            self._copy(4)
            self._text()
            self._copy(4)
            self._text()  # rack
            parts.append(b"\0")
        self._text()  # cluster id
        self._copy(4)  # controller
        since_pause = 0
        for _ in range(self._count()):
            self._copy(2)
            self._text()
            if self._version >= Metadata.TOPIC_ID:
                parts.append(_NO_TOPIC_ID)
            self._copy(1)  # internal
            for _ in range(self._count()):
                self._partition()
                since_pause += 1
                if since_pause == SLICE:
                    since_pause = 0
                    yield
            self._copy(4)  # operations
            parts.append(b"\0")
        self._copy(4)  # operations on the cluster
        parts.append(b"\0")
        return framed(b"".join(parts))

    def _copy(self, size: int) -> None:
        self._parts.append(self._data[self._at : self._at + size])
        self._at += size

    def _count(self) -> int:
        """Read the length of an array, write it, and return it."""
        (count,) = _INT32.unpack_from(self._data, self._at)
        self._at += 4
        self._parts.append(_unsigned(count + 1))
        return max(int(count), 0)

    def _text(self) -> None:
        size = int.from_bytes(self._data[self._at : self._at + 2], "big", signed=True)
        self._at += 2
        self._parts.append(_unsigned(size + 1))
        self._copy(max(size, 0))

    def _partition(self) -> None:
        self._copy(_PARTITION_HEAD)
        for _ in range(3):  # replicas, in-sync replicas, offline replicas
            self._copy(4 * self._count())
        self._parts.append(b"\0")


def _unsigned(value: int) -> bytes:
    """Encode an unsigned variable-length integer."""
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
