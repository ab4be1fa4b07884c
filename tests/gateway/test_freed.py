"""A connection that has ended is freed at once, by itself: what is left to Python's collector of cycles is
freed later, all at once, while nobody is served. (At 2,500 connections a second of a stranger that was 70 ms
of every second.)
"""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import uvloop
from support.certificates import Authority
from support.messages import batch, produce, request
from support.own_gateway import ASK, CLIENT_ID, SilentBroker, comes_about, own_gateway, silent_broker

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import framed
from hadash.gateway.server import Gateway
from hadash.gateway.session.connection import ClientConnection

#: What a stranger sends before it hangs up.
STRANGERS = {
    "nothing": b"",
    "a request": ASK,
    "a flood": ASK * 20_000,
    "half a request": framed(b"\0" * 10_000)[:-1],
    "no request": b"GET / HTTP/1.1\r\n\r\n",
    "a token without a handshake": framed(struct.pack(">hhihi", ApiKey.SASL_AUTHENTICATE, 0, 7, 0, 0)),
}


def write(acks: int) -> bytes:
    return framed(produce(9, {"orders": {0: batch(b"x")}}, acks=acks, client_id=CLIENT_ID).frame)


#: What a client that need not sign in sends before it hangs up; the broker answers none of it.
CLIENTS = {
    "a heartbeat": framed(
        request(
            ApiKey.HEARTBEAT, 0, client_id=CLIENT_ID, group_id="workers", generation_id=1, member_id="m"
        ).frame
    ),
    "a write": write(acks=1),
    "a write that asks for no answer": write(acks=0),
    "more than it may have unanswered": write(acks=1) * 100,
    "a look-up": framed(request(ApiKey.FIND_COORDINATOR, 0, client_id=CLIENT_ID, key="workers").frame),
    "what breaks the protocol": write(acks=1) + b"GET / HTTP/1.1\r\n\r\n",
}

CONNECTIONS = 5


@pytest.fixture(scope="module")
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    """The Gateway's own event loop."""
    return uvloop.EventLoopPolicy()


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Watched:
    """Connections of a Gateway, also after their end."""

    def __init__(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: weakref.WeakSet[ClientConnection] = weakref.WeakSet()
        self.accepted = 0
        real = gateway.context.connections.accepted

        def accepted(connection: ClientConnection) -> None:
            self.left.add(connection)
            self.accepted += 1
            real(connection)

        monkeypatch.setattr(gateway.context.connections, "accepted", accepted)

    async def are_freed(self) -> None:
        await comes_about(
            lambda: self.accepted == CONNECTIONS and not self.left, "the end of what was accepted"
        )


async def visit(port: int, data: bytes, *, reset: bool = False) -> None:
    """Connect, send, hang up. :param reset: without a word."""
    loop = asyncio.get_running_loop()
    with socket.socket() as visitor:
        visitor.setblocking(False)
        await loop.sock_connect(visitor, ("127.0.0.1", port))
        try:
            await loop.sock_sendall(visitor, data)
        except ConnectionError:
            return
        if reset:
            visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with own_gateway() as running:
        yield running


@pytest.mark.parametrize("reset", [False, True], ids=["hangs up", "resets"])
@pytest.mark.parametrize("data", STRANGERS.values(), ids=STRANGERS)
async def test_of_a_stranger(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, data: bytes, reset: bool
) -> None:
    watched = Watched(gateway, monkeypatch)
    for _ in range(CONNECTIONS):
        await visit(gateway.context.settings.port, data, reset=reset)
    await watched.are_freed()


@pytest.mark.parametrize(
    "data", [b"", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", ASK], ids=["nothing", "a hello", "no hello"]
)
async def test_of_a_stranger_that_shakes_no_hands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    issued = Authority(tmp_path, "Test").issue("127.0.0.1")
    async with own_gateway(
        security_protocol="SASL_SSL", tls_certificate=str(issued.certificate), tls_key=str(issued.key)
    ) as gateway:
        watched = Watched(gateway, monkeypatch)
        for _ in range(CONNECTIONS):
            await visit(gateway.context.settings.port, data)
        await watched.are_freed()


@pytest.fixture
async def broker() -> AsyncIterator[SilentBroker]:
    async with silent_broker() as running:
        yield running


@pytest.fixture
async def serving(broker: SilentBroker) -> AsyncIterator[Gateway]:
    """A Gateway that serves clients without sign-in."""
    async with own_gateway(
        broker.port, security_protocol="PLAINTEXT", connect_seconds=0.5, linger_seconds=0.2, max_in_flight=3
    ) as running:
        yield running


@pytest.mark.parametrize("reset", [False, True], ids=["hangs up", "resets"])
@pytest.mark.parametrize("data", CLIENTS.values(), ids=CLIENTS)
async def test_of_a_client(
    serving: Gateway, monkeypatch: pytest.MonkeyPatch, data: bytes, reset: bool
) -> None:
    """Also of one that leaves before its broker has answered."""
    watched = Watched(serving, monkeypatch)
    for _ in range(CONNECTIONS):
        with socket.create_connection(("127.0.0.1", serving.context.settings.port)) as client:
            before = serving.context.traffic.sign_ins
            client.sendall(data)
            await comes_about(
                lambda before=before: serving.context.traffic.sign_ins > before, "a served client"
            )
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await watched.are_freed()


async def test_what_a_client_wrote_that_is_cut_while_it_signs_in_is_passed_on(
    serving: Gateway, broker: SilentBroker
) -> None:
    """Nobody would send it again: it asked for no answer."""
    await visit(serving.context.settings.port, write(acks=0), reset=True)
    await comes_about(lambda: broker.taken(ApiKey.PRODUCE), "the write")
    await comes_about(lambda: not serving.context.connections, "the end of the connection")
