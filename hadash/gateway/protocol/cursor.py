"""Stepping through a message's bytes without decoding it. The bytes are not trusted."""

from __future__ import annotations

from hadash.gateway.protocol.wire import MalformedFrame


class Cursor:
    """Reads big-endian fields from bytes. Every method raises :class:`MalformedFrame` at the end of the bytes."""

    __slots__ = ("at", "data", "flexible")

    def __init__(self, data: bytes, at: int, flexible: bool) -> None:
        self.data = data
        self.at = at
        self.flexible = flexible

    def _take(self, size: int) -> int:
        start = self.at
        if size < 0 or start + size > len(self.data):
            raise MalformedFrame(f"a field of {size} bytes at {start} in a frame of {len(self.data)}")
        self.at = start + size
        return start

    def int16(self) -> int:
        start = self._take(2)
        return int.from_bytes(self.data[start : start + 2], "big", signed=True)

    def int32(self) -> int:
        start = self._take(4)
        return int.from_bytes(self.data[start : start + 4], "big", signed=True)

    def varint(self) -> int:
        """Read an unsigned variable-length integer of at most five bytes."""
        value = shift = 0
        while True:
            byte = self.data[self._take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedFrame("a variable-length integer of more than five bytes")

    def count(self) -> int:
        """Read the length of an array; a null array counts as empty."""
        return max(self.varint() - 1 if self.flexible else self.int32(), 0)

    def text(self) -> str | None:
        """Read a string, compact if the message is flexible; ``None`` for null."""
        size = self.varint() - 1 if self.flexible else self.int16()
        if size < 0:
            return None
        start = self._take(size)
        try:
            return self.data[start : start + size].decode()
        except UnicodeDecodeError:
            raise MalformedFrame("a name that is not UTF-8") from None

    def sized(self) -> tuple[int, int]:
        """Return the start and end of a block of bytes; a null block is empty."""
        size = max(self.varint() - 1 if self.flexible else self.int32(), 0)
        start = self._take(size)
        return start, start + size

    def skip(self, size: int) -> None:
        self._take(size)

    def tags(self) -> None:
        """Skip the tagged fields of a flexible message; other messages have none."""
        if self.flexible:
            for _ in range(self.varint()):
                self.varint()
                self._take(self.varint())
