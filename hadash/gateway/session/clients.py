"""Which clients are signed in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hadash.gateway.session.client import Client


class Clients:
    """By AppID."""

    def __init__(self) -> None:
        self._of: dict[str, set[Client]] = {}

    def __iter__(self) -> Iterator[Client]:
        return chain.from_iterable(self._of.values())

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, client: Client) -> None:
        self._of.setdefault(client.signed.appid, set()).add(client)

    def remove(self, client: Client) -> None:
        """(One that is not there is no error.)"""
        same = self._of.get(client.signed.appid, set())
        same.discard(client)
        if not same:
            self._of.pop(client.signed.appid, None)

    def of(self, appid: str) -> list[Client]:
        """As they are now: whatever becomes of them meanwhile."""
        return list(self._of.get(appid, ()))
