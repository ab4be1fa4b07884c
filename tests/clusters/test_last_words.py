"""A broker that refuses an account says why and hangs up at once: what it said is heard, and then that it is gone."""

from __future__ import annotations

import socket
from types import SimpleNamespace

from kafka.errors import KafkaConnectionError
from kafka.future import Future
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport

from hadash.kafka.group_admin import hear_last_words


class Protocol:
    """What the library's connection is to its transport."""

    def __init__(self) -> None:
        self._sensors = None
        self.heard: list[bytes] = []
        self.lost = Future()

    def connection_made(self, transport: KafkaTCPTransport) -> None:
        transport.set_protocol(self)
        transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)

    def connection_lost(self, error: Exception) -> None:
        self.lost.success(error)


def ended_with(words: list[bytes]) -> SimpleNamespace:
    """What is heard of a broker that has said ``words`` and hung up before anybody reads."""
    ours, broker = socket.socketpair()
    ours.setblocking(False)
    for each in words:
        broker.sendall(each)
    broker.close()
    loop, protocol = NetworkSelector(), Protocol()
    try:
        hear_last_words(protocol)
        protocol.connection_made(KafkaTCPTransport(loop, ours))
        loop.poll(timeout_ms=10_000, future=protocol.lost)
    finally:
        loop.close()
        ours.close()
    assert protocol.lost.is_done
    return SimpleNamespace(heard=b"".join(protocol.heard), error=protocol.lost.value)


def test_what_was_said_before_the_end_is_heard() -> None:
    ended = ended_with([b"invalid ", b"credentials"])
    assert ended.heard == b"invalid credentials"
    assert isinstance(ended.error, KafkaConnectionError)


def test_the_end_without_words_is_an_end() -> None:
    ended = ended_with([])
    assert ended.heard == b""
    assert isinstance(ended.error, KafkaConnectionError)
