"""The identity of a client that has signed in."""

from __future__ import annotations

from dataclasses import dataclass

from hadash.gateway.brokers.upstream import Upstream


@dataclass(slots=True)
class SignedIn:
    """A client's identity, and the broker connection that is signed in as that client."""

    appid: str
    client_id: str
    mechanism: str
    library: str
    library_version: str
    upstream: Upstream
    #: The answer that tells the client that it is signed in; written when all parts of the Gateway know the client.
    welcome: bytes = b""
    #: Whether the client signed in without a client.id and has named one since. Java before 2.6 signs in with that of
    #: its configuration, which may be empty, and sends its requests with a generated one (``consumer-group-1``).
    named_later: bool = False
