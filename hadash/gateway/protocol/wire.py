"""Frames and headers. A frame is a length (int32) and that many bytes. Received bytes are not trusted."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

from hadash.gateway.protocol.api_keys import SERVED, ApiKey, lookup

_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")


class WireError(Exception):
    """Bytes that are not Kafka's protocol. The connection is closed; the message goes to the log."""


class FrameTooLarge(WireError):
    """A frame larger than the limit: refused before a byte of it is read."""


class MalformedFrame(WireError):
    """A frame whose content contradicts its header."""


class NotServed(WireError):
    """An API, or a version of one, that is not served."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as received: ``frame`` is everything after the length."""

    kind: ApiKey
    version: int
    correlation_id: int
    client_id: str
    frame: bytes
    #: Where the body begins in ``frame``; for a flexible header this is before its tagged fields.
    body: int

    @property
    def supported(self) -> bool:
        """Whether the version is served."""
        low, high = SERVED[self.kind]
        return low <= self.version <= high


class FrameSplitter:
    """Cuts a stream of bytes into frames. Does no I/O: the caller passes received bytes.

    Frames are cut one by one on request (:meth:`push`, then :meth:`next`), so that a read of many small frames costs
    nothing before its turn; or all at once (:meth:`feed`). ``limit`` is the largest frame accepted; it may change
    between two frames.
    """

    __slots__ = ("_at", "_broken", "_now", "_piece", "_pieces", "held", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        #: The length that broke the stream, and the limit at that time.
        self._broken: tuple[int, int] | None = None
        #: Received bytes that are not handed out yet.
        self.held = 0
        #: The piece that is being cut, where its next frame begins, and when the piece was received.
        self._piece = b""
        self._at = 0
        self._now = 0.0
        #: The pieces received after it.
        self._pieces: deque[tuple[bytes, float]] = deque()

    def push(self, data: bytes, now: float = 0.0) -> None:
        """Take bytes that were received at ``now``, in any clock."""
        if self._broken is not None or not data:
            return
        if self.held:
            self._pieces.append((data, now))
        else:
            self._piece, self._at, self._now = data, 0, now
        self.held += len(data)

    def next(self) -> tuple[bytes, float] | None:
        """Return the next frame, without its length, and when its first byte was received; ``None`` when it is not
        complete, or the stream is broken.
        """
        if self.held < _LENGTH.size or self._broken is not None:
            self._forget_handed_out()
            return None
        began, at, end = self._now, self._at, len(self._piece)
        if end - at >= _LENGTH.size:
            length: int = _LENGTH.unpack_from(self._piece, at)[0]
        else:
            length = _LENGTH.unpack(self._peek(_LENGTH.size))[0]
        if not 0 <= length <= self.limit:
            self._broken = (length, self.limit)
            self.clear()
            return None
        need = _LENGTH.size + length
        if self.held < need:
            self._forget_handed_out()
            return None
        if end - at >= need:
            frame = self._piece[at + _LENGTH.size : at + need]
            self._at += need
        else:
            frame = self._gather(need)[_LENGTH.size :]
        self.held -= need
        if self._at == len(self._piece):
            self._next_piece()
        return frame, began

    def feed(self, data: bytes, now: float = 0.0) -> list[tuple[bytes, float]]:
        """Return the frames that ``data`` completes, without their lengths, and when the first byte of each arrived."""
        self.push(data, now)
        frames = []
        while (frame := self.next()) is not None:
            frames.append(frame)
        return frames

    def clear(self) -> None:
        """Drop the bytes that are held."""
        self._piece, self._at, self.held = b"", 0, 0
        self._pieces.clear()

    def _forget_handed_out(self) -> None:
        """Release a large read of which only a few bytes are left."""
        if self._at:
            self._piece, self._at = self._piece[self._at :], 0

    def _next_piece(self) -> None:
        if self._pieces:
            self._piece, self._now = self._pieces.popleft()
        else:
            self._piece = b""
        self._at = 0

    def _gather(self, size: int) -> bytes:
        """Return ``size`` bytes that span several pieces, and advance."""
        found = []
        while size:
            part = self._piece[self._at : self._at + size] if self._at else self._piece[:size]
            found.append(part)
            size -= len(part)
            self._at += len(part)
            if size:
                self._next_piece()
        return b"".join(found)

    def _peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes, or as many as there are, without advancing."""
        found = self._piece[self._at : self._at + size]
        for piece, _ in self._pieces:
            if len(found) == size:
                break
            found += piece[: size - len(found)]
        return found

    @property
    def broken(self) -> bool:
        """Whether the stream cannot be read any further: after a negative length, or one above the limit. No bytes are
        kept then.
        """
        return self._broken is not None

    def check(self) -> None:
        """Raise the error of a broken stream.

        The error is new each time: one that is kept would keep alive everything in its traceback.

        :raises WireError: the stream is broken.
        """
        if self._broken is None:
            return
        length, limit = self._broken
        if length < 0:
            raise MalformedFrame(f"a frame of {length} bytes")
        raise FrameTooLarge(f"a frame of {length} bytes; at most {limit} are allowed here")

    @property
    def need(self) -> int:
        """Bytes of the next frame with its length, whether valid or not; 0 until its length has been received."""
        if self.held < _LENGTH.size:
            return 0
        length: int = _LENGTH.unpack(self._peek(_LENGTH.size))[0]
        return _LENGTH.size + length

    @property
    def ready(self) -> bool:
        """Whether a whole frame is held, or the stream is broken."""
        if self._broken is not None:
            return True
        if self.held < _LENGTH.size:
            return False
        length = self.need - _LENGTH.size
        return not 0 <= length <= self.limit or self.held >= _LENGTH.size + length

    def count(self, most: int) -> int:
        """Return how many whole frames are held, at most ``most``, without those that span several pieces."""
        found, at, end = 0, self._at, len(self._piece)
        while found < most and end - at >= _LENGTH.size:
            length: int = _LENGTH.unpack_from(self._piece, at)[0]
            at += _LENGTH.size + length
            if not 0 <= length <= self.limit or at > end:
                break
            found += 1
        return found

    @property
    def missing(self) -> str:
        """What the stream would end inside of if it ended now; empty between two frames.

        It is meant for when no whole frame is held.
        """
        if not self.held:
            return ""
        if self.held < _LENGTH.size:
            return "a frame's length"
        return f"a frame of {self.need - _LENGTH.size} bytes"

    @property
    def missing_bytes(self) -> int:
        """The bytes of the begun frame that are still to come; 0 until its correlation id has been received."""
        return self.need - self.held if self.held >= 2 * _LENGTH.size else 0

    def take_partial(self) -> tuple[int, bytes] | None:
        """Return the begun frame, for a caller that passes it on before it is complete: its length, and its bytes so
        far (without the length).

        The splitter continues with what follows. ``None`` when the length is not known yet.
        """
        if self.held < _LENGTH.size:
            return None
        length = self.need - _LENGTH.size
        data = self._gather(self.held)[_LENGTH.size :]
        self.clear()
        return length, data


def parse_request(frame: bytes) -> Request:
    """Read the header of ``frame``.

    :raises MalformedFrame: ``frame`` is too short, or its client.id is not text.
    :raises NotServed: the API key is not served.
    """
    if len(frame) < _HEADER.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no header")
    api_key, version, correlation_id, client_id_length = _HEADER.unpack_from(frame)
    end = _HEADER.size + max(client_id_length, 0)
    if client_id_length < -1 or end > len(frame):
        raise MalformedFrame(f"a client.id of {client_id_length} bytes in a frame of {len(frame)}")
    kind = lookup(api_key)
    if kind is None:
        raise NotServed(f"API {api_key} version {version} is not served here")
    try:
        client_id = frame[_HEADER.size : end].decode()
    except UnicodeDecodeError:
        raise MalformedFrame("the client.id is not UTF-8") from None
    return Request(kind, version, correlation_id, client_id, frame, end)


def length_of(payload: bytes) -> bytes:
    """Return the length that precedes ``payload`` in the stream."""
    return _LENGTH.pack(len(payload))


def framed(payload: bytes) -> bytes:
    """Return ``payload`` with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


def correlation_of(payload: bytes) -> int:
    """Return the correlation id at the beginning of a response.

    :raises MalformedFrame: the response is too short.
    """
    if len(payload) < 4:
        raise MalformedFrame(f"a response of {len(payload)} bytes")
    correlation_id: int = _LENGTH.unpack_from(payload)[0]
    return correlation_id
