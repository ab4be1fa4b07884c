"""Frames and headers. A frame is a length (int32) and that many bytes; what arrives is not to be trusted."""

from __future__ import annotations

import struct
from dataclasses import dataclass

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


class FrameSplitter:
    """Cuts a stream of bytes into frames. Does no I/O: it is fed what has come.

    ``limit`` is the largest frame that is taken; it may change between two frames.
    """

    __slots__ = ("_have", "_need", "_pieces", "began", "broken", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        #: Why the stream cannot be read any further: a length above the limit, of which nothing is kept, or a negative one.
        self.broken: WireError | None = None
        #: When the first byte of the frame that is not complete yet came, in the clock of :meth:`feed`.
        self.began = 0.0
        self._pieces: list[bytes] = []
        self._have = 0
        self._need = _LENGTH.size

    def feed(self, data: bytes, now: float = 0.0) -> list[tuple[bytes, float]]:
        """The frames that ``data`` completes, without their lengths, and when the first byte of each came."""
        if self.broken is not None:
            return []
        if self._pieces:
            began = self.began
            self._pieces.append(data)
            self._have += len(data)
            if self._have < self._need:
                return []
            data = b"".join(self._pieces)
            self._pieces = []
        else:
            began = now
        frames: list[tuple[bytes, float]] = []
        at, end = 0, len(data)
        while end - at >= _LENGTH.size:
            length: int = _LENGTH.unpack_from(data, at)[0]
            if not 0 <= length <= self.limit:
                self._break(length)
                return frames
            self._need = _LENGTH.size + length
            if end - at < self._need:
                break
            frames.append((data[at + _LENGTH.size : at + self._need], began))
            at += self._need
            self._need = _LENGTH.size
            began = now
        if at < end:
            self._pieces.append(data[at:] if at else data)
            self._have = end - at
            self.began = began
        return frames

    def _break(self, length: int) -> None:
        if length < 0:
            self.broken = MalformedFrame(f"a frame of {length} bytes")
        else:
            self.broken = FrameTooLarge(f"a frame of {length} bytes; at most {self.limit} are allowed here")

    @property
    def missing(self) -> str:
        """What the stream would end inside of, were it to end now; empty between two frames."""
        if not self._pieces:
            return ""
        if self._need == _LENGTH.size:
            return "a frame's length"
        return f"a frame of {self._need - _LENGTH.size} bytes"

    @property
    def missing_bytes(self) -> int:
        """How much of the frame that has begun is still to come; 0 until its correlation id has come."""
        return self._need - self._have if self._pieces and self._have >= 2 * _LENGTH.size else 0

    def take_partial(self) -> tuple[int, bytes] | None:
        """The frame that has begun, for somebody who passes it on before it is complete: its length, and what has come
        of it (without the length). The splitter goes on with what follows it. ``None`` when not even the length is known.
        """
        if not self._pieces or self._need == _LENGTH.size:
            return None
        length = self._need - _LENGTH.size
        data = b"".join(self._pieces)[_LENGTH.size :]
        self._pieces = []
        self._need = _LENGTH.size
        return length, data


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


def length_of(payload: bytes) -> bytes:
    """The length that stands before ``payload`` in the stream."""
    return _LENGTH.pack(len(payload))


def framed(payload: bytes) -> bytes:
    """``payload`` with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


def correlation_of(payload: bytes) -> int:
    """The correlation id that a response begins with."""
    if len(payload) < 4:
        raise MalformedFrame(f"a response of {len(payload)} bytes")
    correlation_id: int = _LENGTH.unpack_from(payload)[0]
    return correlation_id
