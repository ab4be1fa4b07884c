"""Members that are listed by ZooKeeper: each has a node that ends with its session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.discovery.listing import DiscoveryUnavailable
from hadash.identity.names import decode


class EphemeralDiscovery:
    """The members of a pool whose nodes are in ZooKeeper.

    :param on_change: called (by ZooKeeper's thread) when members come or go.
    """

    def __init__(
        self, client: KazooClient, pool: str, on_change: Callable[[object], None] | None = None
    ) -> None:
        self._client = client
        self._pool = pool
        self._on_change = on_change

    def members(self) -> Mapping[str, str]:
        try:
            with reaching():
                return self._members()
        except NoNodeError:
            return {}
        except StoreUnavailable as error:
            raise DiscoveryUnavailable(error.sentence) from error

    def _members(self) -> dict[str, str]:
        folder = layout.pool_members(self._pool)
        names = self._client.get_children(folder, watch=self._on_change)
        asked = [(decode(name), self._client.get_async(f"{folder}/{name}")) for name in names]
        found = {}
        for name, answer in asked:
            try:
                found[name] = url_in(answer.get()[0])
            except NoNodeError:
                continue  # it has gone meanwhile
        return found


def url_in(value: bytes) -> str:
    """The URL in a member's node; empty when there is none: it is a member that cannot be asked."""
    try:
        found = json.loads(value)
    except ValueError:
        return ""
    return str(found.get("url", "")) if isinstance(found, dict) else ""
