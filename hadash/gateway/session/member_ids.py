"""Where group members come from.

A member id is handed out by one cluster and means nothing on the other, where a static member
(``group.instance.id``) can be fenced for it. The Gateway remembers which cluster knows it.

What is remembered outlives a connection: a client that moves comes back on a new one, to whichever process of the
Gateway the kernel gives it to, or after a restart. So the memory is a table in a file that all processes map; without a
file it is one process's own.
"""

from __future__ import annotations

import mmap
import struct
from hashlib import blake2b
from pathlib import Path

#: Places in the table: a million members in 8 MiB.
SLOTS = 1 << 20

#: Places in which an entry may stand. When all are taken by others, one of them goes.
_BUCKET = 8

#: A place is one word of eight bytes: 56 bits of the key's digest and the cluster's number. It is written in one
#: aligned store, so a process that reads meanwhile finds the old word or the new one.
_WORD = struct.Struct("<Q")
_SIZE = SLOTS * _WORD.size


class Origins:
    """A bounded map from a key to the cluster that knows it.

    :param numbers: the pair's clusters by their numbers, 1 to 255.
    :param path: the file that is shared; made when it is not there. ``None``: the memory of this process.
    :raises OSError: the file cannot be used.
    """

    def __init__(self, numbers: dict[str, int], path: Path | None = None) -> None:
        self._numbers = {name: number & 0xFF for name, number in numbers.items()}
        self._names = {number: name for name, number in self._numbers.items()}
        self._table = mmap.mmap(-1, _SIZE) if path is None else _mapped(path)

    def of(self, *key: str | int) -> str | None:
        """The cluster that knows ``key``; ``None`` when it has not been seen."""
        digest = _digest(key)
        for at in _places(digest):
            (word,) = _WORD.unpack_from(self._table, at)
            if word >> 8 == digest:
                return self._names.get(word & 0xFF)
        return None

    def remember(self, cluster: str, *key: str | int) -> None:
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
            # Any of them: which was used last nobody has noted, and a full bucket is rare.
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
    """56 bits, the same in every process."""
    text = "\0".join(map(str, key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=7).digest(), "little")


def _places(digest: int) -> range:
    first = digest % (SLOTS // _BUCKET) * _BUCKET * _WORD.size
    return range(first, first + _BUCKET * _WORD.size, _WORD.size)
