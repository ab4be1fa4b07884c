"""Records as checksums: what is compared, and all that is kept of a record. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

#: The checksum of a part that is missing: a record without a key differs from one with an empty key.
NONE = -1


class Print(NamedTuple):
    """The checksums (CRC-32C) of a record's parts, and its time in milliseconds since 1970. Two records are taken for
    the same when all four agree.

    (One in four billion altered values has the checksum of the original, and its key, headers and time as well only if
    these were not altered: an auditor that compares again and again has to be quick, not proof against forgery.)
    """

    key: int
    value: int
    headers: int
    time: int

    def parts_unlike(self, other: Print) -> tuple[str, ...]:
        """The names of the parts in which two records differ.

        >>> Print(1, 2, 3, 4).parts_unlike(Print(1, 2, 5, 6))
        ('headers', 'time')
        """
        return tuple(
            name for name, ours, theirs in zip(self._fields, self, other, strict=True) if ours != theirs
        )


def print_of(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] | None,
    time: int,
) -> Print:
    """Return the checksums of a record.

    :param headers: in their order, which counts. :param time: milliseconds since 1970.

    >>> print_of(None, b"", [], 0) == print_of(b"", b"", [], 0)
    False
    """
    return Print(_sum(key), _sum(value), _headers(headers) if headers else 0, time)


def _sum(part: bytes | None) -> int:
    return NONE if part is None else crc32c(part)


def _headers(headers: Sequence[tuple[str, bytes | None]]) -> int:
    """The checksum of names and values with their lengths: no two lists of headers have the same bytes."""
    found = 0
    for name, value in headers:
        encoded = name.encode()
        found = crc32c(b"%d:%d:" % (len(encoded), NONE if value is None else len(value)), found)
        found = crc32c(encoded, found)
        if value:
            found = crc32c(value, found)
    return found
