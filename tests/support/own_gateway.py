"""A Gateway in the test's own event loop, for what can be seen round by round only.

Its clusters cannot be reached, or have a broker that takes requests and answers none: for what happens before
a client is signed in, and before a request has its answer.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import FrameSplitter, framed
from hadash.gateway.server import Gateway
from hadash.gateway.settings import GatewaySettings
from support.gateway import free_ports
from support.waiting import PATIENCE_SECONDS

#: An API_VERSIONS request of 14 bytes.
ASK = framed(struct.pack(">hhih", ApiKey.API_VERSIONS, 0, 7, 0))

#: A port on which nobody listens.
_NOBODY = 1

#: Who may come without authentication, and with which client.id.
APPID = "shop"
CLIENT_ID = "HA#shop#orders"


class SilentBroker:
    """Takes requests, and answers none of them."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.port = 0
        #: Connections that stand.
        self.open = 0

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter = FrameSplitter(1 << 30)
        self.open += 1
        while data := await reader.read(65_536):
            self.frames += [frame for frame, _ in splitter.feed(data)]
        self.open -= 1
        writer.close()

    def taken(self, kind: ApiKey) -> int:
        """How many requests of ``kind`` have come."""
        return sum(frame[:2] == struct.pack(">h", kind) for frame in self.frames)


@asynccontextmanager
async def silent_broker() -> AsyncIterator[SilentBroker]:
    broker = SilentBroker()
    server = await asyncio.start_server(broker._take, "127.0.0.1", 0)
    broker.port = server.sockets[0].getsockname()[1]
    yield broker
    server.close()


@asynccontextmanager
async def own_gateway(broker: int = _NOBODY, **settings: object) -> AsyncIterator[Gateway]:
    """Started, and stopped at the end. :param broker: the port of the only broker of both clusters."""
    port = free_ports(3)
    clusters = {
        name: ClusterDescription(
            name, number, f"127.0.0.1:{broker}", "PLAINTEXT", brokers=(Broker(0, "127.0.0.1", broker),)
        )
        for number, name in enumerate(("east", "west"))
    }
    chosen = GatewaySettings(**{"port": port, "ports_per_cluster": 1, "hang_up_seconds": 0.1, **settings})  # type: ignore[arg-type]
    gateway = Gateway(
        chosen,
        PairDescription("main", ("east", "west"), "east"),
        clusters,
        None,
        Accounts(unauthenticated=frozenset({APPID})),
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


async def connect(gateway: Gateway) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection of somebody who is not known."""
    return await asyncio.open_connection("127.0.0.1", gateway.context.settings.port)


async def comes_about(look: Callable[[], object], what: str) -> None:
    """Give the loop its rounds until ``look`` is true."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not look():
            await asyncio.sleep(0.005)


async def answer(reader: asyncio.StreamReader) -> bytes:
    """The next answer, without its length."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        return await reader.readexactly(length)


async def is_cut(reader: asyncio.StreamReader) -> bool:
    """Whether the other side hangs up; what comes before that is read."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await reader.read(65_536):
                pass
    except ConnectionError:
        pass
    return True
