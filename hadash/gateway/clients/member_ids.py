"""The cluster that each group member comes from.

A member id is issued by one cluster and means nothing on the other, where a static member (``group.instance.id``) can
be fenced because of it. The Gateway remembers which cluster knows it.

The memory outlives a connection: a client that moves comes back on a new connection, to any process of the Gateway
that the kernel chooses, or after a restart. So the memory is a table in a file that all processes map; without a file
it belongs to one process.
"""

from __future__ import annotations

import mmap
import struct
from hashlib import blake2b
from pathlib import Path

#: Slots of the table: a million members in 8 MiB.
SLOTS = 1 << 20

#: Slots that an entry may use. If others use all of them, one is overwritten.
_BUCKET = 8

#: A slot is one word of eight bytes: 56 bits of the key's digest and the cluster's number. It is written in one aligned
#: store, so a process that reads at that time finds the old word or the new one.
_WORD = struct.Struct("<Q")
_SIZE = SLOTS * _WORD.size


class MemberIds:
    """A bounded map from a key to the cluster that knows it.

    :param numbers: the pair's clusters with their numbers, 1 to 255.
    :param path: the shared file; created when it does not exist. ``None``: the memory of this process.
    :raises OSError: the file cannot be used.
    """

    def __init__(self, numbers: dict[str, int], path: Path | None = None) -> None:
        self._numbers = {name: number & 0xFF for name, number in numbers.items()}
        self._names = {number: name for name, number in self._numbers.items()}
        self._table = mmap.mmap(-1, _SIZE) if path is None else _mapped(path)

    def of(self, *key: str | int) -> str | None:
        """Return the cluster that knows ``key``; ``None`` when the key has not been seen."""
        digest = _digest(key)
        for at in _places(digest):
            (word,) = _WORD.unpack_from(self._table, at)
            if word >> 8 == digest:
                return self._names.get(word & 0xFF)
        return None

    def remember(self, cluster: str, *key: str | int) -> None:
        """Note that ``cluster`` knows ``key``."""
        digest = _digest(key)
        free = None
        for at in _places(digest):
            (word,) = _WORD.unpack_from(self._table, at)
            if word >> 8 == digest:
                free = at
                break
            if word == 0 and free is None:
                free = at
        if free is None:
            # Any slot: the last use is not recorded, and a full bucket is rare.
            free = _places(digest)[(digest >> 40) % _BUCKET]
        _WORD.pack_into(self._table, free, digest << 8 | self._numbers[cluster])

    def close(self) -> None:
        self._table.close()


def _mapped(path: Path) -> mmap.mmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.seek(0, 2) != _SIZE:
            file.truncate(_SIZE)
        return mmap.mmap(file.fileno(), _SIZE)


def _digest(key: tuple[str | int, ...]) -> int:
    """Return 56 bits of a digest, the same in every process."""
    text = "\0".join(map(str, key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=7).digest(), "little")


def _places(digest: int) -> range:
    first = digest % (SLOTS // _BUCKET) * _BUCKET * _WORD.size
    return range(first, first + _BUCKET * _WORD.size, _WORD.size)
