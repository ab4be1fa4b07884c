"""Mutations that the client has not been answered yet: what a block has to wait for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class InFlight:
    """Counts mutations that are under way; those who wait for fewer are told."""

    count: int = 0
    waiters: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)
    abandoned: bool = False

    def enter(self) -> None:
        self.count += 1

    def leave(self) -> None:
        if self.abandoned:
            return
        self.count -= 1
        if self.waiters:
            for limit, waiter in self.waiters:
                if self.count < limit and not waiter.done():
                    waiter.set_result(None)
            self.waiters = [entry for entry in self.waiters if not entry[1].done()]

    def abandon(self) -> None:
        """The broker is gone: what is in flight may have happened, but no answer will say so."""
        self.count = 0
        self.abandoned = True
        for _, waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()

    def fewer_than(self, limit: int) -> bool:
        """Whether there are fewer than ``limit`` now."""
        return self.count < limit or self.abandoned

    async def wait_for_fewer_than(self, limit: int) -> None:
        """Return when fewer than ``limit`` are in flight."""
        if not self.fewer_than(limit):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiters.append((limit, waiter))
            await waiter
