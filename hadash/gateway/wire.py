"""Frames and headers. A frame is a length (int32) and that many bytes; what arrives is not to be trusted."""

from __future__ import annotations

import struct
from asyncio import AbstractEventLoop, IncompleteReadError, StreamReader
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hadash.gateway.kinds import OFFERED, Kind, lookup

_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")


class WireError(Exception):
    """Bytes that are not Kafka's protocol. The connection is closed; the message goes to the log."""


class FrameTooLarge(WireError):
    """A frame larger than the limit: refused before a byte of it is read."""


class MalformedFrame(WireError):
    """A frame whose content is not what its header says."""


class UnknownKind(WireError):
    """A request kind that API_VERSIONS did not offer."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came: ``frame`` is everything after the length."""

    kind: Kind
    version: int
    correlation_id: int
    client_id: str
    frame: bytes
    #: Where the body begins in ``frame``; for a flexible header this is before its tagged fields.
    body: int

    @property
    def supported(self) -> bool:
        """Whether the version is one that API_VERSIONS offered."""
        low, high = OFFERED[self.kind]
        return low <= self.version <= high


class ClientReader(StreamReader):
    """A stream that tells when its client has hung up, also while nobody reads it, and when each frame came."""

    def __init__(self, limit: int, loop: AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.ended = False
        self.on_end: Callable[[], None] | None = None
        #: When the first byte of the last frame came, in the loop's time.
        self.frame_arrived = 0.0
        self._clock = loop.time
        self._received = self._consumed = 0
        #: For each piece that came: how many bytes there were with it, and when.
        self._arrivals: deque[tuple[int, float]] = deque()

    def feed_data(self, data: Any) -> None:
        self._received += len(data)
        self._arrivals.append((self._received, self._clock()))
        super().feed_data(data)

    def feed_eof(self) -> None:
        super().feed_eof()
        self._end()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._end()

    def _end(self) -> None:
        self.ended = True
        if self.on_end is not None:
            self.on_end()

    async def next_frame(self, limit: int) -> bytes | None:
        """As :func:`read_frame`; ``frame_arrived`` then says when it came."""
        frame = await read_frame(self, limit)
        if frame is not None:
            while self._arrivals[0][0] <= self._consumed:
                self._arrivals.popleft()
            self.frame_arrived = self._arrivals[0][1]
            self._consumed += _LENGTH.size + len(frame)
        return frame


async def read_frame(reader: StreamReader, limit: int) -> bytes | None:
    """The next frame without its length, or ``None`` at the end of the stream.

    :raises FrameTooLarge: the length exceeds ``limit``.
    :raises MalformedFrame: a negative length, or the stream ends inside a frame.
    """
    try:
        prefix = await reader.readexactly(4)
    except IncompleteReadError as error:
        if error.partial:
            raise MalformedFrame("the connection ended inside a frame's length") from None
        return None
    (length,) = _LENGTH.unpack(prefix)
    if length > limit:
        raise FrameTooLarge(f"a frame of {length} bytes; at most {limit} are allowed here")
    if length < 0:
        raise MalformedFrame(f"a frame of {length} bytes")
    try:
        return await reader.readexactly(length)
    except IncompleteReadError:
        raise MalformedFrame(f"the connection ended inside a frame of {length} bytes") from None


def parse_request(frame: bytes) -> Request:
    """Read the header of ``frame``.

    :raises MalformedFrame: it is too short, or its client.id is not text.
    :raises UnknownKind: the API key is not served.
    """
    if len(frame) < _HEADER.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no header")
    api_key, version, correlation_id, client_id_length = _HEADER.unpack_from(frame)
    end = _HEADER.size + max(client_id_length, 0)
    if client_id_length < -1 or end > len(frame):
        raise MalformedFrame(f"a client.id of {client_id_length} bytes in a frame of {len(frame)}")
    kind = lookup(api_key)
    if kind is None:
        raise UnknownKind(f"request kind {api_key} version {version} is not served here")
    try:
        client_id = frame[_HEADER.size : end].decode()
    except UnicodeDecodeError:
        raise MalformedFrame("the client.id is not UTF-8") from None
    return Request(kind, version, correlation_id, client_id, frame, end)


def framed(payload: bytes) -> bytes:
    """``payload`` with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


def correlation_of(payload: bytes) -> int:
    """The correlation id that a response begins with."""
    if len(payload) < 4:
        raise MalformedFrame(f"a response of {len(payload)} bytes")
    correlation_id: int = _LENGTH.unpack_from(payload)[0]
    return correlation_id
