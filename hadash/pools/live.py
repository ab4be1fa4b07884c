"""Looks at pools: what ZooKeeper holds of them, and what the coordinator that decides says."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.conf import settings
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.coordinator.election import Leader, leader
from hadash.coordinator.pool_view import PoolError, PoolView, pools
from hadash.coordinator.store import PoolStore
from hadash.identity.names import decode
from hadash.inventory.gateways import ask_json
from hadash.sentences import NOTHING, Explained, Sentence, say

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Said:
    """What the coordinator that decides says (``hadash/coordinator/http_status.py``).

    :param leader: ``None``: nobody decides. :param status: empty with a ``fault``.
    """

    leader: Leader | None = None
    status: Mapping[str, Any] = field(default_factory=dict)
    fault: Sentence = NOTHING

    def pool(self, name: str) -> Mapping[str, Any]:
        """What it says of a pool; empty when it says nothing."""
        found: Mapping[str, Any] = self.status.get("pools", {}).get(name, {})
        return found

    def error(self, name: str) -> Sentence:
        """Why it can decide nothing for a pool."""
        return Sentence.from_json(self.status.get("errors", {}).get(name))


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools. ``unreadable``: those whose settings cannot be read. ``registered``: pool → the members that have
    registered with ZooKeeper.
    """

    views: Mapping[str, PoolView] = field(default_factory=dict)
    unreadable: Mapping[str, Sentence] = field(default_factory=dict)
    registered: Mapping[str, frozenset[str]] = field(default_factory=dict)


#: Pool → what was read of it: what has not changed is not read again.
_stores: dict[tuple[KazooClient, str], PoolStore] = {}


def read_all(client: KazooClient) -> Pools:
    """Read all pools. :raises StoreUnavailable: ZooKeeper does not answer."""
    views: dict[str, PoolView] = {}
    unreadable: dict[str, Sentence] = {}
    registered: dict[str, frozenset[str]] = {}
    names = pools(client)
    for gone in [key for key in list(_stores) if key[1] not in names]:
        _stores.pop(gone, None)
    for name in names:
        store = _stores.setdefault((client, name), PoolStore(client, name))
        try:
            views[name] = store.read()
        except Explained as error:
            unreadable[name] = error.sentence
        registered[name] = members(client, name)
    return Pools(views, unreadable, registered)


def members(client: KazooClient, pool: str) -> frozenset[str]:
    """The members of a pool that have registered with ZooKeeper. :raises StoreUnavailable: it does not answer."""
    with reaching():
        try:
            return frozenset(decode(name) for name in client.get_children(layout.pool_members(pool)))
        except NoNodeError:
            return frozenset()


def ask_leader(client: KazooClient) -> Said:
    """Ask the coordinator that decides. :raises StoreUnavailable: ZooKeeper does not say who that is."""
    found = leader(client)
    if found is None:
        return Said(fault=say("No coordinator decides now: start one."))
    if not settings.COORDINATOR_TOKEN:
        return Said(found, fault=say("HADASH_COORDINATOR_TOKEN is not set: coordinators cannot be asked."))
    try:
        status = ask_json(found.url, "/status", {"Authorization": f"Bearer {settings.COORDINATOR_TOKEN}"})
    except (httpx.HTTPError, ValueError) as error:
        log.warning("coordinator %s did not answer at %s: %s", found.name, found.url, error)
        said = say(
            "Coordinator %(name)s does not answer at %(url)s: %(reason)s.",
            name=found.name,
            url=found.url,
            reason=str(error),
        )
        return Said(found, fault=said)
    return Said(found, status)


def view_of(client: KazooClient, pool: str) -> PoolView | None:
    """A pool as it is now; ``None``: there is none.

    :raises StoreUnavailable: ZooKeeper does not answer. :raises DocumentError: its settings cannot be read.
    """
    try:
        return PoolStore(client, pool).read()
    except PoolError:
        return None
