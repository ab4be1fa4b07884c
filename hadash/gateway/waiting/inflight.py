"""Mutations that the client has not been answered yet: what a block has to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class InFlight:
    """Counts mutations that are under way; those who wait for fewer, or for those of now, are told.

    They leave in the order in which they have entered: answers go to the client in the order of its requests.
    """

    __slots__ = ("_left", "_present", "_waiters", "abandoned", "count")

    def __init__(self) -> None:
        self.count = 0
        self.abandoned = False
        #: How many have left so far.
        self._left = 0
        self._waiters: list[tuple[int, Callable[[], None]]] = []
        #: Those who wait until so many have left.
        self._present: list[tuple[int, asyncio.Future[None]]] = []

    def enter(self) -> None:
        self.count += 1

    def leave(self) -> None:
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
        """The broker is gone: what is in flight may have happened, but no answer will say so."""
        self.count = 0
        self.abandoned = True
        self._tell()

    def fewer_than(self, limit: int) -> bool:
        """Whether there are fewer than ``limit`` now."""
        return self.count < limit or self.abandoned

    def when_fewer_than(self, limit: int, tell: Callable[[], None]) -> None:
        """Call ``tell`` once, when fewer than ``limit`` are in flight: at once, if they are."""
        if self.fewer_than(limit):
            tell()
        else:
            self._waiters.append((limit, tell))

    async def wait_for_present(self) -> None:
        """Return when those that are in flight now are not any more; others may be by then."""
        if self.fewer_than(1):
            return
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._present.append((self._left + self.count, gone))
        await gone


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
