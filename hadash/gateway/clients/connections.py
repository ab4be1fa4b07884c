"""All connections of clients: whether there is room for one more, and why clients were refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Protocol

from hadash.gateway.clients.unauthenticated import Closable, Unauthenticated
from hadash.gateway.listeners.listener import Listener
from hadash.gateway.protocol.proxy_protocol import Passed
from hadash.gateway.reporting.log_limit import LogLimit
from hadash.gateway.reporting.traffic import Traffic
from hadash.identity.names import printable

log = logging.getLogger(__name__)

#: The most characters that are logged about a refused client.
MAX_LOGGED = 500


class Connection(Closable, Protocol):
    """The parts of a connection that are needed here."""

    passed: Passed

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Connections:
    """All connections of a Gateway process.

    :param most: the most connections at once, signed in or not.
    :param unauthenticated: the connections that are not signed in.
    :param on_left: called when a connection has ended.
    :param clock: returns seconds.
    """

    def __init__(
        self,
        most: int,
        unauthenticated: Unauthenticated,
        listener: Listener,
        traffic: Traffic,
        on_left: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._most = most
        self._unauthenticated = unauthenticated
        self._listener = listener
        self._traffic = traffic
        self._on_left = on_left
        self._refusals = LogLimit(log, clock)
        self._all: set[Connection] = set()

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def admits(self, host: str) -> bool:
        """Return whether there is room for one more connection, from ``host``; if not, that is noted."""
        reason = ""
        if len(self._all) >= self._most:
            reason = "" if self._unauthenticated.close_oldest("connections") else "connections"
        for_others = self._listener.proxies.holds(host)
        reason = reason or self._unauthenticated.make_room(host, for_others=for_others)
        if reason:
            self.turned_away(host, "not signed in", reason, f"too many {reason}")
        return not reason

    def accepted(self, connection: Connection) -> None:
        """Count a new connection."""
        self._all.add(connection)
        self._unauthenticated.add(connection)

    def passed_on(self, connection: Connection, passed: Passed) -> bool:
        """Count a connection as its client's from now on, because a load balancer has named the client.

        Return whether there is room for it; if not, that is noted.
        """
        self._unauthenticated.remove(connection)
        connection.passed = passed
        reason = self._unauthenticated.make_room(passed.source.host)
        if reason:
            self.turned_away(connection.host, "not signed in", reason, f"too many {reason}")
            return False
        self._unauthenticated.add(connection)
        return True

    def turned_away(self, host: str, who: str, reason: str, why: str) -> None:
        """Note why a client was refused: log it, and count it by ``reason``."""
        said = printable(why, MAX_LOGGED)  # it contains text from strangers
        self._refusals.warning("client %s (%s): %s", host, who, said)
        self._traffic.count_refused(reason)

    def closed(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        self._all.discard(connection)
        self._unauthenticated.remove(connection)
        self._on_left()
