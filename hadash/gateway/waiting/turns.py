"""Turns: the remaining work of each connection is done a little at a time, however much the client has sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: Requests of one connection that are handled in one turn: 0.3 ms of small ones, and as many as one read from a
#: producer with 2 KiB batches brings.
REQUESTS_PER_TURN = 32

#: Connections that get a turn in one round of the event loop: of signed-in clients, and of connections that are not
#: signed in yet. A client's turn takes longer; a connection that signs in has one or two requests.
CLIENT_TURNS = 1
SIGN_IN_TURNS = 4

#: TLS handshakes that begin in one round. Each takes a millisecond of a processor, so many at once delay clients by no
#: more than that per round. An idle process has a round for each.
HANDSHAKE_TURNS = 1


class Turns:
    """A queue of connections with work left.

    In each round of the event loop ``at_once`` of them get a turn, the longest waiting first; all other work of the
    loop is done between two rounds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, at_once: int) -> None:
        self._loop = loop
        self._at_once = at_once
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, turn: Callable[[], None]) -> None:
        """Call ``turn`` once, when its turn comes. ``turn`` must not raise."""
        self._waiting.append(turn)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._round)

    def _round(self) -> None:
        # A callback that asks again during its turn is called in a later round.
        due = [self._waiting.popleft() for _ in range(min(self._at_once, len(self._waiting)))]
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            self._loop.call_soon(self._round)
        for turn in due:
            turn()
