"""Consumer pools in a backup of ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.bindings.saving import NotSaved, Saved, restore, save
from hadash.coordinator.documents import StateDocument
from hadash.coordinator.holding import Hold
from hadash.coordinator.member.registration import Registration
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.restoring import pools_of, stopped
from hadash.coordinator.store import PoolStore

pytestmark = pytest.mark.stack

CONSUMER = {"bootstrap.servers": "k:9092", "group.id": "readers"}
BY, WHY = "restore", "Restored."


@pytest.fixture
def client(connect_client: Callable[..., KazooClient]) -> KazooClient:
    return connect_client()


@pytest.fixture
def store(client: KazooClient) -> PoolStore:
    made = PoolStore(client, "读者")
    made.create(PoolSettings("range"))
    made.register("订单", CONSUMER, range(3))
    made.isolate("m-9", "olga", "It hung.")
    made.hold("订单", "a-switch")
    client.set(
        layout.assignment_state("读者", "订单"), b'{"state": "Closing", "toStart": {}, "toClose": {"m": [1]}}'
    )
    return made


def lost(client: KazooClient) -> None:
    client.delete(layout.CONSUMERS, recursive=True)


def test_pools_come_back_stopped(client: KazooClient, store: PoolStore) -> None:
    Registration(client, "读者", "m-1", "http://127.0.0.1:1").take_name()
    before = store.read()
    text = save(client).to_json()
    lost(client)

    saved = Saved.from_json(text)
    assert pools_of(saved.nodes) == 1
    restore(client, replace(saved, nodes=stopped(saved.nodes, BY, WHY)), replace=True)
    found = PoolStore(client, "读者").read()
    assert found.settings == PoolSettings("range", is_stopped=True, by=BY, reason=WHY)
    assert found.topics["订单"].document == before.topics["订单"].document
    assert found.topics["订单"].standing == StateDocument(), "how far it had come is not known any more"
    assert found.isolated == {"m-9": Isolation("olga", "It hung.")}
    assert found.holds["订单"][0] == Hold("a-switch")
    assert client.get_children(layout.member_names("读者")) == [], "who was a member then is not one now"


def test_without_pools_there_is_nothing_of_them(client: KazooClient, store: PoolStore) -> None:
    lost(client)
    assert pools_of(save(client).nodes) == 0


def test_a_pool_of_later_whose_members_are_there_is_not_removed(
    client: KazooClient, store: PoolStore
) -> None:
    saved = save(client)
    PoolStore(client, "later").create()
    Registration(client, "later", "m-1", "http://127.0.0.1:1").take_name()
    with pytest.raises(NotSaved, match=r"Members of a consumer pool are there: .*/consumers/later/names"):
        restore(client, saved, replace=True)
