"""What people can do to a pool, against a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from kazoo.client import KazooClient, TransactionRequest

from hadash.coordinator import store as store_module
from hadash.coordinator.holding import Hold
from hadash.coordinator.member.registration import Registration
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.pool_view import PoolError
from hadash.coordinator.store import PoolStore
from hadash.pools.actions import SPECS, Action, Change, against, write
from hadash.pools.live import view_of

from .parts import view

CONSUMER = {"bootstrap.servers": "k:9092", "group.id": "readers"}


@pytest.fixture
def store(connect_client: Callable[..., KazooClient]) -> PoolStore:
    made = PoolStore(connect_client(), "readers")
    made.create()
    made.register("orders", CONSUMER, range(4))
    return made


def change(action: Action, **values: object) -> Change:
    return Change("readers", action, **values)  # type: ignore[arg-type]


def test_every_act_says_what_it_does() -> None:
    assert SPECS.keys() == set(Action)
    assert all(change(action, member="m", topic="t", strategy="range").sentence for action in Action)


@pytest.mark.parametrize(
    ("asked", "found", "why"),
    [
        (change(Action.ISOLATE, member="m"), view(isolated={"m": Isolation()}), "m is isolated already."),
        (change(Action.TAKE_BACK, member="m"), view(), "m is not isolated."),
        (
            change(Action.TAKE_BACK, member="m"),
            view(isolated={"m": Isolation(is_ending=True)}),
            "m may come back already: it does when it reads nothing.",
        ),
        (
            change(Action.STOP),
            view(PoolSettings(is_stopped=True)),
            "All members of the pool are stopped already.",
        ),
        (change(Action.START), view(), "The members of the pool are not stopped."),
        (change(Action.STRATEGY, strategy="sticky"), view(), "That is the pool's strategy already."),
        (
            change(Action.STRATEGY, strategy="fair"),
            view(),
            "There is no strategy fair. There are range, roundrobin, sticky, weighted.",
        ),
        (change(Action.SHADOW), view(), "That is the pool's shadow strategy already."),
        (
            change(Action.ADD_TOPIC, topic="orders", consumer=CONSUMER),
            view(),
            "The pool readers reads Topic orders already.",
        ),
        (change(Action.REMOVE_TOPIC, topic="carts"), view(), "The pool readers does not read Topic carts."),
        (
            change(Action.REMOVE_TOPIC, topic="orders"),
            replace(view(), holds={"orders": (Hold("a-switch"), 1)}),
            "Topic orders of pool readers is held by switch a-switch.",
        ),
        (
            change(Action.RELEASE, topic="orders"),
            replace(view(), holds={"orders": (Hold("a-switch", {"bootstrap.servers": "west"}), 1)}),
            "Switch a-switch has let members of pool readers go on with Topic orders: they do as soon as they are "
            "there.",
        ),
        (change(Action.CREATE, strategy="range"), view(), "There is a pool readers already."),
        (
            change(Action.DELETE),
            view(),
            "The pool readers reads orders. Let it read them no longer first.",
        ),
        (change(Action.STOP), None, "There is no pool readers."),
    ],
    ids=lambda value: value.action.value if isinstance(value, Change) else "",
)
def test_what_makes_no_sense_is_said(asked: Change, found: object, why: str) -> None:
    assert str(against(asked, found)) == why  # type: ignore[arg-type]


def test_an_isolation_that_is_ending_may_begin_again() -> None:
    assert not against(change(Action.ISOLATE, member="m"), view(isolated={"m": Isolation(is_ending=True)}))


def test_isolating_and_taking_back(store: PoolStore) -> None:
    isolate = change(Action.ISOLATE, member="reader-1")
    for _ in range(2):  # (the process that applies it may have died right after it)
        write(isolate, store, "olga", "It hangs.")
    assert store.read().isolated == {"reader-1": Isolation("olga", "It hangs.")}
    for _ in range(2):
        write(change(Action.TAKE_BACK, member="reader-1"), store, "olga", "It is back.")
    assert store.read().isolated["reader-1"].is_ending


def test_taking_back_one_that_has_come_back_is_no_error(store: PoolStore) -> None:
    write(change(Action.TAKE_BACK, member="reader-1"), store, "olga", "It is back.")
    assert store.read().isolated == {}


def test_stopping_and_starting(store: PoolStore) -> None:
    write(change(Action.STOP), store, "olga", "Wrong prices.")
    assert store.read().settings == PoolSettings(is_stopped=True, by="olga", reason="Wrong prices.")
    write(change(Action.START), store, "olga", "Mended.")
    assert store.read().settings == PoolSettings()


def test_strategies(store: PoolStore) -> None:
    write(change(Action.SHADOW, strategy="weighted"), store, "olga", "")
    write(change(Action.STRATEGY, strategy="range"), store, "olga", "")
    assert store.read().settings == PoolSettings("range", "weighted")
    write(change(Action.SHADOW), store, "olga", "")
    assert store.read().settings == PoolSettings("range")


def test_topics_come_and_go(store: PoolStore) -> None:
    carts = change(Action.ADD_TOPIC, topic="carts", consumer=CONSUMER, partitions=3)
    for _ in range(2):
        write(carts, store, "olga", "")
    assert store.read().topics["carts"].document.members == {0: "", 1: "", 2: ""}
    for _ in range(2):
        write(change(Action.REMOVE_TOPIC, topic="carts"), store, "olga", "")
    assert store.read().topics.keys() == {"orders"}


def test_a_topic_that_is_added_again_is_not_held_as_before(store: PoolStore) -> None:
    store.hold("orders", "a-switch")
    store.remove("orders")
    store.register("orders", CONSUMER, range(3))
    assert store.read().holds == {}


def test_a_topic_that_the_pool_does_not_read_cannot_be_held(store: PoolStore) -> None:
    with pytest.raises(PoolError, match="pool readers does not read Topic carts"):
        store.hold("carts", "a-switch")
    assert store.read().holds == {}


def test_creating(store: PoolStore, connect_client: Callable[..., KazooClient]) -> None:
    client = connect_client()
    assert view_of(client, "新消费池") is None
    new = Change("新消费池", Action.CREATE, strategy="weighted")
    for _ in range(2):
        write(new, PoolStore(client, "新消费池"), "olga", "")
    found = view_of(client, "新消费池")
    assert found is not None and found.settings == PoolSettings("weighted")


def test_a_pool_is_deleted_when_it_is_empty(
    store: PoolStore, connect_client: Callable[..., KazooClient]
) -> None:
    client = connect_client()
    with pytest.raises(PoolError, match="The pool readers reads orders"):
        write(change(Action.DELETE), store, "olga", "")
    store.remove("orders")
    member = Registration(client, "readers", "m-1", "http://127.0.0.1:1")
    member.take_name()
    with pytest.raises(PoolError, match="Members of the pool readers are there: m-1"):
        write(change(Action.DELETE), store, "olga", "")
    member.leave()
    store.isolate("m-2", "olga", "It was gone for good.")
    for _ in range(2):
        write(change(Action.DELETE), store, "olga", "")
    assert view_of(client, "readers") is None
    with pytest.raises(PoolError, match="There is no pool readers in ZooKeeper"):
        store.read()
    assert store.create() and store.read().isolated == {}


def test_a_member_that_comes_meanwhile_keeps_its_pool(
    store: PoolStore, connect_client: Callable[..., KazooClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remove("orders")
    member = Registration(connect_client(), "readers", "m-1", "http://127.0.0.1:1")
    commit = store_module.committed

    def just_before(transaction: TransactionRequest) -> bool:
        member.take_name()
        return commit(transaction)

    monkeypatch.setattr(store_module, "committed", just_before)
    with pytest.raises(PoolError, match="are there: m-1"):
        store.delete()
    assert store.read().settings == PoolSettings()


def test_a_topic_that_a_switch_has_begun_to_hold_meanwhile_is_not_removed(store: PoolStore) -> None:
    store.hold("orders", "a-switch")
    with pytest.raises(PoolError, match="held by switch a-switch"):
        write(change(Action.REMOVE_TOPIC, topic="orders"), store, "olga", "")
    assert store.read().topics.keys() == {"orders"}


def test_what_a_switch_has_let_go_on_is_not_led_back(store: PoolStore) -> None:
    store.hold("orders", "a-switch")
    store.open("orders", "a-switch", {"bootstrap.servers": "west:9092"})
    write(change(Action.RELEASE, topic="orders"), store, "olga", "")
    assert store.read().holds["orders"][0] == Hold("a-switch", {"bootstrap.servers": "west:9092"})
