"""Accounts of a Gateway's own: signed in, signed in again in time, and what is said when that fails. The
broker is a socket.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.bindings.model import Broker
from hadash.gateway.brokers import upstream_auth
from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable
from hadash.gateway.brokers.upstream_auth import OwnSession, sign_in_to
from hadash.gateway.listeners.accounts import Account
from hadash.gateway.listeners.listener import SecurityProtocol
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_request,
    encode_request,
    encode_response,
    request_class,
    respond,
)
from hadash.gateway.protocol.wire import parse_request
from hadash.gateway.session.client_auth import SignInAgain
from hadash.gateway.session.relay import Relay
from hadash.gateway.settings import GatewaySettings

PLAIN = Account("PLAIN", "shop", "secret")


class FakeBroker:
    """Answers what it is sent, in order, and notes it. Between SASL_HANDSHAKE and the answer to
    SASL_AUTHENTICATE it takes nothing else.
    """

    def __init__(self) -> None:
        self.seen: list[ApiKey] = []
        self.sessions: list[int] = []
        self.refuses = ""
        self.mechanisms = ("PLAIN",)
        #: Set while it answers.
        self.answers = asyncio.Event()
        self.answers.set()
        self._signing_in = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (length,) = struct.unpack(">i", await reader.readexactly(4))
                request = parse_request(await reader.readexactly(length))
                self.seen.append(request.kind)
                await self.answers.wait()
                answer = self._answer(request)
                if answer is None:
                    break
                writer.write(answer)
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    def _answer(self, request: Any) -> bytes | None:
        if request.kind is ApiKey.SASL_HANDSHAKE:
            offered = decode_request(request).mechanism in self.mechanisms
            self._signing_in = offered
            said: dict[str, Any] = {
                "error_code": ErrorCode.none if offered else ErrorCode.unsupported_sasl_mechanism,
                "mechanisms": self.mechanisms,
            }
        elif request.kind is ApiKey.SASL_AUTHENTICATE:
            self._signing_in = False
            error = ErrorCode.sasl_authentication_failed if self.refuses else ErrorCode.none
            lifetime = self.sessions.pop(0) if self.sessions else 0
            said = {
                "error_code": error,
                "error_message": self.refuses or None,
                "auth_bytes": b"",
                "session_lifetime": timedelta(milliseconds=lifetime),
            }
        elif self._signing_in:
            return None
        else:
            said = {"error_code": ErrorCode.none, "api_keys": ()}
        message = respond(request.kind, request.version, **said)
        return encode_response(request.kind, request.version, request.correlation_id, message)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[FakeBroker, Upstream]]:
    broker = FakeBroker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    upstream = await Upstream.open("east", Broker(0, host, port), None, 5, 1_000_000, 1_000_000, 60)
    try:
        yield broker, upstream
    finally:
        upstream.abort()
        server.close()
        await server.wait_closed()


def ask(upstream: Upstream, number: int) -> asyncio.Future[bytes]:
    """A request as any other."""
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    data = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, number, -1)
    upstream.send((data,), number, answered.set_result)
    return answered


async def test_a_session_is_renewed_before_it_ends_and_what_is_sent_meanwhile_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upstream_auth, "LEAST_SESSION_SECONDS", 0.0)
    renewed = asyncio.Event()
    async with connected() as (broker, upstream):
        broker.sessions = [200, 0]
        tasks: list[asyncio.Task[None]] = []

        def spawn(coroutine: Any) -> None:
            tasks.append(asyncio.create_task(coroutine))
            broker.answers.clear()  # whatever is sent now is sent during the renewal
            tasks.append(asyncio.create_task(during()))

        answers: list[bytes] = []

        async def during() -> None:
            waiting = [ask(upstream, number) for number in range(3)]
            assert upstream.congested
            broker.answers.set()
            answers.extend(await asyncio.gather(*waiting))

        await OwnSession(upstream, PLAIN, "x", 5, spawn, renewed.set).begin()
        await asyncio.wait_for(ask(upstream, 99), 5)
        await asyncio.wait_for(renewed.wait(), 5)
        await asyncio.gather(*tasks)
        assert len(answers) == 3
        assert not upstream.congested
        sign_in = [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]
        assert broker.seen == [*sign_in, ApiKey.API_VERSIONS, *sign_in, *[ApiKey.API_VERSIONS] * 3]


@pytest.mark.parametrize("answers", [True, False], ids=["answered", "hung up"])
async def test_a_renewals_time_begins_when_what_was_sent_before_has_its_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, answers: bool
) -> None:
    """A FETCH may wait for longer than a renewal has. A broker that hangs up meanwhile has not refused one."""
    monkeypatch.setattr(upstream_auth, "LEAST_SESSION_SECONDS", 0.0)
    begun: list[bool] = []
    renewed: list[bool] = []
    async with connected() as (broker, upstream):
        broker.sessions = [100, 0]
        held = asyncio.Event()
        tasks: list[asyncio.Task[None]] = []

        def spawn(coroutine: Any) -> None:
            tasks.append(asyncio.create_task(coroutine))
            held.set()

        await OwnSession(upstream, PLAIN, "x", 5, spawn, lambda: renewed.append(True)).begin()
        broker.answers.clear()
        earlier = ask(upstream, 1)

        async def noted(*args: Any) -> float:
            begun.append(earlier.done())
            return await sign_in_to(*args)

        monkeypatch.setattr(upstream_auth, "sign_in_to", noted)
        await asyncio.wait_for(held.wait(), 5)
        while not upstream.congested:
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        if answers:
            broker.answers.set()
        else:
            upstream.abort()
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        broker.answers.set()
        assert (begun, renewed) == (([True], [True]) if answers else ([], []))
        assert "could not be renewed" not in caplog.text


async def test_an_answer_that_comes_in_pieces_is_waited_for_to_its_end() -> None:
    begun, rest = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(14)
        writer.write(struct.pack(">ii", 100_004, 1) + b"x" * 50_000)
        await rest.wait()
        writer.write(b"x" * 50_000)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    upstream = await Upstream.open("east", Broker(0, host, port), None, 5, 1_000_000, 1_000_000, 60)
    stream: Any = SimpleNamespace(begin=lambda length: begun.set(), piece=lambda data: None, end=lambda: None)
    upstream.send((struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1),), 1, lambda _: None, stream)
    quiet = asyncio.create_task(upstream.answered())
    await asyncio.wait_for(begun.wait(), 5)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not quiet.done()
    rest.set()
    await asyncio.wait_for(quiet, 5)
    upstream.abort()
    server.close()


async def test_a_session_that_cannot_be_renewed_ends_its_connection_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upstream_auth, "LEAST_SESSION_SECONDS", 0.0)
    ended = asyncio.Event()

    class Owner:
        def upstream_lost(self, why: str) -> None:
            ended.set()

        def upstream_paused(self) -> None: ...

        def upstream_resumed(self) -> None: ...

    async with connected() as (broker, upstream):
        broker.sessions = [100]
        session = OwnSession(upstream, PLAIN, "x", 5, asyncio.ensure_future, lambda: None)  # type: ignore[arg-type]
        await session.begin()
        upstream.owner = Owner()
        broker.refuses = "password changed"
        await asyncio.wait_for(ended.wait(), 5)
        expected = "cluster east refused account shop (PLAIN): password changed"
        assert expected in upstream.ended_by
        assert expected in caplog.text


@pytest.mark.parametrize(
    ("prepare", "account", "why"),
    [
        (
            lambda broker: setattr(broker, "refuses", "Invalid username or password"),
            PLAIN,
            "cluster east refused account shop (PLAIN): Invalid username or password",
        ),
        (
            lambda broker: None,
            Account("SCRAM-SHA-512", "shop", "secret"),
            "cluster east does not offer the SASL mechanism of account shop (SCRAM-SHA-512); it offers PLAIN",
        ),
        (
            lambda broker: setattr(broker, "mechanisms", ("SCRAM-SHA-256",)),
            Account("SCRAM-SHA-256", "shop", "secret"),
            "cluster east broke the sign-in of account shop (SCRAM-SHA-256) off: its first message has no salt",
        ),
    ],
)
async def test_a_refusal_names_account_mechanism_and_what_was_said(
    prepare: Callable[[FakeBroker], None], account: Account, why: str
) -> None:
    async with connected() as (broker, upstream):
        prepare(broker)
        with pytest.raises(UpstreamUnavailable) as refused:
            await sign_in_to(upstream, account)
        assert why in str(refused.value)


class Replies:
    """What a client gets, in its order."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def open(self) -> Any:
        return SimpleNamespace(complete=lambda *pieces: self.given.append(b"".join(pieces)))


@pytest.mark.parametrize("refusal", ["", "token expired"])
async def test_what_a_gateway_asks_itself_waits_while_a_client_signs_in_again(refusal: str) -> None:
    """The broker would hang up on both: it takes nothing between SASL_HANDSHAKE and the answer to SASL_AUTHENTICATE."""
    replies = Replies()
    async with connected() as (broker, upstream):
        broker.refuses = refusal
        relay: Any = SimpleNamespace(
            replies=replies,
            upstream=upstream,
            observer=SimpleNamespace(counter=lambda kind: SimpleNamespace(bytes_out=0)),
        )
        again = SignInAgain(
            SimpleNamespace(mechanism="PLAIN", appid="shop"),  # type: ignore[arg-type]
            SimpleNamespace(protocol=SecurityProtocol.SASL_PLAINTEXT),  # type: ignore[arg-type]
            GatewaySettings(),
        )

        def relayed(kind: ApiKey, **values: Any) -> None:
            message = build(request_class(kind, 1), **values)
            request = parse_request(encode_request(kind, 1, 7, "client", message)[4:])
            again.check(request, decode_request(request))
            Relay.sign_in_again(relay, request, again.is_over)

        relayed(ApiKey.SASL_HANDSHAKE, mechanism="PLAIN")
        own = ask(upstream, 1)
        assert not upstream.congested  # the client's next message is read
        relayed(ApiKey.SASL_AUTHENTICATE, auth_bytes=b"\0shop\0secret")
        await asyncio.wait_for(own, 5)
        assert broker.seen == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS]
        assert len(replies.given) == 2


async def test_who_waits_for_an_answer_hears_that_the_broker_hung_up() -> None:
    async with connected() as (broker, upstream):
        broker.answers.clear()
        signing = asyncio.create_task(sign_in_to(upstream, PLAIN))
        while not broker.seen:
            await asyncio.sleep(0)
        upstream.abort()
        with pytest.raises(UpstreamUnavailable, match="closed the connection"):
            await signing
        broker.answers.set()
