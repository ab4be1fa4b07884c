"""A hierarchical timing wheel: a timer whose cost does not grow with the number of its entries.

A wheel is a ring of buckets, each for one tick. Entries due beyond the ring's reach go into an overflow wheel, whose
tick is the whole reach of the one below; as their time comes near, they move down. Adding and cancelling touch one
bucket. Time advances only to the next bucket that is due: the buckets in use are in a heap, and they are few, however
many entries they hold. (Kafka's own timer works the same way.)

Pure: the owner of the timer passes the time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class Entry:
    """Something due at ``due`` (in ticks). It is in at most one bucket."""

    __slots__ = ("action", "bucket", "due")

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.due = 0
        self.bucket: Bucket | None = None

    @property
    def pending(self) -> bool:
        return self.bucket is not None

    def cancel(self) -> None:
        """Keep it from becoming due. Harmless when it has already."""
        if self.bucket is not None:
            del self.bucket.entries[self]
            self.bucket = None

    def drop(self) -> None:
        """Cancel it for good, and release what its action refers to."""
        self.cancel()
        self.action = _nothing


def _nothing() -> None:
    """The action of an entry that was dropped while it was due in the same tick."""


class Bucket:
    """The entries of one tick of one wheel, oldest first."""

    __slots__ = ("entries", "expiration")

    def __init__(self) -> None:
        self.entries: dict[Entry, None] = {}
        #: The tick at which it is due; -1 while it is not in the heap.
        self.expiration = -1


class _Wheel:
    """One ring. ``tick`` and ``reach`` are in ticks of the lowest wheel."""

    __slots__ = ("buckets", "now", "overflow", "reach", "size", "tick")

    def __init__(self, tick: int, size: int, now: int) -> None:
        self.tick = tick
        self.size = size
        self.reach = tick * size
        self.now = now - now % tick
        self.buckets = [Bucket() for _ in range(size)]
        self.overflow: _Wheel | None = None

    def place(self, due: int) -> tuple[Bucket, int] | None:
        """Return the bucket for ``due`` and the tick at which it is due; ``None`` when that has passed."""
        if due < self.now + self.tick:
            return None
        if due < self.now + self.reach:
            slot = due // self.tick
            return self.buckets[slot % self.size], slot * self.tick
        if self.overflow is None:
            self.overflow = _Wheel(self.reach, self.size, self.now)
        return self.overflow.place(due)

    def advance(self, now: int) -> None:
        if now >= self.now + self.tick:
            self.now = now - now % self.tick
            if self.overflow is not None:
                self.overflow.advance(now)


class TimingWheel:
    """Entries ordered by the time at which they are due.

    :param tick_seconds: the precision: an entry is due up to one tick late, never early.
    :param size: the buckets of a ring. The lowest reaches ``tick_seconds * size``, and each further one ``size`` times
        as far.
    :param now: seconds on the owner's clock.
    """

    def __init__(self, tick_seconds: float, size: int, now: float) -> None:
        self._tick_seconds = tick_seconds
        self._start = now
        self._lowest = _Wheel(1, size, 0)
        self._due: list[tuple[int, int, Bucket]] = []
        self._numbers = count()

    def add(self, entry: Entry, at: float) -> None:
        """Make ``entry`` due at ``at`` seconds on the owner's clock; if that has passed, at the next tick.

        A pending entry is moved.
        """
        entry.cancel()
        ticks = -int((self._start - at) // self._tick_seconds)  # rounded up
        entry.due = max(ticks, self._lowest.now + 1)
        self._put(entry)

    def _put(self, entry: Entry) -> bool:
        placed = self._lowest.place(entry.due)
        if placed is None:
            return False
        bucket, expiration = placed
        if bucket.expiration != expiration:
            bucket.expiration = expiration
            heapq.heappush(self._due, (expiration, next(self._numbers), bucket))
        bucket.entries[entry] = None
        entry.bucket = bucket
        return True

    def next_due(self) -> float | None:
        """Return when :meth:`advance` has something to do next, in seconds; ``None`` when nothing is pending.

        Entries may only move down at that time, and a bucket whose entries were all cancelled also counts.
        """
        return self._start + self._due[0][0] * self._tick_seconds if self._due else None

    def advance(self, now: float) -> list[Entry]:
        """Advance to ``now``, and return the entries that have become due, in the order of their ticks."""
        current = int((now - self._start) // self._tick_seconds)
        expired: list[Entry] = []
        while self._due and self._due[0][0] <= current:
            expiration, _, bucket = heapq.heappop(self._due)
            self._lowest.advance(expiration)
            bucket.expiration = -1
            entries, bucket.entries = bucket.entries, {}
            for entry in entries:
                entry.bucket = None
                if not self._put(entry):
                    expired.append(entry)
        if not self._due:
            # Nothing waits, so the ticks that have passed can be skipped.
            self._lowest.advance(current)
        return expired
