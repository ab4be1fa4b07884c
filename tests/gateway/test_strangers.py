"""Bytes that are not Kafka's, and requests that are not allowed: the connection ends, with a reason, and
nobody else's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from support.gateway import GatewayProcess
from support.kafka import SECONDS, App, Clusters
from support.messages import produce
from support.raw import NotSignedIn, RawClient
from support.waiting import eventually

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.protocol.wire import framed

pytestmark = pytest.mark.stack


class Neighbour:
    """A client that minds its own business on the same Gateway."""

    def __init__(self, app: App, bootstrap: str) -> None:
        self.appid = app.appid
        self.topic = app.topic()
        self.written = 0
        self.errors: list[object] = []
        self._producer = Producer(
            app.config(bootstrap, client_id="neighbour", linger_ms=0, error_cb=self.errors.append)
        )

    def write(self) -> None:
        acknowledged: list[object] = []

        def on_delivery(error: object, _: object) -> None:
            (self.errors if error else acknowledged).append(error)

        self._producer.produce(self.topic, b"%d" % self.written, on_delivery=on_delivery)
        unanswered = self._producer.flush(SECONDS)
        assert unanswered == 0, f"{self.appid} could not write to {self.topic}: {self.errors}"
        self.written += len(acknowledged)


@pytest.fixture(scope="module")
def neighbour(gateway: GatewayProcess, shared_app: App, kafka: Clusters) -> Iterator[Neighbour]:
    """Connected before the strangers come, and asked after each of them."""
    made = Neighbour(shared_app, gateway.bootstrap)
    made.write()
    yield made
    assert kafka.values("east", made.topic) == [b"%d" % n for n in range(made.written)]


@pytest.fixture(autouse=True)
def the_neighbour_goes_on(gateway: GatewayProcess, neighbour: Neighbour) -> Iterator[None]:
    """After every test: on the same connections as before, without an error."""
    before = gateway.clients(neighbour.appid, instance="neighbour")
    yield
    neighbour.write()
    assert neighbour.errors == []
    assert len(gateway.clients(neighbour.appid, instance="neighbour")) >= len(before)


@dataclass(frozen=True)
class Stranger:
    """What is sent, and what the log says of it."""

    sends: Callable[[RawClient], None]
    logged: str
    reason: str = "protocol"


def garbage(data: bytes) -> Callable[[RawClient], None]:
    return lambda client: client.send_bytes(data)


def cut_off(data: bytes) -> Callable[[RawClient], None]:
    def send(client: RawClient) -> None:
        client.send_bytes(data)
        client.end()

    return send


def header(api_key: int, version: int, client_id: bytes = b"stranger") -> bytes:
    return struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id


BEFORE_SIGN_IN = {
    "HTTP": Stranger(
        garbage(b"GET / HTTP/1.1\r\n\r\n"), "a frame of 1195725856 bytes; at most 524288 are allowed"
    ),
    "TLS": Stranger(garbage(b"\x16\x03\x01\x02\x00\x01"), "a frame of 369295618 bytes"),
    "an oversized frame": Stranger(
        garbage(struct.pack(">i", 524_289)), "a frame of 524289 bytes; at most 524288"
    ),
    "a negative length": Stranger(garbage(struct.pack(">i", -5)), "a frame of -5 bytes"),
    "an empty frame": Stranger(garbage(framed(b"")), "a request of 0 bytes has no header"),
    "half a length": Stranger(cut_off(b"\0\0"), "the connection ended inside a frame's length"),
    "half a frame": Stranger(
        cut_off(framed(header(18, 0))[:-3]), "the connection ended inside a frame of 18 bytes"
    ),
    "an unknown kind": Stranger(garbage(framed(header(999, 0))), "API 999 version 0 is not served here"),
    "a kind of brokers": Stranger(garbage(framed(header(4, 0))), "API 4 version 0 is not served here"),
    "a client.id beyond the frame": Stranger(
        garbage(framed(struct.pack(">hhih", 18, 0, 1, 500) + b"x")),
        "a client.id of 500 bytes in a frame of 11",
    ),
    "a client.id that is no text": Stranger(
        garbage(framed(header(18, 0, b"\xff"))), "the client.id is not UTF-8"
    ),
    "METADATA": Stranger(garbage(framed(header(3, 8) + b"\0\0\0\0\0\0\0")), "METADATA before sign-in"),
    "PRODUCE": Stranger(
        lambda client: client.send_request(produce(9, {"orders": {0: b"x"}})), "PRODUCE before sign-in"
    ),
    "an old handshake": Stranger(
        garbage(framed(header(17, 2))), "SASL_HANDSHAKE version 2 is not served here"
    ),
    "a garbled handshake": Stranger(
        garbage(framed(header(17, 1) + b"\x7f\xff")), "SASL_HANDSHAKE version 1 cannot"
    ),
}


def test_a_client_with_bare_tokens_signs_in_too(gateway: GatewayProcess, plain_app: App) -> None:
    """SASL_HANDSHAKE 0, as kafka-python 2.0 and old clients of other languages send it."""
    with RawClient(gateway.address, "old") as client:
        client.sign_in_with_bare_tokens("shop", "shop-secret")
        assert client.call(ApiKey.METADATA, 1, topics=()).topics == ()
        assert [c["client_id"] for c in gateway.clients("shop", instance="old")] == ["old"]


def test_of_one_with_a_wrong_password_the_connection_ends(gateway: GatewayProcess, plain_app: App) -> None:
    with RawClient(gateway.address) as client, pytest.raises(NotSignedIn):
        client.sign_in_with_bare_tokens("shop", "wrong")


SIGNED_IN = {
    "an oversized frame": Stranger(garbage(struct.pack(">i", 104_857_601)), "a frame of 104857601 bytes"),
    "a negative length": Stranger(garbage(struct.pack(">i", -1)), "a frame of -1 bytes"),
    "an unknown kind": Stranger(garbage(framed(header(68, 0))), "API 68 version 0 is not served here"),
    "a version that was not offered": Stranger(
        garbage(framed(header(1, 12) + bytes(50))), "FETCH version 12 is not served here"
    ),
    "a negative version": Stranger(garbage(framed(header(3, -1))), "METADATA version -1 is not served here"),
    "a garbled METADATA": Stranger(
        garbage(framed(header(3, 1) + b"\0\0\0\x09\0")), "METADATA version 1 cannot be read"
    ),
    "a garbled PRODUCE": Stranger(
        garbage(framed(header(0, 7) + b"\xff\xff\0\x01" + b"\x7f" * 20)),
        r"a field of \d+ bytes at \d+ in a frame",
    ),
    "half a PRODUCE": Stranger(
        cut_off(framed(produce(9, {"orders": {0: b"x" * 5000}}).frame)[:2000]),
        "the connection ended inside a frame",
    ),
}


@pytest.mark.parametrize("stranger", BEFORE_SIGN_IN.values(), ids=BEFORE_SIGN_IN)
def test_before_sign_in(gateway: GatewayProcess, stranger: Stranger) -> None:
    before = gateway.refused(stranger.reason)
    with RawClient(gateway.address) as client:
        stranger.sends(client)
        assert client.receive() is None
    assert gateway.logged(rf"client 127\.0\.0\.1 \(not signed in\): {stranger.logged}")
    assert gateway.refused(stranger.reason) == before + 1


@pytest.mark.parametrize("stranger", SIGNED_IN.values(), ids=SIGNED_IN)
def test_after_sign_in(gateway: GatewayProcess, shared_app: App, stranger: Stranger) -> None:
    before = gateway.refused(stranger.reason)
    with RawClient(gateway.address, client_id="stranger") as client:
        client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-256")
        stranger.sends(client)
        assert client.receive() is None
    assert gateway.logged(rf"client 127\.0\.0\.1 \({shared_app.appid} › stranger\): {stranger.logged}")
    assert gateway.refused(stranger.reason) == before + 1
    eventually(
        lambda: not gateway.clients(shared_app.appid, instance="stranger"), "the end of the connection"
    )


def test_who_only_connects_is_nobodys_business(gateway: GatewayProcess) -> None:
    before = gateway.log()
    with RawClient(gateway.address) as client:
        client.end()
        assert client.receive() is None
    assert gateway.log() == before


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "plain", "", "X" * 5000])
def test_a_mechanism_that_is_not_offered_is_answered_with_those_that_are(
    gateway: GatewayProcess, mechanism: str
) -> None:
    before = gateway.refused("mechanism")
    with RawClient(gateway.address) as client:
        response = client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism=mechanism)
    assert response.error_code is ErrorCode.unsupported_sasl_mechanism
    assert int(response.error_code) == 33
    assert response.mechanisms == ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    assert gateway.refused("mechanism") == before + 1
    assert "this Gateway offers PLAIN, SCRAM-SHA-256, SCRAM-SHA-512" in gateway.logged(
        f"asked for SASL mechanism '{mechanism[:40]}'"
    )


def test_another_mechanism_may_be_asked_for_on_the_same_connection(
    gateway: GatewayProcess, shared_app: App
) -> None:
    with RawClient(gateway.address) as client:
        client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="GSSAPI")
        client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-512")


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (
            b"admin\0shop\0shop-secret",
            "PLAIN with an authorization id other than the user name is not allowed.",
        ),
        (b"garbage", "The PLAIN message is not authorization id, user name, password."),
        (b"\0\xff\0x", "The first PLAIN message is not UTF-8."),
    ],
)
def test_a_token_that_names_no_user_is_refused_with_the_reason(
    gateway: GatewayProcess, token: bytes, why: str
) -> None:
    before = gateway.refused("token")
    with RawClient(gateway.address) as client:
        client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        response = client.call(ApiKey.SASL_AUTHENTICATE, 1, auth_bytes=token)
        assert (response.error_code, response.error_message) == (ErrorCode.sasl_authentication_failed, why)
        assert client.receive() is None
    assert gateway.refused("token") == before + 1


def test_what_a_stranger_says_stays_on_one_line_of_the_log(gateway: GatewayProcess) -> None:
    forged = "2026-11-21 00:00:00 ERROR all is lost"
    with RawClient(gateway.address, f"x\n{forged}") as client, pytest.raises(NotSignedIn):
        client.sign_in(f"nobody\n{forged}", "wrong")
    assert gateway.logged("refused the sign-in of nobody")
    assert not [line for line in gateway.log().splitlines() if line.startswith(forged)]


def test_a_token_without_handshake_is_refused(gateway: GatewayProcess) -> None:
    with RawClient(gateway.address) as client:
        response = client.call(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=b"\0shop\0shop-secret")
        assert response.error_code is ErrorCode.sasl_authentication_failed
        assert response.error_message == "SASL_HANDSHAKE with an offered mechanism comes first."
        assert client.receive() is None


def test_too_new_a_version_of_api_versions_is_answered_and_may_be_asked_again(
    gateway: GatewayProcess,
) -> None:
    with RawClient(gateway.address) as client:
        client.send_bytes(framed(header(18, 4)))
        assert client.answer(ApiKey.API_VERSIONS, 0).error_code is ErrorCode.unsupported_version
        again = client.call(
            ApiKey.API_VERSIONS, 3, client_software_name="test", client_software_version="1.0"
        )
        assert again.error_code is ErrorCode.none
