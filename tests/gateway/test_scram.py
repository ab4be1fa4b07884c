"""SCRAM with the examples of its RFCs, and where Kafka differs from them."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from hadash.gateway.protocol.scram import BadExchange, Exchange

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_example_of_rfc_7677() -> None:
    exchange = Exchange("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert exchange.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert exchange.final(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    exchange.verify(SERVER_FINAL)


def test_a_user_name_is_escaped() -> None:
    assert Exchange("SCRAM-SHA-512", "a,b=c", "x", NONCE).first().startswith(b"n,,n=a=2Cb=3Dc,r=")


@pytest.mark.parametrize("password", ["Ⅸ", "a\u00a0b", "\u00ad", "密码", "a\tb"])
def test_a_password_is_its_bytes_as_in_kafka(password: str) -> None:
    """SASLprep would make ``IX`` of the first, and refuse the last."""
    exchange = Exchange("SCRAM-SHA-256", "user", password, NONCE)
    proof = base64.b64decode(exchange.final(SERVER_FIRST).rpartition(b"p=")[2])
    salted = hashlib.pbkdf2_hmac(
        "sha256", password.encode(), base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096
    )
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    message = (
        b"n=user,r=" + NONCE.encode() + b"," + SERVER_FIRST + b",c=biws," + SERVER_FIRST.partition(b",")[0]
    )
    signature = hmac.digest(hashlib.sha256(client_key).digest(), message, "sha256")
    assert bytes(a ^ b for a, b in zip(proof, signature, strict=True)) == client_key


@pytest.mark.parametrize(
    ("server_first", "why"),
    [
        (b"r=another,s=W22Z,i=4096", "its nonce is not made from ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", "its nonce is not made from ours"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,i=4096", "no salt or number of iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=many", "no salt or number of iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=1", "it asks for 1 iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=99999999", "it asks for 99999999 iterations"),
        (b"\xff", "its message is no text"),
    ],
)
def test_a_server_that_cannot_be_trusted(server_first: bytes, why: str) -> None:
    with pytest.raises(BadExchange, match=why):
        Exchange("SCRAM-SHA-256", "user", "pencil", NONCE).final(server_first)


@pytest.mark.parametrize(
    ("server_final", "why"),
    [
        (b"e=invalid-proof", "invalid-proof"),
        (b"v=AAAA", "it does not know the password itself"),
        (b"", "its last message has no signature"),
    ],
)
def test_a_server_that_does_not_know_the_password(server_final: bytes, why: str) -> None:
    exchange = Exchange("SCRAM-SHA-256", "user", "pencil", NONCE)
    exchange.final(SERVER_FIRST)
    with pytest.raises(BadExchange, match=why):
        exchange.verify(server_final)
