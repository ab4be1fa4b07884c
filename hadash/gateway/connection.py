"""One connection of a client: bytes in, requests one after the other to whoever handles them, answers out.

Until it is signed in, its requests are read by :mod:`signin`; from then on they go to its :class:`Client`. What cannot be
handled yet stays here in the order in which it came.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from hadash.gateway.client import Client
from hadash.gateway.keepalive import probe
from hadash.gateway.nodes import Node
from hadash.gateway.replies import ReplyQueue
from hadash.gateway.signin import sign_in
from hadash.gateway.timing_wheel import Entry
from hadash.gateway.upstream import UpstreamUnavailable
from hadash.gateway.wire import FrameSplitter, WireError
from hadash.identity.names import printable

if TYPE_CHECKING:
    from hadash.gateway.server import Gateway

log = logging.getLogger(__name__)

#: The state of a connection of which neither side has hung up, as Linux numbers them.
TCP_ESTABLISHED = 1

#: Characters of what is logged about a client that was turned away.
MAX_LOGGED = 500


class ClientConnection(asyncio.Protocol):
    """From accept to close. All methods run in the Gateway's loop.

    :param node: the virtual node whose port the client came to, ``None`` for the bootstrap port.
    """

    def __init__(self, gateway: Gateway, node: Node | None) -> None:
        self.gateway = gateway
        self.node = node
        self.host = ""
        #: The client has hung up: nothing more comes.
        self.gone = False
        #: Nothing more is handled: the connection ends.
        self.closing = False
        #: Set with the sign-in.
        self.client: Client | None = None
        self._frames = FrameSplitter(gateway.settings.max_unauthenticated_frame_bytes)
        self._backlog: deque[tuple[bytes, float]] = deque()
        self._backlog_bytes = 0
        self._handling = False
        self._reading = True
        #: The client takes its answers slower than they come.
        self.slow = False
        #: Set when the client has been hung up on: what ends it when the client does not.
        self._hung_up: Entry | None = None
        self._next_frame: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "not connected yet"
        return self._transport

    # -- asyncio.Protocol -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(self.gateway.settings.write_buffer_bytes)
        probe(transport.get_extra_info("socket"), self.gateway.settings.silence_seconds)
        peer = transport.get_extra_info("peername")
        self.host = str(peer[0]) if peer else ""
        self.replies = ReplyQueue(self._transport)
        if not self.gateway.accepted(self):
            self.turned_away("connections", "too many connections")
            transport.abort()  # type: ignore[attr-defined]
            return
        self.gateway.spawn(self._sign_in())

    def data_received(self, data: bytes) -> None:
        if self._hung_up is not None:
            return
        frames = self._frames.feed(data, self.gateway.loop.time())
        self._backlog.extend(frames)
        self._backlog_bytes += sum(len(frame) for frame, _ in frames)
        if self.client is None:
            self._wake()
            self._read_or_wait()
        elif frames or self._frames.broken:
            self.go_on()

    def eof_received(self) -> bool:
        """Half-closed, the client can still be answered; TLS knows no such state."""
        if self._hung_up is not None:
            return False
        if self._frames.missing:
            self.turned_away("protocol", f"the connection ended inside {self._frames.missing}")
        self._client_gone()
        return self.transport.get_extra_info("ssl_object") is None

    def connection_lost(self, error: Exception | None) -> None:
        if self._hung_up is not None:
            self._hung_up.cancel()
        self._client_gone()
        self.gateway.closed(self)

    def pause_writing(self) -> None:
        """The client's back-pressure on its broker."""
        self.slow = True
        if self.client is not None:
            self.client.answers_pile_up()

    def resume_writing(self) -> None:
        self.slow = False
        if self.client is not None:
            self.client.relay.upstream.transport.resume_reading()
            self.go_on()

    # -- sign-in --------------------------------------------------------------------------------------------------

    async def _sign_in(self) -> None:
        try:
            signed = await asyncio.wait_for(sign_in(self), self.gateway.settings.authentication_seconds)
        except TimeoutError:
            self.turned_away("authentication time", "did not sign in in time")
            self.close()
            return
        except (WireError, UpstreamUnavailable) as error:
            self.fail(error)
            return
        except Exception:
            log.exception("the sign-in of a client on %s failed", self.host)
            self.closing = True
            self.transport.abort()
            return
        if signed is None:
            self.close()
            return
        # Also when it has left by now: what it sent before that is to be passed on.
        self.client = Client(self.gateway, self, signed)
        if self.gone:
            self.client.left_during_sign_in()
        if signed.welcome and not (self.closing or self.gone or self.transport.is_closing()):
            self.transport.write(signed.welcome)
        self.client.begin()
        self.go_on()

    async def next_frame(self) -> bytes | None:
        """The next request during sign-in; ``None`` when the client has left.

        :raises WireError: what came is no frame.
        """
        while not self._backlog:
            if self._frames.broken is not None:
                raise self._frames.broken
            if self.gone or self.closing:
                return None
            self._next_frame = self.gateway.loop.create_future()
            await self._next_frame
        frame, _ = self._backlog.popleft()
        self._backlog_bytes -= len(frame)
        self._read_or_wait()
        return frame

    def put_back(self, frame: bytes) -> None:
        """Sign-in has read a request that is not part of it."""
        self._backlog.appendleft((frame, self.gateway.loop.time()))
        self._backlog_bytes += len(frame)

    def trust(self) -> None:
        """The client is known now: it may send large frames."""
        self._frames.limit = self.gateway.settings.max_frame_bytes

    def _wake(self) -> None:
        if self._next_frame is not None and not self._next_frame.done():
            self._next_frame.set_result(None)

    # -- one request after the other ------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Handle what has come, until something holds it up."""
        client = self.client
        if self._handling or client is None:
            return
        self._handling = True
        try:
            while self._backlog and not (self.closing or self.slow or client.waits):
                frame, arrived = self._backlog.popleft()
                self._backlog_bytes -= len(frame)
                if not client.handle(frame, arrived):
                    self._backlog.appendleft((frame, arrived))
                    self._backlog_bytes += len(frame)
            if self._frames.broken is not None and not self._backlog and not self.closing:
                raise self._frames.broken
        except WireError as error:
            self.fail(error)
        finally:
            self._handling = False
        if self.gone and (self.closing or not client.waits):
            self.leave()
        self._read_or_wait()

    def _read_or_wait(self) -> None:
        """Stop reading a client that sends more than can be handled now. Until then it is read, because its end is
        noticed only while it is."""
        wanted = self._backlog_bytes <= self.gateway.settings.backlog_bytes
        if wanted != self._reading and not (self.gone or self.transport.is_closing()):
            self._reading = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def still_there(self) -> bool:
        """Whether the client has not hung up. Of one that is not read the kernel has to be asked."""
        if self.gone or self._reading:
            return not self.gone
        connected = self.transport.get_extra_info("socket")
        state = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return bool(state == TCP_ESTABLISHED)

    def guard(self, action: Callable[[], None]) -> None:
        """Do something for this connection; what goes wrong with it is its own affair."""
        try:
            action()
        except WireError as error:
            self.fail(error)
        except Exception:
            log.exception("%s cannot go on", self.describe())
            self.closing = True  # what came behind it must not overtake it
            self._backlog.clear()
            self._backlog_bytes = 0
            self.transport.abort()

    # -- the end --------------------------------------------------------------------------------------------------

    def _client_gone(self) -> None:
        if self.gone:
            return
        self.gone = True
        self._wake()
        if self.slow:
            self.resume_writing()  # who has left exerts no back-pressure
        if self.client is not None:
            self.client.client_gone()
            self.go_on()

    def fail(self, error: WireError | UpstreamUnavailable) -> None:
        """What came breaks the protocol, or the client's cluster cannot be reached."""
        self.turned_away("protocol" if isinstance(error, WireError) else "cluster", str(error))
        self.leave()

    def turned_away(self, reason: str, why: str) -> None:
        """Note why a client was refused: in the log, and counted by ``reason``."""
        said = printable(why, MAX_LOGGED)  # what strangers send is in it
        log.warning("client %s (%s): %s", self.host, self.client or "not signed in", said)
        self.gateway.traffic.count_refused(reason)

    def close_when_answered(self) -> None:
        """Handle nothing more; close as soon as every earlier request has its answer."""
        self.closing = True
        if len(self.replies) == 0:
            self.close()
        else:
            self.replies.on_empty = self.close

    def leave(self) -> None:
        """End the connection; writes that are under way are followed until the broker has answered them."""
        self.closing = True
        if self.client is not None:
            self.client.leave()
        else:
            self.close()

    def close(self) -> None:
        """Hang up. Answers that were handed over still go out, and the client is given time to read them: a connection
        that is cut while something unread has come from the client is reset, and takes unread answers with it."""
        self.closing = True
        self._backlog.clear()
        self._backlog_bytes = 0
        if self._hung_up is not None or self.transport.is_closing():
            return
        self._hung_up = Entry(self.transport.abort)
        self.gateway.timer.add(self._hung_up, self.gateway.settings.hang_up_seconds)
        self.replies.closed = True
        if self.gone or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        if not self._reading:
            self._reading = True
            self.transport.resume_reading()

    def describe(self) -> str:
        return self.client.describe() if self.client is not None else f"a client on {self.host}"
