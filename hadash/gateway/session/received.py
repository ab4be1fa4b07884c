"""Received bytes of a client that are not handled yet: kept in their order, cut into requests one by one."""

from __future__ import annotations

from collections.abc import Callable

from hadash.gateway.protocol.wire import FrameSplitter
from hadash.gateway.waiting.memory_pool import POOLED_FROM_BYTES, MemoryPool, Reservation

#: A request, without its length, and when its first byte was received.
Taken = tuple[bytes, float]


class Received:
    """The received bytes of one connection.

    :param limit: the most bytes of a request.
    :param pool: gives the memory for large requests of a signed-in client.
    :param granted: called when there is memory after a wait.
    :param evict: called when a request takes too long to arrive while others wait for its memory.
    """

    __slots__ = ("_evict", "_granted", "_pool", "_put_back", "_room", "frames")

    def __init__(
        self, limit: int, pool: MemoryPool, granted: Callable[[], None], evict: Callable[[], None]
    ) -> None:
        self.frames = FrameSplitter(limit)
        self._pool = pool
        self._granted = granted
        self._evict = evict
        #: A request that was taken and could not be handled.
        self._put_back: Taken | None = None
        #: The memory for the request that is arriving.
        self._room: Reservation | None = None

    @property
    def bytes(self) -> int:
        """How many received bytes are not handled yet."""
        return self.frames.held + (len(self._put_back[0]) if self._put_back is not None else 0)

    @property
    def ready(self) -> bool:
        """Whether there is something to handle: a whole request, or bytes that are not a request."""
        return self._put_back is not None or self.frames.ready

    def take(self) -> Taken | None:
        """Return the next request, if it is complete."""
        taken, self._put_back = self._put_back, None
        return taken or self.frames.next()

    def put_back(self, taken: Taken) -> None:
        """Put a request back in front of the others."""
        self._put_back = taken

    def has_room(self) -> bool:
        """Return whether there is memory for the request that is arriving; if not, ``granted`` is called later."""
        need = 0 if self.ready else self.frames.need
        if need < POOLED_FROM_BYTES:
            self.give_room_back()
            return True
        if self._room is None:
            self._room = Reservation(need, self._granted, self._evict)
            return self._pool.reserve(self._room)
        return self._room.given

    def give_room_back(self) -> None:
        """Release the memory for the arriving request."""
        if self._room is not None:
            room, self._room = self._room, None
            self._pool.release(room)

    def clear(self) -> None:
        """Drop everything."""
        self.frames.clear()
        self._put_back = None
        self.give_room_back()

    def end(self) -> None:
        """Expect no more bytes: requests that are here can still be taken, but no callback is called afterwards."""
        self.give_room_back()
        self._granted = self._evict = _nothing


def _nothing() -> None:
    """The callback of a connection that has ended: does nothing."""
