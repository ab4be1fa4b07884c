"""What a store has written, it reads: also when ZooKeeper's message that it has changed comes later.

The real message comes within a millisecond, before the next look or after it: here it comes never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from kazoo.client import KazooClient

from hadash.coordinator.pool import Isolation
from hadash.coordinator.store import PoolError, PoolStore
from hadash.coordinator.watched import Watched

pytestmark = pytest.mark.stack
CONSUMER = {"bootstrap.servers": "k:9092", "group.id": "readers"}


@pytest.fixture
def store(connect_client: Callable[..., KazooClient], monkeypatch: pytest.MonkeyPatch) -> PoolStore:
    monkeypatch.setattr(Watched, "_changed", lambda watched, event: None)
    made = PoolStore(connect_client(), "readers")
    made.create()
    made.register("orders", CONSUMER, range(4))
    assert made.read().topics.keys() == {"orders"}  # (from here on, this is what it keeps)
    return made


def test_topics_that_come_and_go(store: PoolStore) -> None:
    store.register("carts", CONSUMER, range(3))
    assert store.read().topics.keys() == {"carts", "orders"}
    store.remove("orders")
    assert store.read().topics.keys() == {"carts"}


def test_a_topic_that_comes_back_with_other_settings(store: PoolStore) -> None:
    store.remove("orders")
    store.register("orders", {**CONSUMER, "group.id": "others"}, range(2))
    document = store.read().topics["orders"].document
    assert (document.consumer["group.id"], len(document.members)) == ("others", 2)


def test_what_another_session_was_faster_with(
    store: PoolStore, connect_client: Callable[..., KazooClient]
) -> None:
    PoolStore(connect_client(), "readers").register("carts", CONSUMER, range(3))
    with pytest.raises(PoolError, match="reads Topic carts already"):
        store.register("carts", CONSUMER, range(3))
    assert store.read().topics.keys() == {"carts", "orders"}


def test_isolations(store: PoolStore) -> None:
    store.isolate("m", "olga", "It hangs.")
    assert store.read().isolated == {"m": Isolation("olga", "It hangs.")}
    store.take_back("m")
    assert store.read().isolated["m"].is_ending


def test_settings(store: PoolStore) -> None:
    store.change_settings(lambda settings: replace(settings, strategy="weighted"))
    assert store.read().settings.strategy == "weighted"


def test_holds(store: PoolStore) -> None:
    store.hold("orders", "a-switch")
    assert store.read().holds["orders"][0].switch == "a-switch"
    store.open("orders", "a-switch", {"bootstrap.servers": "other:9092"})
    assert store.read().holds["orders"][0].consumer == {"bootstrap.servers": "other:9092"}
    store.remove("orders")
    assert store.read().holds == {}
