"""Who a client is, once it has signed in."""

from __future__ import annotations

from dataclasses import dataclass

from hadash.gateway.session.upstream import Upstream


@dataclass(slots=True)
class SignedIn:
    """Who is at the other end, and the broker connection that is signed in as them."""

    appid: str
    client_id: str
    mechanism: str
    library: str
    library_version: str
    upstream: Upstream
    #: What tells the client so; written when the client is known to everybody here.
    welcome: bytes = b""
    #: It signed in without a client.id, and has said one since. Java before 2.6 signs in with that of its
    #: configuration, which may be empty, and makes its requests with one that it has made up
    #: (``consumer-group-1``).
    named_later: bool = False
