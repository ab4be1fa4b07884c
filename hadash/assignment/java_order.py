"""The order in which Java's HashMap and HashSet yield their keys, and in which Java sorts text: assignments
depend on both.

A HashMap puts a key into one of 2ⁿ buckets by its hash code and yields bucket by bucket; keys of one bucket
come in insertion order. It doubles its buckets when it is three quarters full. From the ninth key of one
bucket on it makes a tree of them, with an order of its own: that is not modelled and raises
:class:`~hadash.assignment.errors.NotKnown`. (With member ids that end in UUIDs it does not happen.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

from hadash.assignment.errors import NotKnown
from hadash.assignment.values import Partition
from hadash.sentences import say

K = TypeVar("K")

_32_BITS = 0xFFFFFFFF
_PLACES = 16
#: Most keys in one bucket: beyond that the map doubles, or makes a tree of them once it has
#: ``_ENOUGH_FOR_TREES`` buckets.
_CROWD, _ENOUGH_FOR_TREES = 8, 64


@lru_cache(maxsize=65536)
def string_hash(text: str) -> int:
    """``String.hashCode()``, as an unsigned number.

    >>> string_hash("Aa") == string_hash("BB") == 2112
    True
    """
    units = sort_key(text)
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & _32_BITS
    return code


def partition_hash(partition: Partition) -> int:
    """``TopicPartition.hashCode()``, as an unsigned number."""
    return (31 * (31 + partition.number) + string_hash(partition.topic)) & _32_BITS


def sort_key(text: str) -> bytes:
    """Return a key that sorts text as Java does: by UTF-16 units, while Python compares code points.

    >>> sorted(["\\uffee", "\\U0001f600"], key=sort_key) == ["\\U0001f600", "\\uffee"]
    True
    """
    return text.encode("utf-16-be", "surrogatepass")


class JavaHashSet(Generic[K]):
    """The keys of a ``new HashMap()`` (or the elements of a ``new HashSet()``) in the order in which Java yields them.

    >>> list(JavaHashSet(string_hash, ["q", "a", "b", "p"]))
    ['p', 'q', 'a', 'b']
    """

    def __init__(self, hash_code: Callable[[K], int], keys: Iterable[K] = ()) -> None:
        self._hash_code = hash_code
        self._places: list[list[K]] = [[] for _ in range(_PLACES)]
        self._size = 0
        for key in keys:
            self.add(key)

    def __iter__(self) -> Iterator[K]:
        for place in self._places:
            yield from place

    def __len__(self) -> int:
        return self._size

    def add(self, key: K) -> None:
        """Add a key; raises NotKnown where Java would make a tree."""
        place = self._place(key)
        if key in place:
            return
        place.append(key)
        if len(place) > _CROWD:
            if len(self._places) >= _ENOUGH_FOR_TREES:
                raise NotKnown(
                    say("So many names have the same place in a Java HashMap that their order is not known.")
                )
            self._double()
        self._size += 1
        if self._size > len(self._places) * 3 // 4:
            self._double()

    def discard(self, key: K) -> None:
        """Remove a key, if it is there. The number of buckets does not change."""
        place = self._place(key)
        if key in place:
            place.remove(key)
            self._size -= 1

    def _place(self, key: K) -> list[K]:
        code = self._hash_code(key)
        return self._places[(code ^ code >> 16) & len(self._places) - 1]

    def _double(self) -> None:
        keys = list(self)
        self._places = [[] for _ in range(2 * len(self._places))]
        for key in keys:
            self._place(key).append(key)
