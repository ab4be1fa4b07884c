"""The clients that are signed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Generic, Protocol, TypeVar

from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.reporting.traffic import Traffic


class HasSignedIn(Protocol):
    @property
    def signed(self) -> SignedIn: ...


C = TypeVar("C", bound=HasSignedIn)


class Clients(Generic[C]):
    """The signed-in clients by AppID.

    :param on_left: called when a client has gone.
    """

    def __init__(self, traffic: Traffic, on_left: Callable[[], None]) -> None:
        self._traffic = traffic
        self._on_left = on_left
        self._of: dict[str, set[C]] = {}

    def __iter__(self) -> Iterator[C]:
        return chain.from_iterable(self._of.values())

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def of(self, appid: str) -> list[C]:
        """Return the clients of an AppID as a copy, which does not change while they come and go."""
        return list(self._of.get(appid, ()))

    def signed_in(self, client: C) -> None:
        """Add a client, and count its sign-in."""
        self._of.setdefault(client.signed.appid, set()).add(client)
        self._traffic.sign_ins += 1

    def signed_out(self, client: C) -> None:
        """Remove a client; harmless when it is not there."""
        same = self._of.get(client.signed.appid, set())
        same.discard(client)
        if not same:
            self._of.pop(client.signed.appid, None)
        self._on_left()
