"""Mutations that the client has not been answered yet: what a block has to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial


class InFlight:
    """Counts mutations that are under way; those who wait for fewer are told."""

    __slots__ = ("_waiters", "abandoned", "count")

    def __init__(self) -> None:
        self.count = 0
        self.abandoned = False
        self._waiters: list[tuple[int, Callable[[], None]]] = []

    def enter(self) -> None:
        self.count += 1

    def leave(self) -> None:
        if self.abandoned:
            return
        self.count -= 1
        if self._waiters:
            self._tell()

    def _tell(self) -> None:
        due = [tell for limit, tell in self._waiters if self.fewer_than(limit)]
        self._waiters = [entry for entry in self._waiters if not self.fewer_than(entry[0])]
        for tell in due:
            tell()

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

    async def wait_for_fewer_than(self, limit: int) -> None:
        """Return when fewer than ``limit`` are in flight."""
        fewer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.when_fewer_than(limit, partial(_settle, fewer))
        await fewer


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
