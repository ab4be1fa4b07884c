"""Compares one partition as its records come in from both sides. Pure: it reads no clock and no cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from hadash.auditing.aligning import SEARCHED, Aligner, Which
from hadash.auditing.findings import Finding
from hadash.auditing.prints import Print
from hadash.auditing.windows import Windows
from hadash.auditors.places import Place

#: Windows that are told, the newest.
WINDOWS_TOLD = 12

#: How much more has to be read, as a share, before the place is searched again at which both sides agree: each search
#: looks at all that was read.
SEARCH_AGAIN = 1.25


class PartitionAuditor:
    """The comparison of a partition, from a place on."""

    def __init__(self, place: Place) -> None:
        self._aligner = Aligner(place.source, place.target)
        self._sides = {Which.SOURCE: self._aligner.source, Which.TARGET: self._aligner.target}
        #: The next offset to be read from each side.
        self.fetched = {Which.SOURCE: place.source, Which.TARGET: place.target}
        self.windows = {which: Windows() for which in Which}
        #: What was found and is not noted yet; the number of all that was found.
        self._found: list[Finding] = []
        self.different = 0
        #: The time of the last record of the source that was compared, in milliseconds since 1970.
        self.record_ms: int | None = None
        #: When records of the source were read that are not compared yet: (offset after them, time).
        self._read_at: deque[tuple[int, float]] = deque()
        #: How many records of both sides there were when they were last searched in vain.
        self._searched = 0

    # -- where it is -----------------------------------------------------------------------------------------------

    @property
    def source_next(self) -> int:
        return self._aligner.source_next

    @property
    def target_next(self) -> int:
        return self._aligner.target_next

    @property
    def equal(self) -> int:
        return self._aligner.equal

    @property
    def waiting_since(self) -> float | None:
        """When the oldest record of the source was read that the target does not hold yet; ``None`` without one."""
        return self._read_at[0][1] if self._sides[Which.SOURCE] else None

    @property
    def is_searching(self) -> bool:
        """Whether both sides differ, and it is not known yet where they agree again."""
        return bool(self._sides[Which.SOURCE]) and bool(self._sides[Which.TARGET])

    @property
    def held(self) -> int:
        """The number of records that are held in memory."""
        return sum(map(len, self._sides.values()))

    def wants(self, which: Which, ahead: int, *, may_search: bool) -> bool:
        """Whether more of a side is to be read.

        :param ahead: records of one side that are read before the other side has them too.
        :param may_search: whether it may hold as much as a search needs.
        """
        most = SEARCHED if self.is_searching and may_search else ahead
        return len(self._sides[which]) < most

    # -- reading and comparing -------------------------------------------------------------------------------------

    def feed(self, which: Which, offsets: Sequence[int], prints: Sequence[Print], now: float) -> None:
        """Take records that were read from a side, in the order of their offsets."""
        if not offsets:
            return
        self._aligner.feed(self._sides[which], offsets, prints)
        self.windows[which].add(prints)
        self.fetched[which] = offsets[-1] + 1
        if which is Which.SOURCE:
            self._read_at.append((offsets[-1] + 1, now))

    def reached(self, which: Which, offset: int) -> None:
        """Note that a side holds no record before ``offset`` that was not read: the last offsets may hold none."""
        self.fetched[which] = max(self.fetched[which], offset)

    def compare(self) -> None:
        """Compare as far as can be told."""
        if self.is_searching and not self._is_worth_a_search():
            return
        self._take(self._aligner.compare)

    def has_surplus_before(self, offset: int) -> bool:
        """Whether records of the target before an offset are not compared yet: the source has had them before, so that
        more has to be read of it, or they differ.
        """
        target = self._sides[Which.TARGET]
        return bool(target) and target.offsets[0] < offset

    def settle(self, end: int) -> None:
        """Compare what the target holds before an offset, which was its end when the source's end was read, up to which
        the source was read since.
        """
        self._take(partial(self._aligner.settle, end))

    def _take(self, compare: Callable[[], Iterable[Finding]]) -> None:
        source = self._sides[Which.SOURCE]
        before = list(source.prints)
        found = list(compare())
        self._found += found
        self.different += len(found)
        if compared := len(before) - len(source):
            self.record_ms = before[compared - 1].time
        while self._read_at and self._read_at[0][0] <= self.source_next:
            self._read_at.popleft()
        self._searched = self.held if self.is_searching else 0

    def _is_worth_a_search(self) -> bool:
        is_full = all(len(side) >= SEARCHED for side in self._sides.values())
        return is_full or self.held >= self._searched * SEARCH_AGAIN

    # -- what is noted ---------------------------------------------------------------------------------------------

    @property
    def found(self) -> Sequence[Finding]:
        """What was found and is not noted yet."""
        return tuple(self._found)

    def forget_found(self, count: int) -> None:
        """Forget the first findings: they are noted."""
        del self._found[:count]

    def newest_windows(self) -> list[list[int]]:
        """The newest windows of record time that both sides have, as :class:`AuditedPartition` keeps them."""
        source, target = (self.windows[which].windows for which in Which)
        begins = sorted(source.keys() & target.keys())[-WINDOWS_TOLD:]
        return [
            [
                begin,
                source[begin].records,
                source[begin].checksum,
                target[begin].records,
                target[begin].checksum,
            ]
            for begin in begins
        ]
