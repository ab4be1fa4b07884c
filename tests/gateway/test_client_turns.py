"""What a signed-in client may hold and how it takes turns: however much it sends, others are served between
its requests.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
import uvloop
from support.messages import batch, produce, request
from support.own_gateway import (
    APPID,
    ASK,
    CLIENT_ID,
    SilentBroker,
    answer,
    comes_about,
    connect,
    is_cut,
    own_gateway,
    silent_broker,
)

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import framed
from hadash.gateway.server import Gateway
from hadash.gateway.session.client import Client
from hadash.gateway.waiting.turns import REQUESTS_PER_TURN

#: Without sign-in, and without waiting for versions that the broker will not tell.
SETTINGS = {"security_protocol": "PLAINTEXT", "connect_seconds": 0.5, "linger_seconds": 0.2}

FLOOD = ASK * 20_000

#: A request that says who it is, and that the broker does not answer.
HEARTBEAT = framed(
    request(
        ApiKey.HEARTBEAT, 0, client_id=CLIENT_ID, group_id="workers", generation_id=1, member_id="m"
    ).frame
)


@pytest.fixture(scope="module")
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    """The Gateway's own event loop."""
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def broker() -> AsyncIterator[SilentBroker]:
    async with silent_broker() as running:
        yield running


@pytest.fixture
async def gateway(broker: SilentBroker) -> AsyncIterator[Gateway]:
    async with own_gateway(broker.port, **SETTINGS) as running:
        yield running


def write(acks: int, value: bytes = b"x") -> bytes:
    return framed(produce(9, {"orders": {0: batch(value)}}, acks=acks, client_id=CLIENT_ID).frame)


async def signed_in(gateway: Gateway) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Client]:
    """A client whose first request, a HEARTBEAT, has no answer."""
    before = set(gateway.context.clients)
    reader, writer = await connect(gateway)
    writer.write(HEARTBEAT)
    await comes_about(lambda: set(gateway.context.clients) - before, "a signed-in client")
    (client,) = set(gateway.context.clients) - before
    return reader, writer, client


class Rounds:
    """In which round of the event loop each API_VERSIONS request was answered."""

    def __init__(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answered: dict[int, int] = {}
        self._round = 0
        self._loop = asyncio.get_running_loop()
        self._real = gateway.context.versions.answer
        monkeypatch.setattr(gateway.context.versions, "answer", self._answer)
        self._next()

    def _next(self) -> None:
        self._round += 1
        self._handle = self._loop.call_soon(self._next)

    def _answer(self, asked):  # type: ignore[no-untyped-def]
        self.answered[self._round] = self.answered.get(self._round, 0) + 1
        return self._real(asked)

    def stop(self) -> None:
        self._handle.cancel()

    @property
    def total(self) -> int:
        return sum(self.answered.values())


async def test_a_flood_is_handled_a_few_requests_at_a_time(
    broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with own_gateway(broker.port, **SETTINGS, max_unanswered=100_000) as gateway:
        _, writer, _ = await signed_in(gateway)
        rounds = Rounds(gateway, monkeypatch)
        writer.write(FLOOD)
        await comes_about(lambda: rounds.total == 20_000, "an answer to each request")
        rounds.stop()
        # What a read brings has a turn at once, and what was left over may have another one in the same round.
        assert max(rounds.answered.values()) <= 2 * REQUESTS_PER_TURN


async def test_answers_behind_one_that_does_not_come_are_few(gateway: Gateway) -> None:
    """They wait for it, and hold memory."""
    _, writer, client = await signed_in(gateway)
    writer.write(FLOOD)
    most = gateway.context.settings.max_unanswered
    await comes_about(lambda: len(client.connection.replies) == most, "as many answers as may wait")
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(client.connection.replies) == most


class TestOneWhoHangsUp:
    COUNT = 10 * REQUESTS_PER_TURN

    async def test_its_writes_that_nobody_acknowledges_are_all_passed_on(
        self, gateway: Gateway, broker: SilentBroker
    ) -> None:
        """Nobody sends them again."""
        _, writer, _ = await signed_in(gateway)
        writer.write(write(acks=0) * self.COUNT)
        writer.close()
        await comes_about(lambda: broker.taken(ApiKey.PRODUCE) == self.COUNT, "every write")

    async def test_what_had_no_turn_by_then_is_not_written_if_it_comes_again(
        self, gateway: Gateway, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its client sends it again on another connection; written both times it is a duplicate."""
        turns: list[object] = []
        monkeypatch.setattr(gateway.context.client_turns, "ask", turns.append)
        _, writer, client = await signed_in(gateway)
        writer.write(write(acks=1) * (REQUESTS_PER_TURN + 5))
        await comes_about(lambda: turns, "requests that wait for their turn")
        writer.close()
        await comes_about(lambda: client.connection.gone, "the client's leaving")
        for turn in turns:
            turn()  # type: ignore[operator]
        await comes_about(lambda: client not in set(gateway.context.clients), "the end of the connection")
        assert broker.taken(ApiKey.PRODUCE) == REQUESTS_PER_TURN


class TestLargeRequests:
    """The memory for them is reserved before they are read."""

    LARGE = write(1, b"x" * 300_000)

    async def test_the_next_one_is_read_when_there_is_room(self, broker: SilentBroker) -> None:
        async with own_gateway(broker.port, **SETTINGS, max_partial_bytes=400_000) as gateway:
            first, second = [await signed_in(gateway) for _ in range(2)]
            first[1].write(self.LARGE[:100_000])
            await comes_about(
                lambda: gateway.context.memory_pool.reserved == len(self.LARGE), "room for the first"
            )
            second[1].write(self.LARGE)
            await comes_about(lambda: gateway.context.memory_pool.waiting == 1, "the second waits")
            assert broker.taken(ApiKey.PRODUCE) == 0
            first[1].write(self.LARGE[100_000:])
            await comes_about(lambda: broker.taken(ApiKey.PRODUCE) == 2, "both writes")
            assert gateway.context.memory_pool.reserved == 0

    async def test_who_does_not_complete_it_makes_way(self, broker: SilentBroker) -> None:
        async with own_gateway(
            broker.port, **SETTINGS, max_partial_bytes=400_000, partial_seconds=0.2
        ) as gateway:
            slow, quick = [await signed_in(gateway) for _ in range(2)]
            slow[1].write(self.LARGE[:-1])
            await comes_about(
                lambda: gateway.context.memory_pool.reserved == len(self.LARGE), "room for the first"
            )
            quick[1].write(self.LARGE)
            await comes_about(lambda: broker.taken(ApiKey.PRODUCE) == 1, "the write of the other")
            assert await is_cut(slow[0])
            assert gateway.context.traffic.refused == {"partial frame": 1}

    async def test_who_hangs_up_gives_the_room_back(self, broker: SilentBroker) -> None:
        async with own_gateway(broker.port, **SETTINGS, max_partial_bytes=400_000) as gateway:
            leaves, stays = [await signed_in(gateway) for _ in range(2)]
            leaves[1].write(self.LARGE[:-1])
            await comes_about(
                lambda: gateway.context.memory_pool.reserved == len(self.LARGE), "room for the first"
            )
            leaves[1].close()
            stays[1].write(self.LARGE)
            await comes_about(lambda: broker.taken(ApiKey.PRODUCE) == 1, "the write of the other")


async def test_one_who_does_not_read_gets_no_more_answers(
    broker: SilentBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with own_gateway(broker.port, **SETTINGS, write_buffer_bytes=1024) as gateway:
        reader, writer = await connect(gateway)
        writer.write(ASK)
        await answer(reader)
        # METADATA without Topics says who it is, and the Gateway answers it itself.
        nodes = request(ApiKey.METADATA, 1, client_id=CLIENT_ID, topics=())
        writer.write(framed(nodes.frame))
        assert struct.unpack_from(">i", await answer(reader)) == (7,)
        rounds = Rounds(gateway, monkeypatch)
        writer.transport.pause_reading()
        sending = asyncio.create_task(_send_all(writer, ASK * 1_000_000))
        (client,) = gateway.context.clients.of(APPID)
        await comes_about(lambda: client.connection.slow, "an answer too many")
        before = rounds.total
        for _ in range(100):
            await asyncio.sleep(0)
        assert rounds.total == before
        rounds.stop()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send_all(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def test_a_broker_hears_once_which_library_a_client_is_that_says_so_after_its_sign_in(
    gateway: Gateway, broker: SilentBroker
) -> None:
    """As Java's do."""
    told = [
        framed(
            request(
                ApiKey.API_VERSIONS,
                3,
                client_id=CLIENT_ID,
                client_software_name=name,
                client_software_version="3.9.2",
            ).frame
        )
        for name in ("not a name", "apache-kafka-java", "another")
    ]
    _, writer = await connect(gateway)
    writer.write(HEARTBEAT + b"".join(told) + HEARTBEAT)
    await comes_about(lambda: broker.taken(ApiKey.HEARTBEAT) == 2, "the request behind it")
    # (The Gateway itself asks for versions, too.)
    introductions = [
        frame for frame in broker.frames if frame[:4] == struct.pack(">hh", ApiKey.API_VERSIONS, 3)
    ]
    assert len(introductions) == 1
    assert b"apache-kafka-java" in introductions[0]
    assert b"3.9.2" in introductions[0]
    writer.close()
