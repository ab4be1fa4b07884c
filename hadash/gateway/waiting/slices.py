"""Long work done in slices, between which the event loop does everything else: one slice in each round of the loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")


class Slices:
    """The sliced work of one process. However much of it there is, a round runs one slice."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._scheduled = False
        self._waiting: deque[Callable[[], bool]] = deque()

    def run(
        self,
        steps: Generator[None, None, T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Run ``steps`` to the end, and pass its return value to ``done``, or an exception to ``failed``.

        Work that fits into its first slice is done at once.
        """

        def step() -> bool:
            try:
                try:
                    next(steps)
                except StopIteration as stop:
                    done(stop.value)
                    return True
            except Exception as error:
                failed(error)
                return True
            return False

        if not step():
            self._waiting.append(step)
            self._take_turns()

    def _take_turns(self) -> None:
        if self._waiting and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        step = self._waiting.popleft()
        if not step():
            self._waiting.append(step)
        self._take_turns()
