"""A connection to one broker: requests go out in order, answers come back in order."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, cast

from hadash.bindings.model import Broker
from hadash.gateway.brokers.keepalive import limit_silence
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import build, decode_response, encode_request, request_class
from hadash.gateway.protocol.wire import FrameSplitter, MalformedFrame, WireError, correlation_of

#: An answer that is longer than this is passed on while it arrives, if nothing in it is rewritten. For shorter ones the
#: client gains nothing: they arrive in one or two pieces.
STREAM_BYTES = 32_768

#: Where the correlation id of a framed request is: after the length, the kind and the version.
_CORRELATION_AT = 8

#: The value of SO_LINGER that resets the connection: on, with no time.
_RESET = struct.pack("ii", 1, 0)

Answer = Callable[[bytes], None]

#: A queued request: its frame, correlation id, and receivers of the answer.
_Queued = tuple[tuple[bytes, ...], int, Answer | None, "Streamed | None"]


class UpstreamUnavailable(Exception):
    """The broker cannot be reached. The message says which one, and why."""


class Streamed(Protocol):
    """Receives an answer in pieces."""

    def begin(self, length: int) -> None:
        """Called when an answer of ``length`` bytes (without its length field) begins."""

    def piece(self, data: bytes) -> None: ...

    def end(self) -> None: ...


class Owner(Protocol):
    """The owner of a connection."""

    def upstream_lost(self, why: str) -> None:
        """Called when the broker hung up; ``why`` is empty unless it broke the protocol."""

    def upstream_paused(self) -> None:
        """Called when the broker is slow to take what was sent."""

    def upstream_resumed(self) -> None: ...


class Upstream(asyncio.Protocol):
    """A connection to a broker. Each answer goes to the callback of its request. All methods run in the Gateway's
    loop."""

    def __init__(
        self, cluster: str, max_frame_bytes: int, write_buffer_bytes: int, silence_seconds: float
    ) -> None:
        self.cluster = cluster
        self._silence_seconds = silence_seconds
        self._write_buffer_bytes = write_buffer_bytes
        self.owner: Owner | None = None
        #: How the connection has ended, for people.
        self.ended_by = ""
        #: Called once, when the connection has ended.
        self.on_end: Callable[[], None] | None = None
        #: Whether the broker was told which library the client uses.
        self.introduced = False
        #: The requests that wait until the connection is signed in again; ``None`` while it is not held.
        self._held: list[_Queued] | None = None
        #: Whether it is held, and its owner has been told.
        self._pauses = False
        #: Whether the transport takes no more for now.
        self._full = False
        #: The waiters in :meth:`exchange`.
        self._exchanging: set[asyncio.Future[bytes]] = set()
        #: Done when everything that was sent is answered, or the connection has ended; ``None`` without a waiter.
        self._quiet: asyncio.Future[None] | None = None
        self._frames = FrameSplitter(max_frame_bytes)
        self._waiting: deque[tuple[int, Answer | None, Streamed | None]] = deque()
        self._transport: asyncio.Transport | None = None
        self._stream: Streamed | None = None
        #: Bytes of the streamed answer that have not arrived yet.
        self._stream_rest = 0

    @classmethod
    async def open(
        cls,
        cluster: str,
        broker: Broker,
        context: ssl.SSLContext | None,
        timeout: float,
        max_frame_bytes: int,
        write_buffer_bytes: int,
        silence_seconds: float,
        header: bytes = b"",
    ) -> Upstream:
        """Connect to a broker.

        :param header: a header of the PROXY protocol; it is sent before everything else, also before TLS.
        :raises UpstreamUnavailable: no connection within ``timeout`` seconds.
        """
        upstream = cls(cluster, max_frame_bytes, write_buffer_bytes, silence_seconds)
        loop = asyncio.get_running_loop()
        try:
            if header:
                await asyncio.wait_for(upstream._connect_behind(header, broker, context), timeout)
            else:
                await asyncio.wait_for(
                    loop.create_connection(lambda: upstream, broker.host, broker.port, ssl=context), timeout
                )
        except (OSError, TimeoutError) as error:
            raise UpstreamUnavailable(
                f"broker {broker.id} of cluster {cluster} at {broker.host}:{broker.port} "
                f"cannot be reached ({error or type(error).__name__})"
            ) from None
        return upstream

    async def _connect_behind(self, header: bytes, broker: Broker, context: ssl.SSLContext | None) -> None:
        """Connect, and send ``header`` first.

        :raises OSError: no address of the broker accepts a connection.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(broker.host, broker.port, type=socket.SOCK_STREAM)
        for place, (family, kind, protocol, _, address) in enumerate(found, 1):
            connected = socket.socket(family, kind, protocol)
            connected.setblocking(False)
            try:
                await loop.sock_connect(connected, address)
                await loop.sock_sendall(connected, header)
                await loop.create_connection(
                    lambda: self,
                    sock=connected,
                    ssl=context,
                    server_hostname=broker.host if context else None,
                )
                return
            except BaseException as error:
                connected.close()
                if not isinstance(error, OSError) or place == len(found):
                    raise

    # -- sending -----------------------------------------------------------------------------------------------

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "not connected yet"
        return self._transport

    def send(
        self,
        data: tuple[bytes, ...],
        correlation_id: int,
        on_answer: Answer | None,
        stream: Streamed | None = None,
        *,
        signs_in: bool = False,
    ) -> None:
        """Queue a request: its frame in one piece or several.

        :param on_answer: receives the whole answer, without its length; ``None`` for a request without one (acks=0).
        :param stream: receives a long answer in pieces instead, while it arrives.
        :param signs_in: whether the request belongs to the sign-in for which :meth:`hold` keeps others back.
        """
        if self._held is not None and not signs_in:
            self._held.append((data, correlation_id, on_answer, stream))
            return
        self.transport.writelines(data)
        if on_answer is not None:
            self._waiting.append((correlation_id, on_answer, stream))

    async def exchange(self, data: bytes) -> bytes:
        """Send one framed request and return its answer (without the length), also while others are held.

        :raises UpstreamUnavailable: the broker hung up.
        """
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answer(payload: bytes) -> None:
            if not answered.done():
                answered.set_result(payload)

        if self._transport is None or self._transport.is_closing():
            raise UpstreamUnavailable(f"a broker of cluster {self.cluster} closed the connection")
        self._waiting.append((correlation_of(data[_CORRELATION_AT:]), answer, None))
        self._exchanging.add(answered)
        try:
            self.transport.write(data)
            return await answered
        finally:
            self._exchanging.discard(answered)

    # -- signing in again ------------------------------------------------------------------------------------------

    @property
    def congested(self) -> bool:
        """Whether a request sent now would wait here."""
        return self._full or self._pauses

    def hold(self, *, pause: bool = True) -> None:
        """Keep back all requests from now on, until :meth:`release`.

        :param pause: whether to tell the owner, so that it sends nothing. (A client that signs in again itself sends
            nothing else anyway.)
        """
        if self._held is not None:
            return
        self._held = []
        paused, self._pauses = self.congested, pause
        if self.owner is not None and self.congested and not paused:
            self.owner.upstream_paused()

    async def answered(self) -> None:
        """Wait, while others are held, until everything sent before is answered.

        That may take any time, because a FETCH may wait for records. Also returns when the connection ends.
        """
        if self._is_quiet() or self.transport.is_closing():
            return
        self._quiet = asyncio.get_running_loop().create_future()
        try:
            await self._quiet
        finally:
            self._quiet = None

    def _is_quiet(self) -> bool:
        return not self._waiting and self._stream is None

    def _look_whether_quiet(self, *, ended: bool = False) -> None:
        waits = self._quiet is not None and not self._quiet.done()
        if waits and (ended or self._is_quiet()):
            assert self._quiet is not None
            self._quiet.set_result(None)

    def release(self) -> None:
        """Send the requests that were kept back, in their order."""
        if self._held is None:
            return
        held, self._held = self._held, None
        paused, self._pauses = self._pauses, False
        if self.transport.is_closing():
            return
        for data, correlation_id, on_answer, stream in held:
            self.send(data, correlation_id, on_answer, stream)
        if paused and not self.congested and self.owner is not None:
            self.owner.upstream_resumed()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up so that nothing buffered here is sent any more. (Closing would still send it, whenever the broker
        reads again.) What has reached the broker's machine may still be processed."""
        if self._transport is not None:
            connected = self._transport.get_extra_info("socket")
            if connected is not None and not self._transport.is_closing():
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        limit_silence(transport.get_extra_info("socket"), self._silence_seconds)
        self._transport.set_write_buffer_limits(self._write_buffer_bytes)

    def data_received(self, data: bytes) -> None:
        try:
            if self._stream is not None:
                data = self._pass_on(data)
                if not data:
                    return
            for payload, _ in self._frames.feed(data):
                self._answer(payload)
            self._frames.check()
            if self._waiting and self._waiting[0][2] is not None:
                self._begin_stream()
            self._look_whether_quiet()
        except WireError as error:
            self.abort()
            self._lost(str(error))

    def _answer(self, payload: bytes) -> None:
        if not self._waiting:
            raise MalformedFrame(f"a broker of cluster {self.cluster} answered a request that nobody made")
        correlation_id, on_answer, _ = self._waiting.popleft()
        if correlation_of(payload) != correlation_id:
            raise MalformedFrame(f"a broker of cluster {self.cluster} answered out of order")
        assert on_answer is not None
        on_answer(payload)

    def _begin_stream(self) -> None:
        """Pass the begun answer on, if it is a long one."""
        if self._frames.missing_bytes < STREAM_BYTES:
            return
        partial = self._frames.take_partial()
        if partial is None:
            return
        length, data = partial
        correlation_id, _, stream = self._waiting.popleft()
        if len(data) >= 4 and correlation_of(data) != correlation_id:
            raise MalformedFrame(f"a broker of cluster {self.cluster} answered out of order")
        assert stream is not None
        self._stream, self._stream_rest = stream, length - len(data)
        stream.begin(length)
        stream.piece(data)

    def _pass_on(self, data: bytes) -> bytes:
        """Pass on the bytes that belong to the streamed answer, and return the rest."""
        assert self._stream is not None
        stream, here = self._stream, data[: self._stream_rest]
        self._stream_rest -= len(here)
        stream.piece(here)
        if self._stream_rest == 0:
            self._stream = None
            stream.end()
            self._look_whether_quiet()
        return data[len(here) :]

    def eof_received(self) -> bool | None:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        how = f"the connection to the broker ended ({error})" if error else "the broker hung up"
        self.ended_by = self.ended_by or how
        ended, self.on_end = self.on_end, None
        if ended is not None:
            ended()
        self._lost("")

    def _lost(self, why: str) -> None:
        self._look_whether_quiet(ended=True)
        for answered in self._exchanging:
            if not answered.done():
                answered.set_exception(
                    UpstreamUnavailable(why or f"a broker of cluster {self.cluster} closed the connection")
                )
        owner, self.owner = self.owner, None
        if owner is not None:
            owner.upstream_lost(why)

    def pause_writing(self) -> None:
        paused, self._full = self.congested, True
        if self.owner is not None and not paused:
            self.owner.upstream_paused()

    def resume_writing(self) -> None:
        self._full = False
        if self.owner is not None and not self.congested:
            self.owner.upstream_resumed()


async def read_api_versions(upstream: Upstream) -> dict[int, tuple[int, int]]:
    """Return the versions that a broker serves. Needs no sign-in; it is the first request on a connection."""
    version = 2
    message: Any = build(request_class(ApiKey.API_VERSIONS, version))
    payload = await upstream.exchange(
        encode_request(ApiKey.API_VERSIONS, version, 0, "hadash-gateway", message)
    )
    response = decode_response(ApiKey.API_VERSIONS, version, payload)
    return {int(key.api_key): (int(key.min_version), int(key.max_version)) for key in response.api_keys}


#: What brokers accept as the name and version of a client's library (KIP-511).
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def introduce(upstream: Upstream, client_id: str, library: str, version: str) -> None:
    """Tell the broker which library the client uses, if the client has named it: brokers show it with the client's
    connections (KIP-511) and in their metrics (KIP-559).

    Any answer is fine: older brokers do not know the request's version.

    :raises UpstreamUnavailable: the broker hung up.
    """
    introduction = _introduction(client_id, library, version)
    if introduction is not None:
        upstream.introduced = True
        await upstream.exchange(introduction)


def introduce_in_line(upstream: Upstream, client_id: str, library: str, version: str) -> None:
    """Do the same for a client that names its library after its sign-in, as Java's do, behind the requests that it has
    sent before.

    This happens once: a library does not change, and a client must not cause requests that are not counted.
    """
    introduction = None if upstream.introduced else _introduction(client_id, library, version)
    if introduction is not None:
        upstream.introduced = True
        upstream.send((introduction,), 0, lambda _: None)


def _introduction(client_id: str, library: str, version: str) -> bytes | None:
    """Return the request; ``None`` if brokers would not accept the name or version."""
    if not (_SOFTWARE.fullmatch(library) and _SOFTWARE.fullmatch(version)):
        return None
    message = build(
        request_class(ApiKey.API_VERSIONS, 3), client_software_name=library, client_software_version=version
    )
    return encode_request(ApiKey.API_VERSIONS, 3, 0, client_id, message)
