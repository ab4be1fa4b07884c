"""Compares both sides of a partition, record by record, as they are read. Pure.

A mirror copies every record once and in order, so both sides are the same sequence, at a constant distance of offsets.
Where they differ, the next place is searched at which they agree again; what lies between is what differs. Offsets are
compared as well, but do not decide what belongs together: after one that is missing, all later ones would differ.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from hadash.auditing.differing import Block, differences
from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print

#: Records that have to agree, one after the other, for both sides to be at the same place again: a single one may agree
#: by chance, as heartbeats do.
AGREE = 8

#: Records of each side in which that place is searched. More than a Connect worker copies again when it dies
#: (``offset.flush.interval.ms``), and little memory: some ten MiB.
SEARCHED = 50_000


class Which(Enum):
    """A side of a partition."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(slots=True)
class Side:
    """Records of one side that were read and not compared yet, in their order."""

    offsets: list[int] = field(default_factory=list)
    prints: list[Print] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.prints)

    def drop(self, count: int) -> None:
        del self.offsets[:count]
        del self.prints[:count]

    def cut(self, offset: int) -> Side:
        """Take the records from an offset on away, and return them."""
        place = bisect_left(self.offsets, offset)
        cut = Side(self.offsets[place:], self.prints[place:])
        del self.offsets[place:]
        del self.prints[place:]
        return cut


class Aligner:
    """Compares a partition, from a place at which both sides correspond.

    :param source_next: the source offset of that place, and ``target_next`` that of the same record on the target.
    """

    def __init__(self, source_next: int, target_next: int) -> None:
        self.source, self.target = Side(), Side()
        #: Up to here (exclusively) everything was compared, and either agrees or was found.
        self.source_next, self.target_next = source_next, target_next
        #: How many records were found to be the same.
        self.equal = 0
        #: The distance of offsets that is expected of the next records.
        self._distance = target_next - source_next

    def feed(self, side: Side, offsets: Sequence[int], prints: Sequence[Print]) -> None:
        """Take records that were read.

        :param side: :attr:`source` or :attr:`target`. :param offsets: ascending.
        """
        side.offsets.extend(offsets)
        side.prints.extend(prints)

    def compare(self, *, is_end: bool = False) -> Iterator[Finding]:
        """Compare as far as can be told, and yield what differs.

        :param is_end: nothing follows on either side (up to the end that both are to have): what one side has more is
            missing, or too much. Otherwise it may only be late.
        """
        while True:
            yield from self._equal(_common(self.source.prints, self.target.prints))
            if not self.source or not self.target:
                break
            place = agreeing(self.source.prints, self.target.prints, is_end=is_end)
            if place is None:
                if not self._is_full() and not is_end:
                    return  # more has to be read to tell
                place = min(len(self.source), SEARCHED), min(len(self.target), SEARCHED)
            yield from self._unequal(*place)
        if is_end and (self.source or self.target):
            yield from self._unequal(len(self.source), len(self.target))

    def settle(self, end: int | None = None) -> list[Finding]:
        """Return what differs in what the target holds before an offset: all that the source held when that was the
        target's end was read. What the source has more may only be late, and of what the target has from there on the
        source's records may not be read yet.

        :param end: the offset; ``None``: after all that was read.
        """
        later = self.target.cut(end) if end is not None else Side()
        found: list[Finding] = []
        while self.target:
            found += self._equal(_common(self.source.prints, self.target.prints))
            if not self.target:
                break
            place = agreeing(self.source.prints, self.target.prints, is_end=False, target_ends=True)
            found += self._unequal(*(place or (self._replaced(), len(self.target))))
        self.feed(self.target, later.offsets, later.prints)
        return found

    def _replaced(self) -> int:
        """How many records of the source those of the target stand for, where neither is found on the other side:
        altered ones have the same times; otherwise the source's are late, and the target's too much.
        """
        pairs = list(zip(self.source.prints, self.target.prints, strict=False))
        return len(pairs) if pairs and all(ours.time == theirs.time for ours, theirs in pairs) else 0

    def _is_full(self) -> bool:
        return len(self.source) >= SEARCHED and len(self.target) >= SEARCHED

    def _equal(self, count: int) -> Iterator[Finding]:
        """Take the first records of both sides, which agree."""
        if count:
            yield from self._moved_offsets(self.source.offsets[:count], self.target.offsets[:count])
            self.equal += count
            self._advance(count, count)

    def _unequal(self, ours: int, theirs: int) -> Iterator[Finding]:
        """Say what differs in the first records of both sides."""
        block = Block(
            self.source.offsets[:ours],
            self.source.prints[:ours],
            self.target.offsets[:theirs],
            self.target.prints[:theirs],
        )
        found, same = differences(
            block, self._offset_at(self.source, ours), self._offset_at(self.target, theirs)
        )
        yield from found
        self.equal += same
        kinds = Counter(each.kind for each in found)
        self._distance += kinds[Kind.EXTRA] - kinds[Kind.MISSING]
        self._advance(ours, theirs)

    def _offset_at(self, side: Side, place: int) -> int:
        """The offset of a record, or the one that follows the last that is known."""
        if place < len(side):
            return side.offsets[place]
        if side.offsets:
            return side.offsets[-1] + 1
        return self.source_next if side is self.source else self.target_next

    def _advance(self, ours: int, theirs: int) -> None:
        if ours:
            self.source_next = self.source.offsets[ours - 1] + 1
            self.source.drop(ours)
        if theirs:
            self.target_next = self.target.offsets[theirs - 1] + 1
            self.target.drop(theirs)

    def _moved_offsets(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Finding]:
        """Say where the distance of offsets changes among records that agree."""
        has_gaps = ours[-1] - ours[0] != theirs[-1] - theirs[0] or ours[-1] - ours[0] >= len(ours)
        for here, there in zip(ours, theirs, strict=True) if has_gaps else ((ours[0], theirs[0]),):
            if there - here != self._distance:
                self._distance = there - here
                yield Finding(Kind.OFFSETS, here, there)


def _common(ours: Sequence[Print], theirs: Sequence[Print]) -> int:
    """How many records agree from the beginning on. Whole runs are compared at once: nearly all of them agree.

    >>> a, b = Print(1, 1, 0, 0), Print(2, 2, 0, 0)
    >>> _common([a, b, a], [a, b, b]), _common([a], []), _common([a], [a, b])
    (2, 0, 1)
    """
    length = min(len(ours), len(theirs))
    if ours[:length] == theirs[:length]:
        return length
    least, most = 0, length
    while most - least > 1:  # the first ``least`` agree, the first ``most`` do not
        middle = (least + most) // 2
        if ours[least:middle] == theirs[least:middle]:
            least = middle
        else:
            most = middle
    return least


def agreeing(
    ours: Sequence[Print], theirs: Sequence[Print], *, is_end: bool, target_ends: bool = False
) -> tuple[int, int] | None:
    """The nearest place at which both sides agree again, as the number of records before it on each side; ``None`` when
    there is none in what was read.

    :param target_ends: nothing follows on the target: there as many records as it has left are enough.
    """
    places: dict[Print, list[int]] = {}
    for there, each in enumerate(islice(theirs, SEARCHED)):
        places.setdefault(each, []).append(there)
    best: tuple[int, int] | None = None
    for here, each in enumerate(islice(ours, SEARCHED)):
        if best is not None and here >= sum(best):
            break
        for there in places.get(each, ()):
            if best is not None and here + there >= sum(best):
                break
            left = theirs[there : there + AGREE]
            count = len(left) if target_ends else AGREE
            if _agree(ours[here : here + count], left, is_end=is_end or target_ends):
                best = here, there
                break
    return best


def _agree(ours: Sequence[Print], theirs: Sequence[Print], *, is_end: bool) -> bool:
    """Whether so many records agree that both sides are at the same place; at the end of both, all that are left."""
    return ours == theirs and (len(ours) == AGREE or is_end)
