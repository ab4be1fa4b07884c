"""What the kernel is told, read back from it. (A machine that loses its power cannot be had here.)"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hadash.gateway.brokers.keepalive import limit_silence, probe


@pytest.fixture
def connected() -> Iterator[socket.socket]:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as s,
    ):
        yield s


@pytest.mark.parametrize("seconds", [1.0, 60.0])
def test_a_silent_machine_is_given_up_in_time(connected: socket.socket, seconds: float) -> None:
    probe(connected, seconds)
    idle, pause, count = (
        connected.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert idle + pause * count == max(seconds, 4)  # the kernel knows whole seconds only


def test_only_a_broker_has_to_take_what_is_sent(connected: socket.socket) -> None:
    probe(connected, 60.0)
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
    limit_silence(connected, 60.0)
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
