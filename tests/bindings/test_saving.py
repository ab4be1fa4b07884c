"""A backup of ZooKeeper, and what engines make of one that was emptied or restored."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from support.waiting import eventually

from hadash.bindings import layout
from hadash.bindings.epochs import Report
from hadash.bindings.member import Member
from hadash.bindings.membership import members, not_applied
from hadash.bindings.model import Binding, GatewayMember
from hadash.bindings.saving import EPOCHS_LATER, NotSaved, Saved, restore, save
from hadash.bindings.store import BindingStore, Edit
from hadash.bindings.watch import BindingWatcher, Update
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

WEST = Binding("west")


def bind(client: KazooClient, appid: str, cluster: str = "west") -> int:
    return BindingStore(client).change([Edit(Identity(appid), Binding(cluster))])


def empty(client: KazooClient) -> None:
    """As a new ensemble: nothing of hadash is there, and what it makes at its start is made again."""
    for root in (*layout.ROOTS, layout.EPOCH):
        client.delete(root, recursive=True)


def begin_anew(client: KazooClient) -> None:
    """What :func:`hadash.bindings.client.connect` makes."""
    for path in (*layout.ROOTS, layout.EPOCH, layout.CLOCK):
        client.ensure_path(path)


class TestSaving:
    def test_what_was_saved_comes_back_and_counts_as_later(self, zookeeper: KazooClient) -> None:
        bind(zookeeper, "shop")
        epoch = bind(zookeeper, "购物车#1")
        zookeeper.create(f"{layout.PAIRS}/main", b"{}")
        text = save(zookeeper).to_json()
        empty(zookeeper)
        begin_anew(zookeeper)

        saved = Saved.from_json(text)
        assert (saved.documents, saved.epoch) == (2, epoch)
        assert restore(zookeeper, saved) == epoch + EPOCHS_LATER
        store = BindingStore(zookeeper)
        assert {name: each.default.cluster for name, each in store.documents().items() if each.default} == {
            "shop": "west", "购物车#1": "west",
        }  # fmt: skip
        assert zookeeper.get(f"{layout.PAIRS}/main")[0] == b"{}"
        assert store.epoch() == epoch + EPOCHS_LATER
        assert bind(zookeeper, "audit") == epoch + EPOCHS_LATER + 1

    def test_gateways_come_back_as_members_that_are_waited_for(self, zookeeper: KazooClient) -> None:
        """One that is cut off when ZooKeeper is restored must not be overlooked by a switch."""
        member = Member(zookeeper, "gateway-1", "h:9092", "http://h:9400", "0.1.0", 1)
        member.join(Report(3))
        saved = save(zookeeper)
        assert list(saved.gateways) == [layout.gateway("gateway-1")]
        empty(zookeeper)
        begin_anew(zookeeper)
        restore(zookeeper, Saved.from_json(saved.to_json()))
        (found,) = members(zookeeper)
        assert (found.id, found.live, found.counts, found.report) == ("gateway-1", False, True, Report())

    def test_one_that_is_a_member_again_keeps_its_record(self, zookeeper: KazooClient) -> None:
        Member(zookeeper, "gateway-1", "h:9092", "", "0.1.0", 1).join()
        saved = save(zookeeper)
        zookeeper.set(layout.gateway("gateway-1"), b"of another process")
        restore(zookeeper, saved)
        assert zookeeper.get(layout.gateway("gateway-1"))[0] == b"of another process"

    def test_what_is_large_is_written_in_parts(self, zookeeper: KazooClient) -> None:
        """ZooKeeper takes a megabyte in one message."""
        for number in range(4):
            zookeeper.create(f"{layout.SWITCHES}/sw-{number}", b"{}")
            zookeeper.create(f"{layout.SWITCHES}/sw-{number}/facts", b"x" * 400_000)
        saved = save(zookeeper)
        empty(zookeeper)
        begin_anew(zookeeper)
        restore(zookeeper, saved)
        assert len(zookeeper.get(f"{layout.SWITCHES}/sw-3/facts")[0]) == 400_000

    def test_restored_twice_it_is_later_each_time(self, zookeeper: KazooClient) -> None:
        epoch = bind(zookeeper, "shop")
        saved = save(zookeeper)
        epochs = []
        for _ in range(2):
            empty(zookeeper)
            begin_anew(zookeeper)
            epochs.append(restore(zookeeper, saved, seen=max([0, *epochs])))
        assert epochs == [epoch + EPOCHS_LATER, epoch + 2 * EPOCHS_LATER]

    def test_of_nothing_there_is_no_backup(self, zookeeper: KazooClient) -> None:
        empty(zookeeper)
        with pytest.raises(NotSaved, match="There is nothing of hadash at /"):
            save(zookeeper)

    def test_something_else_is_not_overwritten_unasked(self, zookeeper: KazooClient) -> None:
        bind(zookeeper, "shop")
        saved = save(zookeeper)
        bind(zookeeper, "shop", "east")
        bind(zookeeper, "audit", "east")
        with pytest.raises(NotSaved, match=r"2 nodes are there that differ from the backup.*--replace"):
            restore(zookeeper, saved)
        later = BindingStore(zookeeper).epoch()
        restore(zookeeper, saved, replace=True)
        documents = BindingStore(zookeeper).documents()
        assert set(documents) == {"shop"} and documents["shop"].default == saved_binding(saved)
        assert BindingStore(zookeeper).epoch() == later + EPOCHS_LATER

    def test_one_that_was_interrupted_goes_on(self, zookeeper: KazooClient) -> None:
        for number in range(250):
            bind(zookeeper, f"app-{number}")
        saved = save(zookeeper)
        for number in range(100, 250):
            zookeeper.delete(layout.binding(f"app-{number}"))
        restore(zookeeper, saved)
        assert len(BindingStore(zookeeper).documents()) == 250

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "no backup"),
            ("{}", "no backup"),
            ('{"hadash": 1, "epoch": 3, "installation": "a", "gateways": {}, "nodes": {"/bindings": '
             '"?"}}', "no backup"),
            ('{"hadash": 2, "epoch": 3, "installation": "a", "nodes": {}}', "format 2, and this version reads 1"),
            ('{"hadash": 1, "epoch": 3, "installation": "a", "gateways": {}, "nodes": {"/gateways/x": '
             '""}}', "never saved: /gateways/x"),
        ],
    )  # fmt: skip
    def test_other_files_are_refused(self, text: str, says: str) -> None:
        with pytest.raises(NotSaved, match=says):
            Saved.from_json(text)


def saved_binding(saved: Saved) -> Binding | None:
    from hadash.bindings.model import BindingDocument

    document = BindingDocument.from_bytes("shop", saved.nodes[layout.binding("shop")])
    assert document is not None
    return document.default


def put_back(client: KazooClient, changes: int, appids: list[str]) -> None:
    """As a backup of ZooKeeper's own files, from before the last ``changes``, would: their nodes and numbers
    are there again.
    """
    epoch = BindingStore(client).epoch()
    kept = sorted(client.get_children(layout.CHANGES))[:-changes]
    contents = [client.get(f"{layout.CHANGES}/{name}")[0] for name in kept]
    for appid in appids:
        client.delete(layout.binding(appid))
    client.delete(layout.CHANGES, recursive=True)
    client.set(layout.EPOCH, str(epoch - changes).encode())
    client.create(layout.CHANGES)
    for content in contents:
        client.create(layout.CHANGE_PREFIX, content, sequence=True)


class Engine:
    """Follows the bindings as a Gateway does."""

    def __init__(self, client: KazooClient) -> None:
        self.updates: list[Update] = []
        self.forgotten: list[int | None] = []
        self.watcher = BindingWatcher(client, self.updates.append, self.forgotten.append)
        self.watcher.start()

    @property
    def bound(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for update in self.updates:
            if update.complete:
                found = {}
            for appid, document in update.documents.items():
                if document is not None and document.default is not None:
                    found[appid] = document.default.cluster
                else:
                    found.pop(appid, None)
        return found


class TestEngines:
    @pytest.fixture
    def engine(self, zookeeper: KazooClient, connect_client: Callable[..., KazooClient]) -> Engine:
        bind(zookeeper, "shop")
        bind(zookeeper, "audit")
        made = Engine(connect_client())
        assert made.bound == {"shop": "west", "audit": "west"}
        return made

    def test_an_emptied_zookeeper_sends_nobody_to_the_default_cluster(
        self, zookeeper: KazooClient, engine: Engine
    ) -> None:
        empty(zookeeper)
        eventually(lambda: engine.forgotten[-1:] == [0], "that it is noticed")
        begin_anew(zookeeper)
        bind(zookeeper, "shop", "east")
        eventually(lambda: engine.forgotten[-1:] == [1], "that it is behind")
        assert engine.bound == {"shop": "west", "audit": "west"}

    def test_a_restored_one_is_followed_again(self, zookeeper: KazooClient, engine: Engine) -> None:
        saved = save(zookeeper)
        bind(zookeeper, "late", "east")
        eventually(lambda: "late" in engine.bound, "the last change")
        empty(zookeeper)
        eventually(lambda: bool(engine.forgotten), "that it is noticed")
        begin_anew(zookeeper)
        epoch = restore(zookeeper, saved)
        eventually(lambda: engine.bound == {"shop": "west", "audit": "west"}, "the restored bindings")
        assert engine.updates[-1].epoch == epoch and engine.forgotten[-1] is None
        after = bind(zookeeper, "shop", "east")
        eventually(lambda: engine.bound["shop"] == "east", "a change after it")
        assert engine.updates[-1].epoch == after

    def test_one_that_was_put_back_and_goes_on_is_not_followed(
        self, zookeeper: KazooClient, engine: Engine
    ) -> None:
        """The same numbers come again, of other changes: what was written meanwhile is not known, and what is
        there is older.
        """
        for number in range(3):
            bind(zookeeper, f"late-{number}", "west")
        eventually(lambda: "late-2" in engine.bound, "the last change")
        before = engine.bound
        put_back(zookeeper, 2, ["late-1", "late-2"])
        for number in range(4):
            bind(zookeeper, f"other-{number}", "east")
        eventually(lambda: bool(engine.forgotten), "that it is noticed")
        assert engine.bound == before
        assert engine.forgotten[-1] is not None

    def test_what_was_restored_then_is_taken(self, zookeeper: KazooClient, engine: Engine) -> None:
        saved = save(zookeeper)
        bind(zookeeper, "late")
        eventually(lambda: "late" in engine.bound, "the last change")
        put_back(zookeeper, 1, ["late"])
        bind(zookeeper, "other", "east")
        eventually(lambda: bool(engine.forgotten), "that it is noticed")
        restore(zookeeper, saved, replace=True)
        eventually(lambda: engine.bound == {"shop": "west", "audit": "west"}, "the restored bindings")
        assert engine.forgotten[-1] is None

    def test_one_whose_changes_were_tidied_up_is_followed_on(
        self, zookeeper: KazooClient, engine: Engine
    ) -> None:
        for child in zookeeper.get_children(layout.CHANGES):
            zookeeper.delete(f"{layout.CHANGES}/{child}")
        bind(zookeeper, "late", "east")
        eventually(lambda: engine.bound.get("late") == "east", "a change after it")
        assert [epoch for epoch in engine.forgotten if epoch is not None] == []

    def test_a_restore_in_place_is_seen_at_once(self, zookeeper: KazooClient, engine: Engine) -> None:
        saved = save(zookeeper)
        bind(zookeeper, "shop", "east")
        eventually(lambda: engine.bound["shop"] == "east", "the change")
        restore(zookeeper, saved, replace=True)
        eventually(lambda: engine.bound["shop"] == "west", "the restored binding")
        assert None not in engine.forgotten or engine.forgotten[-1] is None


def test_who_speaks_of_changes_that_are_lost_has_nothing_in_effect() -> None:
    """Its epoch 9 is another than the one that is waited for."""
    member = GatewayMember("gateway-1", "h:9092", "", "0.1.0", 1, 0.0, live=True, report=Report(9))
    assert not_applied([member], epoch=6, newest=9) == []
    assert not_applied([member], epoch=6, newest=8) == [member]


def test_a_backup_is_readable_json(zookeeper: KazooClient) -> None:
    bind(zookeeper, "shop")
    told = json.loads(save(zookeeper).to_json())
    assert told["hadash"] == 1 and layout.binding("shop") in told["nodes"]
