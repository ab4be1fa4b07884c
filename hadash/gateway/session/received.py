"""What has come from a client and is not handled yet: bytes in their order, cut into requests one by one."""

from __future__ import annotations

from collections.abc import Callable

from hadash.gateway.protocol.wire import FrameSplitter
from hadash.gateway.waiting.memory_pool import POOLED_FROM_BYTES, MemoryPool, Reservation

#: A request, without its length, and when its first byte came.
Taken = tuple[bytes, float]


class Received:
    """Of one connection.

    :param limit: bytes of a request, at most.
    :param pool: where a large request of a client that is signed in has its memory from.
    :param granted: called when there is memory that there was not before.
    :param evict: called when the request takes too long to come while others wait for that memory.
    """

    __slots__ = ("_evict", "_granted", "_pool", "_put_back", "_room", "frames")

    def __init__(
        self, limit: int, pool: MemoryPool, granted: Callable[[], None], evict: Callable[[], None]
    ) -> None:
        self.frames = FrameSplitter(limit)
        self._pool = pool
        self._granted = granted
        self._evict = evict
        #: A request that was taken and could not be handled yet.
        self._put_back: Taken | None = None
        #: Memory for the request that comes in.
        self._room: Reservation | None = None

    @property
    def bytes(self) -> int:
        """How many wait here."""
        return self.frames.held + (len(self._put_back[0]) if self._put_back is not None else 0)

    @property
    def ready(self) -> bool:
        """Whether there is something to handle: a whole request, or the news that what came is none."""
        return self._put_back is not None or self.frames.ready

    def take(self) -> Taken | None:
        """The next request, if all of it is there."""
        taken, self._put_back = self._put_back, None
        return taken or self.frames.next()

    def put_back(self, taken: Taken) -> None:
        """It comes first again."""
        self._put_back = taken

    def has_room(self) -> bool:
        """Whether there is memory for the request that comes in; if not, ``granted`` is called when there is."""
        need = 0 if self.ready else self.frames.need
        if need < POOLED_FROM_BYTES:
            self.give_room_back()
            return True
        if self._room is None:
            self._room = Reservation(need, self._granted, self._evict)
            return self._pool.reserve(self._room)
        return self._room.given

    def give_room_back(self) -> None:
        """Nothing more comes in."""
        if self._room is not None:
            room, self._room = self._room, None
            self._pool.release(room)

    def clear(self) -> None:
        """Forget all of it."""
        self.frames.clear()
        self._put_back = None
        self.give_room_back()

    def end(self) -> None:
        """Nothing more comes in: what is here can still be taken, and nobody is told of memory any more."""
        self.give_room_back()
        self._granted = self._evict = _nothing


def _nothing() -> None:
    """What is called of a connection that has ended."""
