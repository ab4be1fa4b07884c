"""What a store has written, it reads: also when ZooKeeper's message that it has changed comes later.

The real message comes within a millisecond, before the next look or after it: here it comes never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.coordinator.documents import AssignmentDocument
from hadash.coordinator.member.assigned import wanted
from hadash.coordinator.pool import Isolation
from hadash.coordinator.pool_view import PoolError
from hadash.coordinator.store import PoolStore
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


class SlowClient:
    """Answers with one value after the other; what is to happen before the first answer is taken is ``meanwhile``."""

    def __init__(self, *values: bytes) -> None:
        self.values = list(values)
        self.meanwhile: Callable[[], object] | None = None

    def get_async(self, path: str, watch: object) -> SimpleNamespace:
        value, (meanwhile, self.meanwhile) = self.values.pop(0), (self.meanwhile, None)

        def get() -> tuple[bytes, None]:
            if meanwhile is not None:
                meanwhile()
            return value, None

        return SimpleNamespace(get=get)


def test_what_was_read_before_a_change_is_not_kept_over_a_later_read() -> None:
    """Two threads read a node that changes in between, and the first one is slow to take its answer."""
    client = SlowClient(b"old", b"new")
    watched = Watched(client, lambda: None)  # type: ignore[arg-type]

    def other_thread() -> None:
        watched.forget("/node")
        assert watched.node("/node")[0] == b"new"

    client.meanwhile = other_thread
    assert watched.node("/node")[0] == b"old"
    assert watched.node("/node")[0] == b"new", "the later one is kept"


def test_a_topic_whose_document_cannot_be_read_goes_on(
    store: PoolStore, connect_client: Callable[..., KazooClient]
) -> None:
    client = connect_client()
    path = layout.assignment("readers", "orders")
    client.set(path, AssignmentDocument(CONSUMER, {0: "m", 1: "other"}).to_bytes())
    store.forget()
    before = wanted(store.read(), "m", has_name=True)
    assert before["orders"].partitions == {0}
    client.set(path, b"no document")
    store.forget()
    view = store.read()
    assert view.unreadable.keys() == {"orders"}
    assert wanted(view, "m", before, has_name=True) == before
    assert wanted(view, "m", before, has_name=False) == {}, "another process has its name"
