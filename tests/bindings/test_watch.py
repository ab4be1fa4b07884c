"""An engine's view of ZooKeeper: each change once, everything after a gap, and never garbage."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import KazooState
from support.proxy import Proxy
from support.waiting import eventually
from support.zookeeper import address_of, expire_session

from hadash.bindings import catalogue, layout
from hadash.bindings import store as store_module
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal, Placement
from hadash.bindings.store import BindingStore, Edit
from hadash.bindings.watch import BindingWatcher, Update
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

EAST, WEST = Binding("east"), Binding("west")


class Engine:
    """Collects what a watcher hands over. ``gate`` keeps it busy, as a slow engine would be."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client
        self.updates: list[Update] = []
        self.gate = threading.Event()
        self.gate.set()
        self.watcher = BindingWatcher(client, self._on_change)

    def _on_change(self, update: Update) -> None:
        self.updates.append(update)
        self.gate.wait()

    def start(self) -> Engine:
        self.watcher.start()
        return self

    def sees(self, epoch: int, patience: float = 20) -> Update:
        """The update with which ``epoch`` came into view."""
        return eventually(
            lambda: next((u for u in self.updates if u.epoch >= epoch), None), f"epoch {epoch}", patience
        )


@pytest.fixture
def engine(connect_client: Callable[..., KazooClient]) -> Engine:
    """An engine with a session of its own, not started yet."""
    return Engine(connect_client())


def bind(store: BindingStore, appid: str, binding: Binding | None) -> int:
    return store.change([Edit(Identity(appid), binding)])


class TestFirstRead:
    def test_an_empty_store_is_a_complete_view(self, engine: Engine) -> None:
        engine.start()
        assert engine.updates == [Update(0, {}, {}, complete=True)]

    def test_everything_there_is_comes_in_one_update(self, store: BindingStore, engine: Engine) -> None:
        bind(store, "shop", WEST)
        bind(store, "购物车/1", EAST)
        (update,) = engine.start().updates
        assert update.epoch == 2
        assert update.complete
        assert update.documents == {
            "shop": BindingDocument("shop", Binding("west", epoch=1, since=1)),
            "购物车/1": BindingDocument("购物车/1", Binding("east", epoch=2, since=2)),
        }

    def test_a_document_that_is_garbage_is_named_and_not_obeyed(
        self, store: BindingStore, engine: Engine
    ) -> None:
        bind(store, "shop", WEST)
        store.client.create(layout.binding("billing"), b"garbage")
        (update,) = engine.start().updates
        assert set(update.documents) == {"shop"}
        assert update.unreadable == {"billing"}

    def test_garbage_is_read_again_when_somebody_has_repaired_or_deleted_it(
        self, store: BindingStore, engine: Engine
    ) -> None:
        """By hand, so there is no change node."""
        for appid in ("billing", "shop"):
            store.client.create(layout.binding(appid), b"garbage")
        engine.start()
        repaired = BindingDocument("billing", WEST)
        store.client.set(layout.binding("billing"), b"other garbage")
        eventually(lambda: len(engine.updates) == 2, "the document is read again")
        assert engine.updates[1] == Update(0, {}, {}, unreadable=frozenset({"billing"}))
        store.client.set(layout.binding("billing"), repaired.to_bytes())
        eventually(lambda: len(engine.updates) == 3, "and again")
        assert engine.updates[2] == Update(0, {"billing": repaired}, {})
        store.client.delete(layout.binding("shop"))
        eventually(lambda: len(engine.updates) == 4, "the other is read again")
        assert engine.updates[3] == Update(0, {"shop": None}, {})


class TestFollowing:
    def test_each_change_is_seen_once_in_order(self, store: BindingStore, engine: Engine) -> None:
        engine.start()
        for appid in ("shop", "billing", "shop"):
            engine.sees(bind(store, appid, WEST))
        assert [u.epoch for u in engine.updates] == [0, 1, 2, 3]
        assert [sorted(u.documents) for u in engine.updates] == [[], ["shop"], ["billing"], ["shop"]]
        assert [u.complete for u in engine.updates] == [True, False, False, False]

    def test_changes_that_came_together_may_be_one_update(self, store: BindingStore, engine: Engine) -> None:
        engine.gate.clear()
        starting = threading.Thread(target=engine.start)
        starting.start()
        eventually(lambda: engine.updates, "the first read")
        bind(store, "shop", WEST)
        bind(store, "billing", WEST)
        engine.gate.set()
        starting.join()
        update = engine.sees(2)
        assert update.documents.keys() == {"shop", "billing"}
        assert [u.epoch for u in engine.updates] == [0, 2]

    def test_an_appid_whose_document_was_deleted_is_told_as_removed(
        self, store: BindingStore, engine: Engine
    ) -> None:
        bind(store, "shop", WEST)
        engine.start()
        store.client.delete(layout.binding("shop"))
        store.client.create(layout.CHANGE_PREFIX, b'{"epoch": 2, "appids": ["shop"]}', sequence=True)
        assert engine.sees(2).documents == {"shop": None}

    def test_garbage_in_a_changed_document_is_named_and_not_obeyed(
        self, store: BindingStore, engine: Engine
    ) -> None:
        bind(store, "shop", WEST)
        engine.start()
        store.client.set(layout.binding("shop"), b"garbage")
        store.client.create(layout.CHANGE_PREFIX, b'{"epoch": 2, "appids": ["shop"]}', sequence=True)
        update = engine.sees(2)
        assert update.documents == {}
        assert update.unreadable == {"shop"}
        assert not update.complete

    @pytest.mark.parametrize(
        "note", [b"garbage", b"{}", b'{"epoch": 2}', b'{"epoch": null, "appids": []}', b"[]"]
    )
    def test_a_change_note_that_is_garbage_makes_it_read_everything(
        self, store: BindingStore, engine: Engine, note: bytes
    ) -> None:
        bind(store, "shop", WEST)
        engine.start()
        store.client.set(layout.EPOCH, b"2")
        store.client.create(layout.CHANGE_PREFIX, note, sequence=True)
        update = engine.sees(2)
        assert update.complete
        assert set(update.documents) == {"shop"}

    def test_where_a_switch_put_things_comes_with_the_binding_that_it_wrote(
        self, store: BindingStore, engine: Engine
    ) -> None:
        placement = Placement("west", {"orders": (2, 0)}, {"orders-group": 1})
        engine.start()
        catalogue.publish_placement(store.client, "s1", placement)
        store.client.set(layout.switch("s1"), Journal("s1", "block", 1).to_bytes())
        store.change(
            [Edit(Identity("shop", "web-1"), Binding("west", switch="s1"))], Journal("s1", "block", 1)
        )
        assert engine.sees(1).placements == {"s1": placement}

    def test_a_switch_without_placement_is_no_obstacle(self, store: BindingStore, engine: Engine) -> None:
        engine.start()
        store.take_over("s1", "block", 1)
        binding = Binding("east", BindingState.BLOCK, switch="s1")
        store.change([Edit(Identity("shop"), binding)], Journal("s1", "block", 1))
        assert engine.sees(1).placements == {}


class TestGaps:
    def test_changes_that_were_trimmed_unseen_make_it_read_everything(
        self, store: BindingStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "CHANGES_KEPT", 2)
        bind(store, "shop", EAST)
        engine.start()
        engine.gate.clear()
        bind(store, "shop", WEST)
        eventually(lambda: len(engine.updates) == 2, "the change that keeps the engine busy")
        for appid in ("billing", "audit", "a", "b"):
            bind(store, appid, WEST)
        engine.gate.set()
        update = engine.sees(6)
        assert update.complete
        assert set(update.documents) == {"shop", "billing", "audit", "a", "b"}

    def test_so_do_the_very_first_changes(
        self, store: BindingStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "CHANGES_KEPT", 1)
        engine.gate.clear()
        starting = threading.Thread(target=engine.start)
        starting.start()
        eventually(lambda: engine.updates, "the first read")
        bind(store, "shop", WEST)
        bind(store, "billing", WEST)
        engine.gate.set()
        starting.join()
        assert engine.sees(2).documents.keys() == {"shop", "billing"}

    def test_it_follows_on_in_a_new_session(
        self, store: BindingStore, engine: Engine, zookeeper_hosts: str
    ) -> None:
        engine.start()
        expire_session(engine.client, zookeeper_hosts)
        engine.sees(bind(store, "shop", WEST))
        engine.sees(bind(store, "billing", WEST))
        assert [u.epoch for u in engine.updates] == [0, 1, 2]

    def test_what_changed_while_the_connection_was_down_is_seen_afterwards(
        self, store: BindingStore, connect_client: Callable[..., KazooClient], zookeeper_hosts: str
    ) -> None:
        with Proxy(address_of(zookeeper_hosts)) as network:
            engine = Engine(connect_client(network.address)).start()
            network.refuse()
            bind(store, "shop", WEST)
            bind(store, "billing", WEST)
            assert engine.updates == [Update(0, {}, {}, complete=True)]  # it goes on with what it had
            network.accept()
            assert engine.sees(2).documents.keys() == {"shop", "billing"}

    def test_a_change_whose_reading_was_cut_off_is_read_after_the_reconnection(
        self,
        store: BindingStore,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with Proxy(address_of(zookeeper_hosts)) as network:
            engine = Engine(connect_client(network.address)).start()
            states: list[str] = []
            engine.client.add_listener(states.append)
            get = engine.client.get

            def cut_off(path: str) -> object:
                if path.startswith(layout.CHANGES):
                    monkeypatch.setattr(engine.client, "get", get)
                    network.reset()
                    raise ConnectionLoss
                return get(path)

            monkeypatch.setattr(engine.client, "get", cut_off)
            bind(store, "shop", WEST)
            eventually(lambda: KazooState.CONNECTED in states, "the reconnection")
            engine.sees(1)
            engine.sees(bind(store, "billing", WEST))
            assert [u.epoch for u in engine.updates] == [0, 1, 2]
