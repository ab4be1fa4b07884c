"""Connections that are not signed in yet: how many are allowed, and what they may hold together.

Anybody can open connections, so a stranger can open as many as are allowed. The next honest client must not be the one
that makes room then. A client that signs in answers within a round trip; a connection that only takes a place keeps the
Gateway waiting. So the connection that has kept the Gateway waiting for the longest is closed. A connection whose
request the Gateway (or its broker) still works on is never closed for that, and none in its first second: when
thousands of clients come back at once, those that have begun can finish. If no connection can be closed, the new one
is.

When they hold too many bytes, the connection that holds most is closed: a sign-in takes a few hundred bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Seconds that a connection may keep the Gateway waiting before it can be closed to make room: TCP, TLS and the first
#: request over a slow line. With the default limits a stranger has to open 5,000 connections a second to keep others
#: out.
GRACE_SECONDS = 1.0

#: Size classes (powers of two) by which the connection that holds most is found.
_CLASSES = 40

#: The reasons, as counted, for closing a connection.
TOO_MANY = "unauthenticated connections"
TOO_MANY_OF_HOST = "unauthenticated connections of a host"
TOO_MANY_BYTES = "unauthenticated bytes"
TOO_MANY_REQUESTS = "requests before sign-in"


class Closable(Protocol):
    """A connection that is not signed in."""

    @property
    def host(self) -> str: ...

    def turn_out(self, reason: str, why: str) -> None:
        """End the connection at once, and note the reason."""


class _State:
    """The state of one connection."""

    __slots__ = ("held", "since")

    def __init__(self, since: float) -> None:
        #: Since when it keeps the Gateway waiting; ``None`` while the Gateway works on its request.
        self.since: float | None = since
        self.held = 0


class Unauthenticated:
    """The connections that are not signed in.

    :param most: the most connections at once.
    :param most_of_host: the most of one peer address; 0 for no limit.
    :param most_bytes: the most bytes that they may hold together.
    :param clock: returns seconds.
    """

    def __init__(self, most: int, most_of_host: int, most_bytes: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._most_of_host = most_of_host
        self._most_bytes = most_bytes
        self._clock = clock
        self._states: dict[Closable, _State] = {}
        #: Connections that keep the Gateway waiting, the longest first: all, and by host. (The clock never goes back.)
        self._idle: dict[Closable, None] = {}
        self._idle_of: dict[str, dict[Closable, None]] = {}
        self._count_of: dict[str, int] = {}
        self._sizes: list[dict[Closable, None]] = [{} for _ in range(_CLASSES)]
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, connection: Closable) -> bool:
        return connection in self._states

    def make_room(self, host: str, *, for_others: bool = False) -> str:
        """Make room for a connection from ``host``; return why there is none, as it is counted, or an empty text.

        :param for_others: whether the connection is a load balancer's, which is going to name its client. The client's
            limit applies then.
        """
        crowded = not for_others and 0 < self._most_of_host <= self._count_of.get(host, 0)
        if crowded and not self._close_oldest(self._idle_of.get(host, {}), TOO_MANY_OF_HOST):
            return TOO_MANY_OF_HOST
        if len(self._states) >= self._most and not self._close_oldest(self._idle, TOO_MANY):
            return TOO_MANY
        return ""

    def close_oldest(self, reason: str) -> bool:
        """Close the connection that has kept the Gateway waiting for the longest; false when none may be closed."""
        return self._close_oldest(self._idle, reason)

    def _close_oldest(self, among: dict[Closable, None], reason: str) -> bool:
        oldest = next(iter(among), None)
        if oldest is None:
            return False
        since = self._states[oldest].since
        assert since is not None
        waited = self._clock() - since
        if waited < GRACE_SECONDS:
            return False
        self.remove(oldest)
        oldest.turn_out(reason, f"it makes room for others; nothing has come from it for {waited:.1f} s")
        return True

    def add(self, connection: Closable) -> None:
        """Add a new connection, which keeps the Gateway waiting from now on."""
        self._states[connection] = _State(self._clock())
        self._count_of[connection.host] = self._count_of.get(connection.host, 0) + 1
        self._sizes[0][connection] = None
        self._add_idle(connection)

    def remove(self, connection: Closable) -> None:
        """Remove a connection that is signed in or has ended; harmless when it is not here."""
        state = self._states.pop(connection, None)
        if state is None:
            return
        self._remove_idle(connection)
        del self._sizes[state.held.bit_length()][connection]
        self.bytes -= state.held
        self._count_of[connection.host] -= 1
        if not self._count_of[connection.host]:
            del self._count_of[connection.host]

    def works(self, connection: Closable) -> None:
        """Note that the Gateway works on a request of the connection."""
        state = self._states.get(connection)
        if state is not None and state.since is not None:
            state.since = None
            self._remove_idle(connection)

    def waits(self, connection: Closable) -> None:
        """Note that the Gateway waits for the connection's next request."""
        state = self._states.get(connection)
        if state is not None and state.since is None:
            state.since = self._clock()
            self._add_idle(connection)

    def holds(self, connection: Closable, size: int) -> None:
        """Note that the connection holds ``size`` bytes. Above the limit of all, the one that holds most is closed."""
        state = self._states.get(connection)
        if state is None or state.held == size:
            return
        before, after = state.held.bit_length(), size.bit_length()
        self.bytes += size - state.held
        state.held = size
        if before != after:
            del self._sizes[before][connection]
            self._sizes[after][connection] = None
        while self.bytes > self._most_bytes:
            largest = next(next(iter(each)) for each in reversed(self._sizes) if each)
            held = self._states[largest].held
            self.remove(largest)
            largest.turn_out(TOO_MANY_BYTES, f"it has sent {held} bytes without signing in")

    def _add_idle(self, connection: Closable) -> None:
        self._idle[connection] = None
        self._idle_of.setdefault(connection.host, {})[connection] = None

    def _remove_idle(self, connection: Closable) -> None:
        self._idle.pop(connection, None)
        same = self._idle_of.get(connection.host)
        if same is not None:
            same.pop(connection, None)
            if not same:
                del self._idle_of[connection.host]
