"""Memory for large requests that arrive piece by piece, bounded for the whole process.

It works as in a Kafka broker (``queued.max.request.bytes``): a connection reserves the size of a large request as soon
as that is known, and is not read until there is room. So no request is abandoned halfway, and each request that has
room can complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hadash.gateway.waiting.purgatory import Timer
from hadash.gateway.waiting.timing_wheel import Entry

#: Requests below this size need no room: they arrive in one or two reads, and are as large as what a read brings.
POOLED_FROM_BYTES = 65_536


class Reservation:
    """Room for one request, or its place in the queue for room."""

    __slots__ = ("evict", "given", "granted", "since", "size")

    def __init__(self, size: int, granted: Callable[[], None], evict: Callable[[], None]) -> None:
        self.size = size
        #: Called when there is room; not if there was room at once.
        self.granted = granted
        #: Called when the request takes too long to arrive while others wait for room.
        self.evict = evict
        self.given = False
        #: When the room was given, by the pool's clock.
        self.since = 0.0


class MemoryPool:
    """Gives room in the order in which it was requested.

    :param size: bytes that may be reserved at once.
    :param patience: seconds after which a request that is still incomplete must make way, when others wait.
    :param clock: returns seconds, as ``timer`` counts them.
    """

    def __init__(self, size: int, patience: float, timer: Timer, clock: Callable[[], float]) -> None:
        self._size = size
        self._patience = patience
        self._timer = timer
        self._clock = clock
        self._holders: dict[Reservation, None] = {}
        self._waiting: deque[Reservation] = deque()
        self._overdue = Entry(self._evict_overdue)
        self.reserved = 0

    @property
    def waiting(self) -> int:
        """How many requests wait for room."""
        return len(self._waiting)

    def reserve(self, reservation: Reservation) -> bool:
        """Return whether there is room; if not, ``granted`` is called when there is."""
        if not self._waiting and self._fits(reservation):
            self._give(reservation)
            return True
        self._waiting.append(reservation)
        self._watch()
        return False

    def release(self, reservation: Reservation) -> None:
        """Release the room or the place in the queue: the request is complete, or its connection has ended. Harmless
        when it holds neither."""
        if reservation in self._holders:
            del self._holders[reservation]
            self.reserved -= reservation.size
        elif reservation in self._waiting:
            self._waiting.remove(reservation)
        while self._waiting and self._fits(self._waiting[0]):
            first = self._waiting.popleft()
            self._give(first)
            first.granted()
        self._watch()

    def _fits(self, reservation: Reservation) -> bool:
        return self.reserved + reservation.size <= self._size or not self._holders

    def _give(self, reservation: Reservation) -> None:
        reservation.given = True
        reservation.since = self._clock()
        self.reserved += reservation.size
        self._holders[reservation] = None

    def _watch(self) -> None:
        """Schedule a check for when the oldest holder is overdue, if any request waits for its room."""
        if self._waiting and self._holders and not self._overdue.pending:
            oldest = next(iter(self._holders))
            self._timer.add(self._overdue, max(oldest.since + self._patience - self._clock(), 0.0))
        elif not self._waiting:
            self._overdue.cancel()

    def _evict_overdue(self) -> None:
        if self._waiting and self._holders:
            oldest = next(iter(self._holders))
            if oldest.since + self._patience <= self._clock():
                oldest.evict()
                self.release(oldest)
        self._watch()
