"""A hierarchical timing wheel: a timer whose cost does not grow with the number of its entries.

A wheel is a ring of buckets, each for one tick. What is due beyond the ring's reach goes into an overflow
wheel, whose tick is the whole reach of the one below; as time comes near, its entries move down. Adding and
cancelling touch one bucket. Time moves on only to where a bucket is due: the buckets in use stand in a heap,
and there are few of them, however many entries they hold. (As Kafka's own timer.)

Pure: whoever owns the timer says what time it is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class Entry:
    """Something that is due at ``due`` (in ticks). In at most one bucket."""

    __slots__ = ("action", "bucket", "due")

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.due = 0
        self.bucket: Bucket | None = None

    @property
    def pending(self) -> bool:
        return self.bucket is not None

    def cancel(self) -> None:
        """It will not become due. Harmless when it has."""
        if self.bucket is not None:
            del self.bucket.entries[self]
            self.bucket = None

    def drop(self) -> None:
        """It will never become due: what its action holds on to is let go."""
        self.cancel()
        self.action = _nothing


def _nothing() -> None:
    """What an entry does that was dropped, when it was due in the same tick."""


class Bucket:
    """The entries of one tick of one wheel, oldest first."""

    __slots__ = ("entries", "expiration")

    def __init__(self) -> None:
        self.entries: dict[Entry, None] = {}
        #: The tick at which it is due; -1 while it stands in no heap.
        self.expiration = -1


class _Wheel:
    """One ring. ``tick`` and ``reach`` in ticks of the lowest wheel."""

    __slots__ = ("buckets", "now", "overflow", "reach", "size", "tick")

    def __init__(self, tick: int, size: int, now: int) -> None:
        self.tick = tick
        self.size = size
        self.reach = tick * size
        self.now = now - now % tick
        self.buckets = [Bucket() for _ in range(size)]
        self.overflow: _Wheel | None = None

    def place(self, due: int) -> tuple[Bucket, int] | None:
        """The bucket for ``due`` and the tick at which it is due; ``None`` when that has passed."""
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
    """Entries by the time at which they are due.

    :param tick_seconds: how exact it is: an entry is due up to one tick late, never early.
    :param size: buckets of a ring. The reach of the lowest is ``tick_seconds * size``, and each further one reaches
        ``size`` times as far.
    :param now: seconds on the owner's clock.
    """

    def __init__(self, tick_seconds: float, size: int, now: float) -> None:
        self._tick_seconds = tick_seconds
        self._start = now
        self._lowest = _Wheel(1, size, 0)
        self._due: list[tuple[int, int, Bucket]] = []
        self._numbers = count()

    def add(self, entry: Entry, at: float) -> None:
        """``entry`` is due at ``at`` seconds on the owner's clock; when that has passed, at the next tick.

        An entry that is pending moves.
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
        """When :meth:`advance` has something to do next, in seconds; ``None`` when nothing is pending.

        This may be the moment at which entries only move down, and a bucket whose entries were all cancelled counts.
        """
        return self._start + self._due[0][0] * self._tick_seconds if self._due else None

    def advance(self, now: float) -> list[Entry]:
        """Move on to ``now``; the entries that have become due, in the order of their ticks."""
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
            # Nothing waits: no need to come by every tick that has passed.
            self._lowest.advance(current)
        return expired
