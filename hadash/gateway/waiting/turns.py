"""Turns: what each connection has left to do is done a little at a time, however much it has sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: Requests of one connection that are handled in one turn: 0.3 ms of small ones, and as many as a read of a
#: producer with 2 KiB batches brings.
REQUESTS_PER_TURN = 32

#: Connections that have a turn in one round of the event loop, of those that are signed in and of those that
#: are not yet. A turn of a client is longer; of a connection that signs in it is one or two requests.
CLIENT_TURNS = 1
SIGN_IN_TURNS = 4

#: TLS handshakes that begin in one round: each is a millisecond of a processor, so those that come at once
#: delay clients by no more than that at a time. An idle process has a round for each.
HANDSHAKE_TURNS = 1


class Turns:
    """A queue of those who have something left to do. In each round of the event loop ``at_once`` of them
    have a turn, the one that has waited longest first; everybody else is served between two rounds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, at_once: int) -> None:
        self._loop = loop
        self._at_once = at_once
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, turn: Callable[[], None]) -> None:
        """Call ``turn`` when it is its turn, once; it does not raise."""
        self._waiting.append(turn)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._round)

    def _round(self) -> None:
        # Who asks again in its turn is called in a later round.
        due = [self._waiting.popleft() for _ in range(min(self._at_once, len(self._waiting)))]
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            self._loop.call_soon(self._round)
        for turn in due:
            turn()
