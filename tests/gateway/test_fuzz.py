"""Strangers by the hundred, while a neighbour works: nothing crashes, nothing grows, and the neighbour notices nothing.

Random bytes, cut-off and oversized frames, wrong lengths, unknown kinds and versions, damaged requests of those who are
signed in, slow senders and connections on which nothing ever comes.
"""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from support import zookeeper as zk
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, Clusters
from support.messages import OFFERED_VERSIONS, example
from support.own_gateway import ASK
from support.raw import RawClient
from support.running import Writer, assert_exactly_once
from support.waiting import eventually

from hadash.bindings.membership import members
from hadash.bindings.model import GatewayMember
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.protocol.wire import framed

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

STRANGERS = 400
#: Bytes by which the process may grow: allocators keep some of what they have had.
MAY_GROW = 40 * 2**20
#: 280 kB of the smallest requests that are answered.
FLOOD = ASK * 20_000


@pytest.fixture
def gateway(
    control: ControlPlane, gateway_chroot: str, zookeeper_hosts: str, tmp_path: Path
) -> Iterator[GatewayProcess]:
    """One of its own: its memory and its log are looked at. Sign-in has to be quick here."""
    settings = {"HADASH_GATEWAY_AUTHENTICATION_SECONDS": 2, "HADASH_GATEWAY_MAX_CONNECTIONS": 300}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, tmp_path, "gateway-fuzz", **settings) as running:
        yield running


def header(luck: random.Random) -> bytes:
    """Of any kind and version, with a client.id whose length may lie."""
    client_id = luck.randbytes(luck.randrange(20))
    length = len(client_id) if luck.random() < 0.7 else luck.randrange(-3, 40_000)
    kind, version = luck.choice([(luck.randrange(-1, 90), luck.randrange(-1, 20)), *OFFERED_VERSIONS])
    return struct.pack(">hhih", kind, version, luck.randrange(2**31), min(length, 32_767)) + client_id


def damaged(luck: random.Random) -> bytes:
    """A right request in which bytes were changed, or whose end is missing."""
    frame = bytearray(example(*luck.choice(OFFERED_VERSIONS)).frame)
    for _ in range(luck.randrange(1, 6)):
        frame[luck.randrange(len(frame))] = luck.randrange(256)
    return bytes(frame[: luck.randrange(1, len(frame) + 1)])


def stream(luck: random.Random) -> bytes:
    """What one stranger sends."""
    return luck.choice(
        [
            lambda: luck.randbytes(luck.randrange(1, 2000)),
            lambda: framed(header(luck) + luck.randbytes(luck.randrange(200))),
            lambda: framed(damaged(luck)),
            lambda: framed(damaged(luck))[: luck.randrange(1, 40)],
            lambda: (
                struct.pack(">i", luck.choice([-1, -(2**31), 2**31 - 1, 200_000_000])) + luck.randbytes(50)
            ),
            lambda: b"".join(framed(damaged(luck)) for _ in range(20)),
        ]
    )()


def memory(gateway: GatewayProcess) -> int:
    (member,) = (m for m in members_of(gateway) if m.id == gateway.name)
    return psutil.Process(member.pid).memory_info().rss


def members_of(gateway: GatewayProcess) -> list[GatewayMember]:
    client = zk.patient_connect(
        gateway.environment["ZOOKEEPER_HOSTS"], gateway.environment["HADASH_ZOOKEEPER_CHROOT"]
    )
    try:
        return members(client)
    finally:
        client.stop()
        client.close()


def open_connections(gateway: GatewayProcess) -> int:
    return sum(
        gateway.metric(f'hadash_gateway_connections{{cluster="{name}"}}') for name in ("east", "west", "")
    )


def connections_of_others(gateway: GatewayProcess, app: App) -> int:
    """Those that are not signed in, or as another AppID. (A library may open another one of its own at any time.)"""
    signed_in = sum(
        count for appid, _, _, count, _ in gateway.ask("/connected")["connected"] if appid != app.appid
    )
    return int(signed_in) + gateway.metric('hadash_gateway_connections{cluster=""}')


def hang_on(client: socket.socket) -> None:
    """Read until the other side hangs up, or says nothing for a moment."""
    client.settimeout(0.05)
    with suppress(OSError):
        while client.recv(65536):
            pass


def strangers(gateway: GatewayProcess, app: App, seed: int) -> None:
    luck = random.Random(seed)
    for number in range(STRANGERS):
        signed_in = number % 2 == 1
        with suppress(OSError, AssertionError):
            if signed_in:
                with RawClient(gateway.address) as client:
                    client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
                    client.send_bytes(stream(luck))
                    hang_on(client._socket)
            else:
                with socket.create_connection(gateway.address) as plain:
                    plain.sendall(stream(luck))
                    hang_on(plain)


def test_strangers_disturb_nobody_and_leave_nothing_behind(
    gateway: GatewayProcess, app: App, shared_app: App, kafka: Clusters
) -> None:
    seed = int(os.environ.get("HADASH_FUZZ_SEED", random.randrange(2**32)))
    print(f"HADASH_FUZZ_SEED={seed}")
    with Writer(app.config(gateway.bootstrap), app.topic(2)) as writer:
        strangers(gateway, shared_app, seed)  # a first round, to fill the caches
        before = memory(gateway)
        strangers(gateway, shared_app, seed + 1)
        writer.wait_for_more(100)
        assert memory(gateway) - before < MAY_GROW
        eventually(lambda: connections_of_others(gateway, app) == 0, "the end of the strangers' connections")
        writer.stop()
    assert_exactly_once(kafka, writer)
    log = gateway.log()
    for word in ("Traceback", " ERROR ", "cannot go on"):
        assert word not in log, f"seed {seed}"


def test_slow_senders_and_silent_connections_end_and_hold_up_nobody(
    gateway: GatewayProcess, app: App, kafka: Clusters
) -> None:
    with Writer(app.config(gateway.bootstrap), app.topic(2)) as writer, ExitStack() as open_:
        silent = [open_.enter_context(socket.create_connection(gateway.address)) for _ in range(50)]
        slow = [open_.enter_context(socket.create_connection(gateway.address)) for _ in range(50)]
        handshake = framed(struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 1, 1, 3) + b"raw" + b"\0\x05PLAIN")
        deadline = time.monotonic() + 30
        for byte in handshake * 100:
            if all(gone(connection) for connection in (*silent, *slow)):
                break
            for connection in slow:
                with suppress(OSError):
                    connection.send(bytes((byte,)))
            assert time.monotonic() < deadline, "the authentication time is 2 s"
            time.sleep(0.02)  # what makes them slow
        assert all(gone(connection) for connection in (*silent, *slow))
        writer.wait_for_more(50)
        writer.stop()
    assert_exactly_once(kafka, writer)
    assert gateway.refused("authentication time") == 100


def test_floods_of_those_who_have_hung_up_are_not_worked_off(
    gateway: GatewayProcess, app: App, kafka: Clusters
) -> None:
    """Each sends as many requests as keep a Gateway busy for a second, if it answers them, and hangs up."""
    with Writer(app.config(gateway.bootstrap), app.topic(2)) as writer:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(gateway.address) as flooding:
                flooding.sendall(FLOOD)
        writer.wait_for_more(50)
        eventually(
            lambda: connections_of_others(gateway, app) == 0, "the end of the connections", patience=15
        )
        assert gateway.refused("requests before sign-in") >= 1
        writer.stop()
    assert_exactly_once(kafka, writer)


def gone(connection: socket.socket) -> bool:
    """Whether the other side has hung up."""
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_connections_beyond_the_limit_are_closed_at_once_and_the_others_stay(
    gateway: GatewayProcess, app: App
) -> None:
    with RawClient(gateway.address) as early, ExitStack() as open_:
        early.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        more = [open_.enter_context(socket.create_connection(gateway.address)) for _ in range(400)]
        eventually(lambda: gateway.refused("connections") >= 101, "refused connections")
        assert early.call(ApiKey.METADATA, 1, topics=()).topics == ()
        assert sum(gone(connection) for connection in more) >= 101
    eventually(lambda: open_connections(gateway) <= 1, "room again")
    with RawClient(gateway.address) as late:
        late.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        late.send_produce(app.topic(), b"one")
        assert late.produce_error() is ErrorCode.none
