"""What a stranger may do before it signs in: few requests, few bytes, few connections, and no more than its turn."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import socket
import ssl
import struct
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import uvloop
from support.certificates import Authority
from support.messages import request
from support.own_gateway import ASK, answer, comes_about, connect, is_cut, own_gateway, silent_broker

from hadash.gateway.clients import unauthenticated
from hadash.gateway.clients.unauthenticated import (
    GRACE_SECONDS,
    TOO_MANY,
    TOO_MANY_BYTES,
    TOO_MANY_OF_HOST,
)
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import framed
from hadash.gateway.server import Gateway

#: As on the demo: 280 kB of requests of 14 bytes.
FLOOD = ASK * 20_000

#: A SASL_AUTHENTICATE that no SASL_HANDSHAKE came before: it is refused, and the connection closed.
REFUSED = framed(struct.pack(">hhihi", ApiKey.SASL_AUTHENTICATE, 0, 7, 0, 0))

#: A sign-in whose token is passed on to the cluster.
HANDSHAKE = framed(struct.pack(">hhihh5s", ApiKey.SASL_HANDSHAKE, 1, 7, 0, 5, b"PLAIN"))
PLAIN = framed(struct.pack(">hhihi5s", ApiKey.SASL_AUTHENTICATE, 0, 8, 0, 5, b"\0a\0bc"))

#: A request that begins and is never complete.
HALF = framed(b"\0" * 10_000)[:-1]


@pytest.fixture(scope="module")
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    """The Gateway's own event loop."""
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with own_gateway() as running:
        yield running


def count_requests(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The correlation ids of the API_VERSIONS requests that are answered."""
    answered: list[int] = []
    real = gateway.context.versions.answer

    def counted(request):  # type: ignore[no-untyped-def]
        answered.append(request.correlation_id)
        return real(request)

    monkeypatch.setattr(gateway.context.versions, "answer", counted)
    return answered


class TestRequests:
    async def test_as_many_as_a_client_needs_are_answered(self, gateway: Gateway) -> None:
        reader, writer = await connect(gateway)
        for _ in range(gateway.context.settings.max_requests_before_sign_in):
            writer.write(ASK)
            await answer(reader)
        assert gateway.context.traffic.refused == {}
        writer.write(ASK)
        assert await is_cut(reader)
        assert gateway.context.traffic.refused == {"requests before sign-in": 1}

    async def test_a_flood_is_not_worked_off(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of 20,000 requests that come at once none is answered: no client sends ahead before it is signed in."""
        answered = count_requests(gateway, monkeypatch)
        reader, writer = await connect(gateway)
        writer.write(FLOOD)
        assert await is_cut(reader)
        writer.close()
        await comes_about(lambda: not gateway.context.connections, "the end of the connection")
        assert answered == []
        assert gateway.context.traffic.refused == {"requests before sign-in": 1}

    async def test_what_came_from_one_who_has_hung_up_is_dropped(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also when it is no more than a client may send: its turn comes when it has gone."""
        answered = count_requests(gateway, monkeypatch)
        turns: list[object] = []
        monkeypatch.setattr(gateway.context.sign_in_turns, "ask", turns.append)
        _, writer = await connect(gateway)
        writer.write(ASK * 10)
        await comes_about(lambda: turns, "a request that waits for its turn")
        writer.close()
        await comes_about(lambda: not gateway.context.connections, "the end of the connection")
        turns[0]()  # type: ignore[operator]
        await asyncio.sleep(0)
        assert answered == []

    @pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "PLAINTEXT"])
    async def test_what_is_answered_is_not_kept(self, protocol: str) -> None:
        """Nobody would count it: each of thousands could let the Gateway keep half a megabyte, twice."""
        async with own_gateway(security_protocol=protocol) as gateway:
            reader, writer = await connect(gateway)
            writer.write(ASK)
            await answer(reader)
            tracemalloc.start()
            try:
                large = request(
                    ApiKey.API_VERSIONS, 3, client_software_name="x" * 400_000, client_software_version="1"
                )
                writer.write(framed(large.frame))
                del large
                await answer(reader)
                gc.collect()
                assert tracemalloc.get_traced_memory()[0] < 100_000
            finally:
                tracemalloc.stop()
            assert gateway.context.unauthenticated.bytes == 0
            writer.close()

    async def test_without_sasl_the_limit_is_the_same(self) -> None:
        async with own_gateway(security_protocol="PLAINTEXT", max_requests_before_sign_in=3) as gateway:
            reader, writer = await connect(gateway)
            writer.write(ASK * 4)
            for _ in range(3):
                await answer(reader)
            assert await is_cut(reader)
            assert gateway.context.traffic.refused == {"requests before sign-in": 1}


class TestTime:
    async def test_it_ends_also_for_one_who_sends_all_the_time(self) -> None:
        """The sign-in's time is over when it is, whatever waits to be handled."""
        async with own_gateway(
            authentication_seconds=0.2, max_requests_before_sign_in=10_000_000, write_buffer_bytes=1024
        ) as gateway:
            reader, writer = await connect(gateway)

            async def flood() -> None:
                while True:
                    writer.write(ASK * 1000)
                    await writer.drain()

            flooding = asyncio.create_task(flood())
            assert await is_cut(reader)
            flooding.cancel()
            await asyncio.gather(flooding, return_exceptions=True)
            assert gateway.context.traffic.refused == {"authentication time": 1}

    async def test_it_ends_also_for_one_who_has_hung_up_while_its_broker_is_silent(self) -> None:
        """Nobody else would end the sign-in, and its connection to the broker."""
        async with (
            silent_broker() as broker,
            own_gateway(broker.port, authentication_seconds=1.0, connect_seconds=0.1) as gateway,
        ):
            reader, writer = await connect(gateway)
            writer.write(HANDSHAKE)
            await answer(reader)
            writer.write(PLAIN)
            await comes_about(lambda: broker.taken(ApiKey.SASL_HANDSHAKE), "the broker's turn")
            reset = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            writer.transport.abort()
            await comes_about(lambda: not gateway.context.connections, "the end of the connection")
            await comes_about(lambda: not broker.open, "the end of the sign-in")

    async def test_one_who_does_not_read_gets_no_more_answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with own_gateway(max_requests_before_sign_in=10_000_000, write_buffer_bytes=1024) as gateway:
            answered = count_requests(gateway, monkeypatch)
            with socket.create_connection(("127.0.0.1", gateway.context.settings.port)) as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                deaf.setblocking(False)
                loop = asyncio.get_running_loop()
                sending = asyncio.create_task(loop.sock_sendall(deaf, ASK * 1_000_000))
                await comes_about(
                    lambda: any(c.slow for c in gateway.context.connections), "an answer too many"
                )
                before = len(answered)
                for _ in range(100):
                    await asyncio.sleep(0)
                assert len(answered) == before
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)


class TestConnections:
    async def test_one_that_keeps_the_gateway_waiting_makes_room(self) -> None:
        async with own_gateway(max_unauthenticated_connections=3) as gateway:
            silent = [await connect(gateway) for _ in range(3)]
            await comes_about(lambda: len(gateway.context.unauthenticated) == 3, "three connections")
            await asyncio.sleep(GRACE_SECONDS)
            reader, writer = await connect(gateway)
            writer.write(ASK)
            await answer(reader)
            assert await is_cut(silent[0][0])
            assert gateway.context.traffic.refused == {TOO_MANY: 1}
            assert len(gateway.context.unauthenticated) == 3

    async def test_one_that_was_turned_away_and_does_not_hang_up_makes_room(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(unauthenticated, "GRACE_SECONDS", 0.0)
        async with own_gateway(max_unauthenticated_connections=1, hang_up_seconds=5.0) as gateway:
            stays, writer = await connect(gateway)
            writer.write(REFUSED)
            await answer(stays)
            assert await is_cut(stays)
            assert len(gateway.context.unauthenticated) == 1
            reader, writer = await connect(gateway)
            writer.write(ASK)
            await answer(reader)
            assert gateway.context.traffic.refused == {"token": 1, TOO_MANY: 1}
            writer.close()

    async def test_what_one_has_sent_that_was_turned_away_is_not_held(self) -> None:
        async with own_gateway(hang_up_seconds=5.0) as gateway:
            reader, writer = await connect(gateway)
            writer.write(REFUSED + HALF)
            await answer(reader)
            assert await is_cut(reader)
            assert (len(gateway.context.unauthenticated), gateway.context.unauthenticated.bytes) == (1, 0)
            writer.close()

    async def test_nobody_makes_room_in_its_first_second(self) -> None:
        """When a whole fleet comes back at once, those who have begun can finish."""
        async with own_gateway(max_unauthenticated_connections=3) as gateway:
            begun = [await connect(gateway) for _ in range(3)]
            await comes_about(lambda: len(gateway.context.unauthenticated) == 3, "three connections")
            late, _ = await connect(gateway)
            assert await is_cut(late)
            for reader, writer in begun:
                writer.write(ASK)
                await answer(reader)

    async def test_a_host_has_a_limit_of_its_own(self) -> None:
        async with own_gateway(max_unauthenticated_per_host=1) as gateway:
            _kept = await connect(gateway)
            await comes_about(lambda: len(gateway.context.unauthenticated) == 1, "a connection")
            assert await is_cut((await connect(gateway))[0])
            assert gateway.context.traffic.refused == {TOO_MANY_OF_HOST: 1}
            other = await asyncio.open_connection(
                "127.0.0.1", gateway.context.settings.port, local_addr=("127.0.0.2", 0)
            )
            other[1].write(ASK)
            await answer(other[0])

    async def test_a_process_without_file_descriptors_tries_again(
        self, gateway: Gateway, caplog: pytest.LogCaptureFixture
    ) -> None:
        """And does not turn in circles meanwhile."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.create_connection(("127.0.0.1", gateway.context.settings.port)) as waits:
            waits.setblocking(False)
            unused = os.dup(waits.fileno())
            os.close(unused)
            resource.setrlimit(resource.RLIMIT_NOFILE, (unused, hard))
            try:
                await comes_about(lambda: "no connection can be accepted" in caplog.text, "the message")
                for _ in range(100):
                    await asyncio.sleep(0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert caplog.text.count("no connection can be accepted") == 1
            await comes_about(lambda: len(gateway.context.connections) == 1, "its turn after all")

    async def test_strangers_do_not_use_up_the_places_of_clients(self) -> None:
        async with own_gateway(max_connections=2) as gateway:
            silent = [await connect(gateway) for _ in range(2)]
            await comes_about(lambda: len(gateway.context.connections) == 2, "two connections")
            await asyncio.sleep(GRACE_SECONDS)
            reader, writer = await connect(gateway)
            writer.write(ASK)
            await answer(reader)
            assert await is_cut(silent[0][0])
            assert gateway.context.traffic.refused == {"connections": 1}

    async def test_what_all_of_them_hold_has_a_limit_and_who_holds_most_goes(self) -> None:
        async with AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(own_gateway(max_unauthenticated_bytes=45_000))
            honest = await connect(gateway)
            honest[1].write(HALF[:500])
            greedy = [await connect(gateway) for _ in range(5)]
            for _, writer in greedy:
                writer.write(HALF)
            assert await is_cut(greedy[0][0])
            assert gateway.context.unauthenticated.bytes <= 45_000
            assert gateway.context.traffic.refused == {TOO_MANY_BYTES: 1}
            assert len(gateway.context.unauthenticated) == 5

    async def test_what_a_broker_is_asked_about_is_held_until_it_answers(self) -> None:
        async with silent_broker() as broker, own_gateway(broker.port, connect_seconds=0.1) as gateway:
            reader, writer = await connect(gateway)
            writer.write(HANDSHAKE)
            await answer(reader)
            assert gateway.context.unauthenticated.bytes == 0
            token = b"\0a\0" + b"x" * 50_000
            head = struct.pack(">hhihi", ApiKey.SASL_AUTHENTICATE, 0, 8, 0, len(token))
            writer.write(framed(head + token))
            await comes_about(lambda: broker.taken(ApiKey.SASL_HANDSHAKE), "the broker's turn")
            assert gateway.context.unauthenticated.bytes > 50_000
            writer.write(b"\0")  # what comes behind it does not hide it
            await comes_about(
                lambda: gateway.context.unauthenticated.bytes > len(head) + len(token), "a byte more"
            )
            writer.close()
            for connection in list(gateway.context.connections):
                connection.turn_out("test", "the test is over")


class TestHandshakes:
    @pytest.fixture
    async def gateway(self, tmp_path: Path) -> AsyncIterator[Gateway]:
        issued = Authority(tmp_path, "Test").issue("127.0.0.1")
        async with own_gateway(
            security_protocol="SASL_SSL",
            tls_certificate=str(issued.certificate),
            tls_key=str(issued.key),
            max_connections=2,
            authentication_seconds=2.0,
        ) as running:
            yield running

    async def test_a_connection_counts_before_it_has_shaken_hands(self, gateway: Gateway) -> None:
        _silent = [await connect(gateway) for _ in range(2)]
        await comes_about(lambda: len(gateway.context.connections) == 2, "two connections")
        assert await is_cut((await connect(gateway))[0])
        assert gateway.context.traffic.refused == {"connections": 1}

    @pytest.mark.parametrize("half", [b"", bytes((22, 3, 1, 0, 200, 1))], ids=["nothing", "half a hello"])
    async def test_each_waits_for_its_turn_and_who_has_not_begun_has_none(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch, half: bytes
    ) -> None:
        """However many hellos come at once, they are answered one by one, and clients are served in between."""
        turns: list[Callable[[], None]] = []
        monkeypatch.setattr(gateway.context.handshake_turns, "ask", turns.append)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, late = await connect(gateway)
        late.write(half)
        shaking = asyncio.create_task(
            asyncio.open_connection("127.0.0.1", gateway.context.settings.port, ssl=context)
        )
        await comes_about(lambda: turns and len(gateway.context.connections) == 2, "a hello")
        assert len(turns) == 1
        assert not shaking.done()
        turns[0]()
        reader, writer = await shaking
        writer.write(ASK)
        assert struct.unpack_from(">i", await answer(reader)) == (7,)
        writer.close()
        late.close()
        await comes_about(lambda: len(turns) == 2, "the end of the other")  # TLS is told that it has hung up
        turns[1]()
        await comes_about(lambda: not gateway.context.connections, "the end of both")

    async def test_who_begins_with_more_than_a_hello_is_turned_away(self, gateway: Gateway) -> None:
        reader, writer = await connect(gateway)
        writer.write(bytes((22, 3, 1, 0x40, 0, 1, 1, 0, 0)) + b"x" * (0x4000 - 4))
        assert await is_cut(reader)
        assert gateway.context.traffic.refused == {"protocol": 1}
        writer.close()

    async def test_the_time_of_the_sign_in_holds_for_a_handshake(self, gateway: Gateway) -> None:
        reader, _ = await connect(gateway)
        assert await is_cut(reader)
        await comes_about(lambda: not gateway.context.connections, "the end of the connection")

    async def test_who_shakes_hands_wrongly_leaves_no_place_taken(self, gateway: Gateway) -> None:
        reader, writer = await connect(gateway)
        writer.write(ASK)
        assert await is_cut(reader)
        await comes_about(lambda: not gateway.context.connections, "the end of the connection")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", gateway.context.settings.port, ssl=context
        )
        writer.write(ASK)
        assert struct.unpack_from(">i", await answer(reader)) == (7,)
        writer.close()


def test_an_api_versions_request_is_what_the_stranger_sent() -> None:
    assert len(ASK) == 14
    assert ASK[4:6] == struct.pack(">h", ApiKey.API_VERSIONS)
