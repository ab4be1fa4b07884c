"""One connection of a client: bytes in, requests one by one to their handler, answers out.

Until it is signed in, its requests are read by :mod:`hadash.gateway.session.client_auth`; from then on they go to its
:class:`Client`. What cannot be handled yet stays here as received bytes, in their order: nothing is cut into requests
before its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from hadash.gateway.brokers.keepalive import is_established, probe
from hadash.gateway.brokers.nodes import Node
from hadash.gateway.brokers.upstream import UpstreamUnavailable
from hadash.gateway.clients.unauthenticated import TOO_MANY_REQUESTS
from hadash.gateway.context import GatewayContext
from hadash.gateway.protocol.proxy_protocol import Passed
from hadash.gateway.protocol.wire import MalformedFrame, WireError
from hadash.gateway.session.client import Client
from hadash.gateway.session.client_auth import sign_in
from hadash.gateway.session.received import Received
from hadash.gateway.session.states import (
    CLOSING,
    GONE,
    LINE,
    SERVICE,
    ClientState,
    Event,
    Heard,
    Line,
    Service,
    Turn,
)
from hadash.gateway.waiting.replies import ReplyQueue
from hadash.gateway.waiting.timing_wheel import Entry
from hadash.gateway.waiting.turns import REQUESTS_PER_TURN
from hadash.identity.client_ids import named_by

log = logging.getLogger(__name__)


class ClientConnection(asyncio.Protocol):
    """A connection from accept to close; its states are tables in :mod:`hadash.gateway.session.states`. All methods run
    in the Gateway's loop.

    :param node: the virtual node whose port the client connected to, ``None`` for the bootstrap port.
    :param passed: the addresses of its two ends.
    """

    def __init__(
        self, context: GatewayContext, node: Node | None, accepted: socket.socket, passed: Passed
    ) -> None:
        self.context = context
        self.node = node
        #: The real ends of the connection, as far as load balancers have named them.
        self.passed = passed
        self.line = Line.HANDSHAKE
        self.service = Service.WAITING
        self._its_turn = Turn.NONE
        #: Short forms of ``line`` and ``service``, because each request checks them: the client has hung up, and
        #: nothing more arrives; nothing more is handled.
        self.gone = False
        self.closing = False
        #: Set at sign-in, until both client and connection have ended.
        self.client: Client | None = None
        #: Whether the client reads its answers more slowly than they arrive.
        self.slow = False
        self._socket = accepted
        self._received = Received(
            context.settings.max_unauthenticated_frame_bytes,
            context.memory_pool,
            self._read_or_wait,
            self._makes_way,
        )
        self._frames = self._received.frames
        #: Ends the connection to a client that was hung up on and does not hang up itself.
        self._hangs_up_by: Entry | None = None
        self._signing_in: asyncio.Task[None] | None = None
        #: Requests that sign-in has read, and the bytes of the one it works on.
        self._requests = 0
        self._worked_on = 0
        self._next_frame: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline = Entry(self._too_late)
        context.timer.add(self._deadline, context.settings.authentication_seconds)

    @property
    def host(self) -> str:
        return self.passed.source.host

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "not connected yet"
        return self._transport

    def _hear(self, heard: Heard) -> bool:
        """Take an event from the network; return whether it changes the state."""
        if not LINE.allows(self.line, heard):
            return False
        self.line = LINE.after(self.line, heard)
        self.gone = self.line in GONE
        return True

    def _do(self, event: Event) -> bool:
        """Note what is done with the client from now on; false when more than that has already been done."""
        if not SERVICE.allows(self.service, event):
            return False
        self.service = SERVICE.after(self.service, event)
        self.closing = self.service in CLOSING
        return True

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when bytes can be sent: with TLS, after the handshake."""
        self._hear(Heard.CONNECTED)
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(self.context.settings.write_buffer_bytes)
        self.replies = ReplyQueue(self._transport)
        if self.closing:
            self._transport.abort()

    def not_made(self) -> None:
        """End a connection that has ended before bytes could be sent."""
        self._hear(Heard.LOST)
        self._do(Event.CUT)
        self._deadline.drop()
        self._received.end()
        self.context.connections.closed(self)

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        self._frames.push(data, self.context.loop.time())
        if self.client is None:
            self._received_before_sign_in()
        elif self._frames.ready and self._its_turn is not Turn.QUEUED:
            self.go_on()
        else:
            self._read_or_wait()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open, so that the client can still be answered; TLS has no such state."""
        if self.service is Service.HUNG_UP:
            return False
        self._client_gone()
        return self.transport.get_extra_info("ssl_object") is None

    def connection_lost(self, error: Exception | None) -> None:
        if self._hangs_up_by is not None:
            self._hangs_up_by.drop()
        if self._signing_in is None or self._signing_in.done():
            self._deadline.drop()
        # Otherwise a sign-in is under way that may wait for a broker for ever: only the deadline ends it.
        self._client_gone()
        self._received.end()
        self._hear(Heard.LOST)
        self.let_go()
        self.context.connections.closed(self)

    def pause_writing(self) -> None:
        """Pass the client's back-pressure on to its broker."""
        self.slow = True
        if self.client is not None:
            self.client.answers_pile_up()

    def resume_writing(self) -> None:
        self.slow = False
        if self.client is not None:
            self.client.relay.upstream.transport.resume_reading()
            self.go_on()
        else:
            self._wake_in_turn()

    # -- sign-in -------------------------------------------------------------------------------------------------

    def _received_before_sign_in(self) -> None:
        most = self.context.settings.max_requests_before_sign_in
        # With SASL no client sends requests ahead: each waits for the answer to the one before.
        if self.context.listener.protocol.sasl and self._requests + self._frames.count(most + 1) > most:
            self.turn_out(TOO_MANY_REQUESTS, "it sends more requests than a client needs to sign in")
            return
        if self._frames.ready:
            self._wake_in_turn()
        self._read_or_wait()
        self._count_held()

    def _count_held(self) -> None:
        self.context.unauthenticated.holds(self, self._frames.held + self._worked_on)

    def _wake_in_turn(self) -> None:
        """Let the sign-in continue with the received bytes, when it is this connection's turn."""
        waits = self._signing_in is None or self._next_frame is not None
        if waits and self._its_turn is not Turn.QUEUED:
            self._its_turn = Turn.QUEUED
            self.context.unauthenticated.works(self)
            self.context.sign_in_turns.ask(self._sign_in_turn)

    def _sign_in_turn(self) -> None:
        self._its_turn = Turn.NONE
        if self._signing_in is not None:
            self._wake()
        elif not self.gone and self._do(Event.SIGN_IN):
            self._signing_in = self.context.spawn(self._sign_in())

    async def _sign_in(self) -> None:
        try:
            signed = await sign_in(self)
        except (WireError, UpstreamUnavailable) as error:
            self.fail(error)
            return
        except Exception:
            log.exception("the sign-in of a client on %s failed", self.host)
            self.abort()
            return
        finally:
            self._deadline.drop()
        if signed is None:
            self.close()
            return
        connected = self.transport.get_extra_info("socket")
        if connected is not None:  # the connection may have been cut
            probe(connected, self.context.settings.silence_seconds)
        # Also when the client has left by now: what it sent before is still passed on.
        self._do(Event.SERVE)
        self.client = Client(self.context, self, signed)
        if self.gone:
            self.client.left_during_sign_in()
        if signed.welcome and not (self.closing or self.gone or self.transport.is_closing()):
            self.transport.write(signed.welcome)
        self.client.begin()
        self.go_on()

    def named(self, client_id: str) -> None:
        """Serve the client under the client.id that its first request has; it signed in without one.

        :raises WireError: the client.id names another AppID, or is bound to another cluster than the one signed in to.
        """
        before = self.client
        assert before is not None
        appid = before.signed.appid
        named = named_by(client_id)
        if named is not None and named.appid != appid:
            raise MalformedFrame(f"the client.id {client_id!r} names another AppID than {appid}")
        table = self.context.table
        if table.binding(appid, client_id).cluster != table.binding(appid, "").cluster:
            # The client would sign in again, once more without its client.id.
            raise MalformedFrame(
                f"{appid} › {client_id} is bound elsewhere than {appid}, and says its client.id only after it has "
                "signed in (Java before 2.6 does so): set client.id in its configuration"
            )
        self.client = Client(
            self.context, self, replace(before.signed, client_id=client_id, named_later=True)
        )
        before.give_way(self.client)
        self.client.begin()

    async def next_frame(self) -> bytes | None:
        """Return the next request during sign-in; ``None`` when the client has left.

        :raises WireError: the received bytes are not a frame.
        """
        self._worked_on = 0
        self._count_held()
        while not (self.gone or self.closing):
            taken = None if self.slow else self._received.take()
            if taken is not None:
                self._requests += 1
                if self._requests > self.context.settings.max_requests_before_sign_in:
                    self.turn_out(TOO_MANY_REQUESTS, "it sends more requests than a client needs to sign in")
                    return None
                self._read_or_wait()
                self._worked_on = len(taken[0])
                self._count_held()
                return taken[0]
            self._frames.check()
            self.context.unauthenticated.waits(self)
            self._next_frame = self.context.loop.create_future()
            try:
                await self._next_frame
            finally:
                self._next_frame = None
        return None

    def put_back(self, frame: bytes) -> None:
        """Put back a request that sign-in has read and that is not part of it."""
        self._received.put_back((frame, self.context.loop.time()))

    def trust(self) -> None:
        """Let the client send large frames: it is identified now."""
        self._frames.limit = self.context.settings.max_frame_bytes
        self.context.unauthenticated.remove(self)

    def _wake(self) -> None:
        if self._next_frame is not None and not self._next_frame.done():
            self._next_frame.set_result(None)

    def _too_late(self) -> None:
        self.turned_away("authentication time", "did not sign in in time")
        if self._signing_in is not None:
            self._signing_in.cancel()
        self.close()

    # -- one request after the other -----------------------------------------------------------------------------

    def go_on(self) -> None:
        """Handle received requests until something holds them up, or other connections have their turn."""
        if self._its_turn is not Turn.QUEUED:
            self._turn()

    def _turn(self) -> None:
        client = self.client
        if self._its_turn is Turn.NOW or client is None:
            return
        self._its_turn = Turn.NOW
        left = REQUESTS_PER_TURN
        try:
            while left and not (self.closing or self.slow or client.waits):
                taken = self._received.take()
                if taken is None:
                    break
                left -= 1
                if not client.handle(*taken):
                    self._received.put_back(taken)
                    client = self.client or client  # its client.id may have changed
            if not self.closing:
                self._frames.check()
        except WireError as error:
            self.fail(error)
        finally:
            self._its_turn = Turn.NONE
        client.go_on_when_answered()
        if not left and self._received.ready and not (self.closing or self.slow or client.waits):
            client.left_over()
            self._its_turn = Turn.QUEUED
            self.context.client_turns.ask(partial(self.guard, self._turn))
        if self.gone and (self.closing or not (client.waits or self._its_turn is Turn.QUEUED)):
            self._note_what_is_missing()
            self.leave()
        self._read_or_wait()

    def _read_or_wait(self) -> None:
        """Stop reading a client that sends more than can be handled now, or read it again. It is read as long as
        possible, because its end is noticed only then."""
        settings = self.context.settings
        if self.client is None:
            limit, has_room = settings.max_unauthenticated_frame_bytes, True
        else:
            limit, has_room = settings.backlog_bytes, self.closing or self._received.has_room()
        wanted = has_room and (self._received.bytes <= limit or not self._received.ready)
        if self.gone or self.transport.is_closing():
            return
        if wanted != self.transport.is_reading():
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def _makes_way(self) -> None:
        self.turned_away(
            "partial frame",
            f"others need the memory that is kept for {self._frames.missing}, of which {self._frames.held} "
            f"bytes have come",
        )
        self.leave()

    def still_there(self) -> bool:
        """Whether the client has not hung up. For a connection that is not read the kernel is asked."""
        if self.gone or self.transport.is_closing() or self.transport.is_reading():
            return not self.gone
        connected = self.transport.get_extra_info("socket")
        return connected is not None and is_established(connected)

    def guard(self, action: Callable[[], None]) -> None:
        """Do something for this connection. An error ends this connection only."""
        try:
            action()
        except WireError as error:
            self.fail(error)
        except Exception:
            log.exception("%s cannot go on", self.describe())
            self.abort()  # later requests must not overtake the failed one

    # -- the end -------------------------------------------------------------------------------------------------

    def _client_gone(self) -> None:
        if not self._hear(Heard.CLIENT_LEFT):
            return
        if not self._frames.ready:
            self._note_what_is_missing()
        if self.client is None and (self._signing_in is None or self._next_frame is not None):
            # The client is unidentified, and nothing works on what it sent: that is dropped, however much it is.
            self._frames.clear()
            if self._signing_in is None:
                self.close()
                return
        self._wake()
        if self.slow:
            self.resume_writing()  # a client that has left exerts no back-pressure
        if self.client is not None:
            self.client.client_gone()
            self.go_on()

    def _note_what_is_missing(self) -> None:
        """Note that the client hung up inside a request, if it did."""
        missing = self._frames.missing
        if missing and not self.closing:
            self._frames.clear()
            self.turned_away("protocol", f"the connection ended inside {missing}")

    def fail(self, error: WireError | UpstreamUnavailable) -> None:
        """Refuse the client: it breaks the protocol, or its cluster cannot be reached."""
        self.turned_away("protocol" if isinstance(error, WireError) else "cluster", str(error))
        self.leave()

    def turned_away(self, reason: str, why: str) -> None:
        """Note why a client was refused: log it, and count it by ``reason``."""
        self.context.connections.turned_away(self.host, str(self.client or "not signed in"), reason, why)

    def turn_out(self, reason: str, why: str) -> None:
        """End the connection of a client that is not signed in. It is sent nothing more."""
        self.turned_away(reason, why)
        if self._signing_in is not None:
            self._signing_in.cancel()
        self.abort()

    def abort(self) -> None:
        """End the connection at once, and handle nothing more."""
        self._do(Event.CUT)
        self._received.clear()
        if self._transport is not None:
            self._transport.abort()
            return
        with contextlib.suppress(OSError):  # the handshake has already ended
            self._socket.shutdown(socket.SHUT_RDWR)

    def close_when_answered(self) -> None:
        """Handle nothing more; close as soon as every earlier request is answered."""
        self._do(Event.FINISH)
        if len(self.replies) == 0:
            self.close()
        else:
            self.replies.on_empty = self.close

    def leave(self) -> None:
        """End the connection; writes under way are followed until the broker has answered them."""
        if self.client is not None:
            self._do(Event.LEAVE)
            self.client.leave()
        else:
            self.close()

    def close(self) -> None:
        """Hang up. Answers that were handed over still go out, and the client gets time to read them: a connection that
        is cut while unread bytes of the client are there is reset, and unread answers are lost with it."""
        self._deadline.drop()
        self._received.clear()
        if self._transport is None:
            self.abort()
            return
        if not self._do(Event.HANG_UP) or self.transport.is_closing():
            return
        # A connection that is not signed in is not worked on any more, and holds nothing: it makes room for others,
        # like one that keeps the Gateway waiting. (Only the client decides when it hangs up itself.)
        self.context.unauthenticated.holds(self, 0)
        self.context.unauthenticated.waits(self)
        self._hangs_up_by = Entry(self.transport.abort)
        self.context.timer.add(self._hangs_up_by, self.context.settings.hang_up_seconds)
        self.replies.closed = True
        if self.gone or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        if not self.transport.is_reading():
            self.transport.resume_reading()

    def let_go(self) -> None:
        """When connection and client have both ended, release the references between them.

        Otherwise they would form a cycle that only Python's collector frees: much later, all at once, and no client is
        served meanwhile.
        """
        if self.line is Line.LOST and (self.client is None or self.client.state is ClientState.ENDED):
            self.client = None
            self.replies.end()

    def describe(self) -> str:
        return self.client.describe() if self.client is not None else f"a client on {self.host}"
