"""Turns METADATA answers of the clusters into those of the virtual cluster. Works on bytes, and in slices.

Three rules matter to clients (docs/kafka-clients.md): every answer lists the nodes of both clusters, so that no node
vanishes at a switch; leader epochs are always -1, because a client that has seen a higher epoch of the old cluster
ignores the new cluster's lower one; and each Topic's leaders are those of the cluster to which it is bound.

An answer may hold ten thousand partitions. Decoding and encoding them as objects takes a second, so node ids are
patched in place. Long steps are generators that yield after each slice, so that other clients are served in between.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.brokers.upstream import UpstreamUnavailable
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.protocol.since import Metadata
from hadash.gateway.protocol.wire import MalformedFrame

#: Partitions that are patched in one slice: about 0.3 ms.
SLICE = 128

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INTS = [struct.Struct(f">{count}i") for count in range(16)]
_NO_OPERATIONS = -(2**31)

T = TypeVar("T")
#: A generator that yields between slices, and returns ``T``.
Sliced = Generator[None, None, T]


class Topic(NamedTuple):
    """One Topic of an answer. ``body`` holds all its bytes as sent to the client."""

    name: str
    error: int
    partitions: int
    body: bytes


@dataclass(slots=True)
class Answer:
    """A cluster's answer, with the virtual cluster's node ids."""

    version: int
    correlation_id: int
    throttle: int
    brokers: tuple[Broker, ...]
    topics: list[Topic]
    cluster_operations: int = _NO_OPERATIONS


class _Patcher:
    """Reads an answer from its beginning and patches it."""

    __slots__ = ("at", "base", "data", "version")

    def __init__(self, payload: bytes, version: int, base: int) -> None:
        self.data = bytearray(payload)
        self.at = 0
        self.version = version
        self.base = base

    def int16(self) -> int:
        value: int = _INT16.unpack_from(self.data, self.at)[0]
        self.at += 2
        return value

    def int32(self) -> int:
        value: int = _INT32.unpack_from(self.data, self.at)[0]
        self.at += 4
        return value

    def text(self) -> str:
        size = max(self.int16(), 0)
        self.at += size
        if self.at > len(self.data):
            raise MalformedFrame("a METADATA answer is cut off")
        return self.data[self.at - size : self.at].decode()

    def nodes(self) -> None:
        """Patch an array of node ids."""
        count = self.int32()
        if count <= 0:
            return
        ints = _INTS[count] if count < len(_INTS) else struct.Struct(f">{count}i")
        values = ints.unpack_from(self.data, self.at)
        ints.pack_into(self.data, self.at, *[value + self.base for value in values])
        self.at += 4 * count

    def partition(self) -> None:
        data = self.data
        self.at += 6  # error and index
        (leader,) = _INT32.unpack_from(data, self.at)
        if leader >= 0:
            _INT32.pack_into(data, self.at, leader + self.base)
        self.at += 4
        if self.version >= Metadata.LEADER_EPOCH:
            _INT32.pack_into(data, self.at, -1)
            self.at += 4
        self.nodes()
        self.nodes()
        if self.version >= Metadata.OFFLINE_REPLICAS:
            self.nodes()


def read(payload: bytes, version: int, base: int) -> Sliced[Answer]:
    """Read and patch an answer, versions 0 to 8 (``payload`` without the length).

    :param base: the number added to the cluster's broker ids (see :class:`NodeMap`).
    :raises MalformedFrame: ``payload`` is not a METADATA answer of that version.
    :raises UpstreamUnavailable: the answer names no broker. A broker answers so when it has just started and was told
        of nothing yet: it does not know its own Topics either. Clients ignore an answer without brokers; if it listed
        the virtual nodes, they would believe that their Topics are gone.
    """
    try:
        answer = yield from _read(_Patcher(payload, version, base))
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise MalformedFrame(f"a METADATA version {version} answer cannot be read ({error})") from None
    if not answer.brokers:
        raise UpstreamUnavailable("the broker has just started and knows no broker yet")
    return answer


def _read(patcher: _Patcher) -> Sliced[Answer]:
    version = patcher.version
    correlation_id = patcher.int32()
    throttle = patcher.int32() if version >= Metadata.THROTTLE_TIME else 0
    brokers = []
    for _ in range(patcher.int32()):
        broker = Broker(patcher.int32(), patcher.text(), patcher.int32())
        brokers.append(broker)
        if version >= Metadata.CONTROLLER:
            patcher.text()  # rack
    if version >= Metadata.CLUSTER_ID:
        patcher.text()  # cluster id
    if version >= Metadata.CONTROLLER:
        patcher.int32()  # controller
    topics, since_pause = [], 0
    for _ in range(patcher.int32()):
        start = patcher.at
        error, name = patcher.int16(), patcher.text()
        if version >= Metadata.CONTROLLER:
            patcher.at += 1
        partitions = patcher.int32()
        for _ in range(partitions):
            patcher.partition()
            since_pause += 1
            if since_pause == SLICE:
                since_pause = 0
                yield
        if version >= Metadata.OPERATIONS:
            patcher.at += 4
        if patcher.at > len(patcher.data):
            raise MalformedFrame("a METADATA answer is cut off")
        topics.append(Topic(name, error, partitions, bytes(patcher.data[start : patcher.at])))
    operations = patcher.int32() if version >= Metadata.OPERATIONS else _NO_OPERATIONS
    return Answer(version, correlation_id, throttle, tuple(brokers), topics, operations)


def compose(
    answer: Answer, topics: Iterable[Topic], cluster_id: str, controller: int, nodes: NodeMap
) -> bytes:
    """Return the framed answer to the client: ``answer`` with ``topics`` in place of its own."""
    version = answer.version
    parts = [_INT32.pack(answer.correlation_id)]
    if version >= Metadata.THROTTLE_TIME:
        parts.append(_INT32.pack(answer.throttle))
    parts.append(nodes.encoded(with_rack=version >= Metadata.CONTROLLER))
    if version >= Metadata.CLUSTER_ID:
        parts.append(_text(cluster_id))
    if version >= Metadata.CONTROLLER:
        parts.append(_INT32.pack(controller))
    bodies = [topic.body for topic in topics]
    parts.append(_INT32.pack(len(bodies)))
    parts += bodies
    if version >= Metadata.OPERATIONS:
        parts.append(_INT32.pack(answer.cluster_operations))
    parts.insert(0, _INT32.pack(sum(map(len, parts))))
    return b"".join(parts)


def with_leaders(topic: Topic, version: int, leaders: tuple[int, ...], base: int) -> Topic:
    """Return ``topic`` with the leaders that it has on another cluster, by broker id.

    A partition whose leader is unknown has none: its client asks again. The Topic then exists, whatever its own cluster
    says: an error stays only if no partition is known.
    """
    count = topic.partitions or len(leaders)
    partitions = [leaders[index] if index < len(leaders) else -1 for index in range(count)]
    topic_error = int(ErrorCode.none) if partitions else topic.error
    parts = [_head(topic.name, topic_error, version, topic.body), _INT32.pack(count)]
    for index, leader in enumerate(partitions):
        error = ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available
        known = _INTS[2].pack(1, leader + base) if leader >= 0 else _INT32.pack(0)
        parts.append(_INT16.pack(int(error)))
        parts.append(_INTS[2].pack(index, leader + base if leader >= 0 else -1))
        if version >= Metadata.LEADER_EPOCH:
            parts.append(_INT32.pack(-1))
        parts.append(known)
        parts.append(known)
        if version >= Metadata.OFFLINE_REPLICAS:
            parts.append(_INT32.pack(0))
    if version >= Metadata.OPERATIONS:
        parts.append(topic.body[-4:])
    return Topic(topic.name, topic_error, count, b"".join(parts))


def absent(name: str, version: int) -> Topic:
    """Return a broker's entry for a Topic that it does not know."""
    error = int(ErrorCode.unknown_topic_or_partition)
    parts = [_INT16.pack(error), _text(name)]
    if version >= Metadata.CONTROLLER:
        parts.append(b"\0")  # not internal
    parts.append(_INT32.pack(0))
    if version >= Metadata.OPERATIONS:
        parts.append(_INT32.pack(_NO_OPERATIONS))
    return Topic(name, error, 0, b"".join(parts))


def _head(name: str, error: int, version: int, body: bytes) -> bytes:
    """Return the part of a Topic's entry before its partitions."""
    head = _INT16.pack(error) + _text(name)
    return head + body[len(head) : len(head) + 1] if version >= Metadata.CONTROLLER else head


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _INT16.pack(len(encoded)) + encoded
