"""The client's side of SCRAM (RFC 5802), as Kafka implements it. Pure, except for the nonce.

Kafka uses the UTF-8 bytes of user names and passwords. It does not normalize them first (SASLprep, which general
libraries do: it would change a password that contains ``Ⅸ``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from functools import lru_cache

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

#: Bounds of the iterations that a server may ask for (RFC 7677 requires at least 4096, as Kafka does; more than a
#: million take seconds).
MIN_ITERATIONS, MAX_ITERATIONS = 4096, 1_000_000

#: Derived keys that are kept, for the accounts of a Gateway, which sign in again and again.
KEPT_KEYS = 256


class BadExchange(ValueError):
    """The server's message violates RFC 5802, or proves that the server does not know the password."""


class Exchange:
    """One sign-in. Call :meth:`first`, :meth:`final` and :meth:`verify` in this order."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str = "") -> None:
        self._hash = HASHES[mechanism]
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={self._nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """Return the client's first message."""
        return f"n,,{self._first_bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the client's final message.

        :raises BadExchange: the server's first message cannot be used.
        """
        told = _fields(server_first)
        nonce = told.get("r", "")
        try:
            salt, iterations = base64.b64decode(told["s"], validate=True), int(told["i"])
        except (KeyError, ValueError):
            raise BadExchange("its first message has no salt or number of iterations") from None
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise BadExchange("its nonce is not made from ours")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise BadExchange(f"it asks for {iterations} iterations")
        client_key, server_key = _keys(self._hash, self._password, salt, iterations)
        without_proof = f"c=biws,r={nonce}"
        message = f"{self._first_bare},{server_first.decode()},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(self._hash, client_key).digest(), message, self._hash)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = hmac.digest(server_key, message, self._hash)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """Check the server's final message.

        :raises BadExchange: the server refuses, or does not know the password itself.
        """
        told = _fields(server_final)
        if "e" in told:
            raise BadExchange(told["e"])
        try:
            signature = base64.b64decode(told["v"], validate=True)
        except (KeyError, ValueError):
            raise BadExchange("its last message has no signature") from None
        if not hmac.compare_digest(signature, self._server_signature):
            raise BadExchange("it does not know the password itself")


@lru_cache(maxsize=KEPT_KEYS)
def _keys(hash_name: str, password: str, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """Return the client's key and the server's; deriving them takes milliseconds."""
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    return hmac.digest(salted, b"Client Key", hash_name), hmac.digest(salted, b"Server Key", hash_name)


def _fields(message: bytes) -> dict[str, str]:
    try:
        parts = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise BadExchange("its message is no text") from None
    return {name: value for name, _, value in parts}
