"""A connection to one broker, opened for one client connection."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from hadash.bindings.model import Broker, ClusterDescription
from hadash.gateway.codec import build, decode_response, encode_request, request_class
from hadash.gateway.kinds import Kind
from hadash.gateway.wire import MalformedFrame, correlation_of, read_frame

#: StreamReader buffer: one default fetch of librdkafka (1 MiB) without a second round through the loop.
BUFFER_BYTES = 1 << 20

Answer = Callable[[bytes], None]


class UpstreamUnavailable(Exception):
    """The broker cannot be reached. The message says which and why."""


class Upstream:
    """Requests go out in order, answers come back in order; each answer goes to the callback of its request."""

    def __init__(
        self,
        cluster: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        max_frame_bytes: int,
    ) -> None:
        self.cluster = cluster
        self._reader = reader
        self._writer = writer
        self._max_frame_bytes = max_frame_bytes
        self._waiting: deque[tuple[int, Answer]] = deque()

    @classmethod
    async def open(
        cls, description: ClusterDescription, broker: Broker, timeout: float, max_frame_bytes: int
    ) -> Upstream:
        """:raises UpstreamUnavailable: no connection within ``timeout`` seconds."""
        context = ssl.create_default_context() if description.security_protocol.endswith("SSL") else None
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(broker.host, broker.port, ssl=context, limit=BUFFER_BYTES), timeout
            )
        except (OSError, TimeoutError) as error:
            raise UpstreamUnavailable(
                f"broker {broker.id} of cluster {description.name} at {broker.host}:{broker.port} "
                f"cannot be reached ({error or type(error).__name__})"
            ) from None
        return cls(description.name, reader, writer, max_frame_bytes)

    def send(self, data: bytes, correlation_id: int, on_answer: Answer | None) -> None:
        """Queue framed ``data``; ``None`` for a request that has no answer (acks=0)."""
        self._writer.write(data)
        if on_answer is not None:
            self._waiting.append((correlation_id, on_answer))

    @property
    def congested(self) -> bool:
        """Whether the broker lags behind in taking what was sent, so that :meth:`drain` would wait."""
        transport = self._writer.transport
        return transport.get_write_buffer_size() > transport.get_write_buffer_limits()[1]

    async def drain(self) -> None:
        """Wait while the broker does not take what was sent: this is the back-pressure on the client."""
        await self._writer.drain()

    async def exchange(self, data: bytes) -> bytes:
        """Send one framed request and read its answer (without the length). Only before :meth:`run`.

        :raises UpstreamUnavailable: the broker hung up.
        """
        try:
            self._writer.write(data)
            await self._writer.drain()
            payload = await read_frame(self._reader, self._max_frame_bytes)
        except OSError as error:
            raise UpstreamUnavailable(
                f"a broker of cluster {self.cluster} broke the connection off ({error})"
            ) from None
        if payload is None:
            raise UpstreamUnavailable(f"a broker of cluster {self.cluster} closed the connection")
        return payload

    async def run(self, after_answer: Callable[[], Awaitable[None]]) -> None:
        """Hand answers to their callbacks until the broker hangs up.

        :param after_answer: awaited after each: where the client's back-pressure holds the broker.
        :raises MalformedFrame: an answer that belongs to no request.
        """
        while True:
            payload = await read_frame(self._reader, self._max_frame_bytes)
            if payload is None:
                return
            if not self._waiting:
                raise MalformedFrame(
                    f"a broker of cluster {self.cluster} answered a request that nobody made"
                )
            correlation_id, on_answer = self._waiting.popleft()
            if correlation_of(payload) != correlation_id:
                raise MalformedFrame(f"a broker of cluster {self.cluster} answered out of order")
            on_answer(payload)
            await after_answer()

    def close(self) -> None:
        self._writer.close()


async def read_api_versions(upstream: Upstream) -> dict[int, tuple[int, int]]:
    """What a broker can serve. Needs no sign-in, and is the first thing on a connection."""
    version = 2
    message: Any = build(request_class(Kind.API_VERSIONS, version))
    payload = await upstream.exchange(
        encode_request(Kind.API_VERSIONS, version, 0, "hadash-gateway", message)
    )
    response = decode_response(Kind.API_VERSIONS, version, payload)
    return {int(key.api_key): (int(key.min_version), int(key.max_version)) for key in response.api_keys}
