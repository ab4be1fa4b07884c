"""Mutations whose answers the client does not have yet: a block has to wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class InFlight:
    """Counts the mutations in flight, and notifies those that wait for fewer, or for the present ones to end.

    Mutations leave in the order in which they entered, because answers go to the client in the order of its requests.
    """

    __slots__ = ("_left", "_present", "_waiters", "abandoned", "count")

    def __init__(self) -> None:
        self.count = 0
        self.abandoned = False
        #: How many mutations have left so far.
        self._left = 0
        self._waiters: list[tuple[int, Callable[[], None]]] = []
        #: The waiters of :meth:`wait_for_present`, each with the value of ``_left`` that it waits for.
        self._present: list[tuple[int, asyncio.Future[None]]] = []

    def enter(self) -> None:
        """Count one more mutation."""
        self.count += 1

    def leave(self) -> None:
        """Count one mutation less, because it is answered; ignored after :meth:`abandon`."""
        if self.abandoned:
            return
        self.count -= 1
        self._left += 1
        if self._waiters or self._present:
            self._tell()

    def _tell(self) -> None:
        due = [tell for limit, tell in self._waiters if self.fewer_than(limit)]
        self._waiters = [entry for entry in self._waiters if not self.fewer_than(entry[0])]
        for tell in due:
            tell()
        for until, gone in self._present:
            if self._left >= until or self.abandoned:
                _settle(gone)
        self._present = [entry for entry in self._present if not entry[1].done()]

    def abandon(self) -> None:
        """Count nothing any more: the broker is gone. What is in flight may have happened, but no answer will tell."""
        self.count = 0
        self.abandoned = True
        self._tell()

    def fewer_than(self, limit: int) -> bool:
        """Whether fewer than ``limit`` are in flight now, or the count was abandoned."""
        return self.count < limit or self.abandoned

    def when_fewer_than(self, limit: int, tell: Callable[[], None]) -> None:
        """Call ``tell`` once, when fewer than ``limit`` are in flight; at once if that is so already."""
        if self.fewer_than(limit):
            tell()
        else:
            self._waiters.append((limit, tell))

    async def wait_for_present(self) -> None:
        """Return when the mutations that are in flight now have ended; others may be in flight by then."""
        if self.fewer_than(1):
            return
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._present.append((self._left + self.count, gone))
        await gone


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
