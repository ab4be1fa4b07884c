"""Accepting connections: each is counted from its first moment, before any TLS handshake, and few are accepted at a
time.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from functools import partial

from hadash.gateway.brokers.nodes import Node
from hadash.gateway.context import GatewayContext
from hadash.gateway.protocol import hello, proxy_protocol
from hadash.gateway.protocol.proxy_protocol import BadHeader, Endpoint, NothingCame, Passed
from hadash.gateway.session.connection import ClientConnection

log = logging.getLogger(__name__)

#: Connections accepted in one round of the event loop, on all ports together: 0.5 ms. The kernel holds the others
#: (``accept_backlog``); an idle process has thousands of rounds a second.
ACCEPTS_PER_ROUND = 4

#: Seconds for which nothing is accepted after the process has run out of file descriptors or memory.
RETRY_SECONDS = 1.0

#: The reason, as counted, for closing a connection with a bad header.
BAD_HEADER = "proxy header"

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """The listening sockets of a Gateway."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context
        self._loop = context.loop
        self._listening: dict[socket.socket, Node | None] = {}
        self._left = ACCEPTS_PER_ROUND
        self._retries: set[asyncio.TimerHandle] = set()

    def listen(self, bound: socket.socket, node: Node | None) -> None:
        """Accept connections on ``bound``, for ``node``.

        :raises OSError: the port is taken.
        """
        bound.setblocking(False)
        bound.listen(self._context.settings.accept_backlog)
        self._listening[bound] = node
        self._loop.add_reader(bound, self._accept, bound)

    def close(self) -> None:
        """Stop listening."""
        for retry in self._retries:
            retry.cancel()
        for bound in self._listening:
            self._loop.remove_reader(bound)
            bound.close()
        self._listening.clear()

    def _accept(self, bound: socket.socket) -> None:
        while self._left > 0:
            try:
                accepted, peer = bound.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:  # the client has already hung up
                continue
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause(bound, error)
                return
            if self._left == ACCEPTS_PER_ROUND:
                self._loop.call_soon(self._next_round)
            self._left -= 1
            self._take(accepted, Endpoint(str(peer[0]), int(peer[1])), self._listening[bound])

    def _next_round(self) -> None:
        self._left = ACCEPTS_PER_ROUND

    def _pause(self, bound: socket.socket, error: OSError) -> None:
        log.error("no connection can be accepted (%s); trying again in %g s", error, RETRY_SECONDS)
        self._loop.remove_reader(bound)

        def again() -> None:
            self._retries.discard(retry)
            self._loop.add_reader(bound, self._accept, bound)

        retry = self._loop.call_later(RETRY_SECONDS, again)
        self._retries.add(retry)

    def _take(self, accepted: socket.socket, peer: Endpoint, node: Node | None) -> None:
        if not self._context.connections.admits(peer.host):
            accepted.close()
            return
        try:
            own = accepted.getsockname()
        except OSError:  # the client has already hung up
            accepted.close()
            return
        passed = Passed(peer, Endpoint(str(own[0]), int(own[1])))
        connection = ClientConnection(self._context, node, accepted, passed)
        self._context.connections.accepted(connection)
        self._context.spawn(self._connect(connection, accepted))

    async def _connect(self, connection: ClientConnection, accepted: socket.socket) -> None:
        """Hand the connection over to the event loop. Before that, read the load balancer's header if there is one;
        with TLS, shake hands afterwards.
        """
        if self._context.listener.proxies.holds(connection.host):
            known = False
            try:
                known = await self._hear_of_client(connection, accepted)
            finally:
                if not known:
                    accepted.close()
                    connection.not_made()
            if not known:
                return
        context = self._context.certificates.server
        if context is not None:
            begins = False
            try:
                begins = await self._turn_to_shake_hands(connection, accepted)
            finally:
                if not begins:
                    accepted.close()
                    connection.not_made()
            if not begins:
                return
        # The time limit of the sign-in also ends a handshake. This limit is the loop's, which would else end it
        # earlier.
        seconds = self._context.settings.authentication_seconds if context else None
        try:
            await self._loop.connect_accepted_socket(
                partial(_same, connection), accepted, ssl=context, ssl_handshake_timeout=seconds
            )
        except (OSError, TimeoutError):  # an error of TLS is an OSError
            connection.not_made()
        except BaseException:
            connection.not_made()
            raise

    async def _turn_to_shake_hands(self, connection: ClientConnection, accepted: socket.socket) -> bool:
        """Wait until the client has begun a TLS handshake and its turn comes; handshakes that begin at once queue here.

        Return false when the connection has ended or is refused.
        """
        try:
            await hello.comes(self._loop, accepted)
        except hello.TooLong:
            connection.turned_away("protocol", f"its TLS hello is longer than {hello.MAX_HELLO_BYTES} bytes")
            return False
        except OSError:
            return False
        turn: asyncio.Future[None] = self._loop.create_future()
        self._context.unauthenticated.works(connection)
        self._context.handshake_turns.ask(partial(_give, turn))
        await turn
        self._context.unauthenticated.waits(connection)
        return not connection.closing

    async def _hear_of_client(self, connection: ClientConnection, accepted: socket.socket) -> bool:
        """Read the load balancer's header; return whether it names the client, or says that it speaks for itself."""
        settings = self._context.settings
        accepted.setblocking(False)
        passed, why = None, ""
        try:
            passed = await asyncio.wait_for(
                proxy_protocol.read(partial(self._loop.sock_recv, accepted), settings.max_proxy_header_bytes),
                settings.proxy_header_seconds,
            )
        except TimeoutError:
            why = f"no header of the PROXY protocol has come from it in {settings.proxy_header_seconds:g} s"
        except BadHeader as error:
            why = str(error)
        except (NothingCame, OSError):
            return False
        if connection.closing:  # it was turned out meanwhile, which has been logged
            return False
        if why:
            connection.turned_away(BAD_HEADER, why)
            return False
        return passed is None or self._context.connections.passed_on(connection, passed)


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # the Gateway ends
        turn.set_result(None)


def _same(connection: ClientConnection) -> ClientConnection:
    return connection
