"""A change of bindings on a real ZooKeeper: all or nothing, never on top of somebody else's, never by a stale
writer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from support.proxy import Proxy
from support.waiting import eventually
from support.zookeeper import address_of

from bindings.conftest import BeforeCommit, LoseReply
from hadash.bindings import journals, layout
from hadash.bindings import store as store_module
from hadash.bindings.client import connect
from hadash.bindings.errors import (
    AlreadyForwarded,
    BindingBusy,
    BindingConflict,
    FactsTooLarge,
    StaleWriter,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

SHOP, BILLING = Identity("shop"), Identity("billing")
WEB_1, WEB_2 = Identity("shop", "web-1"), Identity("shop", "web-2")
EAST, WEST = Binding("east"), Binding("west")


def blocked(switch: str) -> Binding:
    return Binding("east", BindingState.BLOCK, switch=switch, stage="block")


def stamped(binding: Binding, epoch: int, since: int | None = None) -> Binding:
    """As the store writes it; ``since`` is ``epoch`` where it came to its cluster then."""
    came = epoch if since is None else since
    return Binding(binding.cluster, binding.state, epoch, binding.switch, binding.stage, came)


class TestSince:
    """Since when an identity has been with its cluster: what a Gateway tells two stays of a producer apart by."""

    def since(self, store: BindingStore, identity: Identity) -> int:
        binding = store.document(identity.appid).binding_of(identity)
        assert binding is not None
        return binding.since

    def test_it_changes_with_the_cluster_and_with_nothing_else(self, store: BindingStore) -> None:
        store.change([Edit(SHOP, WEST)])
        assert self.since(store, SHOP) == 1
        store.take_over("s1", "block", token=1)
        journal = Journal("s1", "block", 1)
        for state in (
            BindingState.HOLD_HEARTBEATS,
            BindingState.QUIESCE,
            BindingState.BLOCK,
            BindingState.FORWARD,
        ):
            store.change([Edit(SHOP, Binding("west", state, switch="s1"))], journal)
            assert self.since(store, SHOP) == 1
        moved = store.change([Edit(SHOP, Binding("east", switch="s1"))], journal)
        assert self.since(store, SHOP) == moved == 6

    def test_a_switch_begins_with_where_the_appid_is(self, store: BindingStore) -> None:
        """An InstanceID gets its first binding when its switch begins; it has not moved by that."""
        store.take_over("s1", "quiesce", token=1)
        journal = Journal("s1", "quiesce", 1)
        holding = Binding("east", BindingState.HOLD_HEARTBEATS, switch="s1")
        store.change([Edit(WEB_1, holding)], journal)
        assert self.since(store, WEB_1) == 0
        store.change([Edit(SHOP, EAST)])
        store.change([Edit(WEB_2, holding)], journal)
        assert self.since(store, WEB_2) == 2

    def test_who_loses_a_binding_may_have_moved(self, store: BindingStore) -> None:
        store.change([Edit(SHOP, WEST), Edit(WEB_1, EAST)])
        assert store.document("shop").unbound == 0
        store.change([Edit(WEB_1, None)])
        assert store.document("shop").unbound == 2


class TestOneChange:
    def test_it_stamps_the_epoch_on_everything_it_touches(self, store: BindingStore) -> None:
        assert store.epoch() == 0
        epoch = store.change([Edit(SHOP, WEST), Edit(WEB_1, EAST), Edit(BILLING, WEST)])
        assert epoch == store.epoch() == 1
        assert store.documents() == {
            "shop": BindingDocument("shop", stamped(WEST, 1), {"web-1": stamped(EAST, 1)}),
            "billing": BindingDocument("billing", stamped(WEST, 1)),
        }

    def test_it_is_one_transaction_of_zookeeper(self, store: BindingStore) -> None:
        """The same transaction id on the documents, the epoch, the change node and the journal."""
        store.take_over("s1", "block", token=1)
        store.change([Edit(SHOP, WEST), Edit(BILLING, WEST)], Journal("s1", "block", 1))
        (change,) = store.client.get_children(layout.CHANGES)
        paths = [layout.binding("shop"), layout.binding("billing"), layout.EPOCH, layout.switch("s1")]
        paths.append(f"{layout.CHANGES}/{change}")
        assert len({store.client.exists(path).mzxid for path in paths}) == 1

    def test_engines_are_told_which_appids_it_touched(self, store: BindingStore) -> None:
        store.change([Edit(WEB_1, WEST), Edit(WEB_2, WEST), Edit(Identity("购物车"), WEST)])
        (change,) = store.client.get_children(layout.CHANGES)
        data, _ = store.client.get(f"{layout.CHANGES}/{change}")
        assert json.loads(data) == {"epoch": 1, "appids": ["shop", "购物车"]}

    def test_it_leaves_other_bindings_of_the_same_appid_alone(self, store: BindingStore) -> None:
        store.change([Edit(WEB_1, WEST)])
        store.change([Edit(WEB_2, EAST), Edit(SHOP, EAST)])
        assert store.document("shop") == BindingDocument(
            "shop", stamped(EAST, 2), {"web-1": stamped(WEST, 1), "web-2": stamped(EAST, 2)}
        )

    def test_a_binding_can_be_removed(self, store: BindingStore) -> None:
        store.change([Edit(SHOP, WEST), Edit(WEB_1, EAST)])
        assert store.change([Edit(WEB_1, None)]) == 2
        assert store.document("shop") == BindingDocument("shop", stamped(WEST, 1), unbound=2)

    def test_an_appid_without_bindings_has_an_empty_document(self, store: BindingStore) -> None:
        assert store.document("nobody") == BindingDocument("nobody")

    def test_old_change_nodes_are_trimmed(self, store: BindingStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_module, "CHANGES_KEPT", 3)
        for _ in range(5):
            store.change([Edit(SHOP, WEST)])
        kept = sorted(store.client.get_children(layout.CHANGES))
        epochs = [json.loads(store.client.get(f"{layout.CHANGES}/{child}")[0])["epoch"] for child in kept]
        assert epochs == [3, 4, 5]

    def test_an_unreadable_document_is_neither_overwritten_nor_hides_the_others(
        self, store: BindingStore
    ) -> None:
        store.change([Edit(BILLING, WEST)])
        store.client.create(layout.binding("shop"), b"garbage")
        with pytest.raises(BindingConflict) as caught:
            store.change([Edit(SHOP, WEST)])
        assert str(caught.value) == (
            "The binding document of shop in ZooKeeper cannot be read. "
            "Repair or delete /bindings/shop before changing it."
        )
        assert store.client.get(layout.binding("shop"))[0] == b"garbage"
        assert store.epoch() == 1
        assert set(store.documents()) == {"billing"}


class TestConflicts:
    def test_a_change_that_lost_a_race_is_made_on_top_of_the_other(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        store.change([Edit(SHOP, EAST)])
        before_commit(store.client, lambda: other_store.change([Edit(WEB_1, WEST)]))
        assert store.change([Edit(WEB_2, WEST)]) == 3
        assert store.document("shop") == BindingDocument(
            "shop", stamped(EAST, 1), {"web-1": stamped(WEST, 2), "web-2": stamped(WEST, 3)}
        )

    def test_the_first_document_of_an_appid_can_be_raced_for_too(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        before_commit(store.client, lambda: other_store.change([Edit(WEB_1, WEST)]))
        assert store.change([Edit(WEB_2, WEST)]) == 2
        assert set(store.document("shop").instances) == {"web-1", "web-2"}

    def test_changes_of_different_appids_get_different_epochs(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        before_commit(store.client, lambda: other_store.change([Edit(BILLING, WEST)]))
        assert store.change([Edit(SHOP, WEST)]) == 2
        assert store.document("billing").default == stamped(WEST, 1)
        assert store.document("shop").default == stamped(WEST, 2)

    def test_a_race_that_is_always_lost_is_given_up_and_changed_nothing(
        self,
        store: BindingStore,
        other_store: BindingStore,
        before_commit: BeforeCommit,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(store_module, "TURN_SECONDS", 0)
        before_commit(store.client, lambda: other_store.change([Edit(BILLING, WEST)]), times=1000)
        with pytest.raises(
            BindingConflict, match=r"^The bindings change faster than this change can be made\.$"
        ):
            store.change([Edit(SHOP, WEST)])
        assert set(store.documents()) == {"billing"}

    def test_what_others_change_while_it_reads_is_no_race(
        self, store: BindingStore, other_store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A change of a thousand AppIDs reads for a while; those of others go on meanwhile, each with an epoch."""
        store.change([Edit(SHOP, EAST)])
        real, others = store.client.get_async, [Edit(BILLING, WEST)]

        def get_async(path: str, **arguments: Any) -> Any:
            if path == layout.binding("shop") and others:
                other_store.change([others.pop()])
            return real(path, **arguments)

        monkeypatch.setattr(store.client, "get_async", get_async)
        monkeypatch.setattr(store_module, "MAX_CONFLICTS", 1)
        assert store.change([Edit(SHOP, WEST)]) == 3
        assert store.document("shop").default == stamped(WEST, 3)
        assert store.document("billing").default == stamped(WEST, 2)

    def test_whoever_lost_pauses_for_longer_and_longer(
        self,
        store: BindingStore,
        other_store: BindingStore,
        before_commit: BeforeCommit,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Two that begin again at once would meet again."""
        longest: list[float] = []
        monkeypatch.setattr(store_module, "TURN_SECONDS", 0)
        # (The store's own: ZooKeeper's client draws its pauses of the same module, in threads of its own.)
        drawn = SimpleNamespace(uniform=lambda least, most: longest.append(most) or 0.0)
        monkeypatch.setattr(store_module, "random", drawn)
        before_commit(store.client, lambda: other_store.change([Edit(BILLING, WEST)]), times=7)
        store.change([Edit(SHOP, WEST)])
        assert longest == [0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.3]

    def test_a_large_change_gets_its_turn_among_small_ones(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        """What takes long would always be overtaken: after some tries the others let it pass."""
        over = threading.Event()

        def others() -> None:
            while not over.is_set():
                other_store.change([Edit(BILLING, WEST)])

        before_commit(store.client, lambda: time.sleep(0.2), times=1000)
        busy = threading.Thread(target=others)
        busy.start()
        try:
            store.change([Edit(SHOP, WEST)])
        finally:
            over.set()
            busy.join()
        assert store.client.exists(layout.TURN) is None

    def test_a_turn_that_nobody_gives_up_ends(
        self, store: BindingStore, other_store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its owner could not reach ZooKeeper, and still lives."""
        monkeypatch.setattr(store_module, "TURN_SECONDS", 0.2)
        other_store.client.create(layout.TURN, ephemeral=True)
        began = time.monotonic()
        store.change([Edit(SHOP, WEST)])
        assert time.monotonic() - began >= 0.2
        assert store.client.exists(layout.TURN) is None

    def test_all_documents_are_asked_for_before_the_first_answer_is_awaited(
        self, store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.change([Edit(SHOP, WEST)])
        real, order = store.client.get_async, []

        class Answer:
            def __init__(self, asked: Any) -> None:
                order.append("asked")
                self.asked = asked

            def get(self) -> Any:
                order.append("awaited")
                return self.asked.get()

        monkeypatch.setattr(store.client, "get_async", lambda path: Answer(real(path)))
        found = store.documents_now(["shop", "nobody", "shop"])
        assert order == ["asked", "asked", "awaited", "awaited"]
        assert found == {
            "shop": BindingDocument("shop", stamped(WEST, 1)),
            "nobody": BindingDocument("nobody"),
        }


class TestBusy:
    @pytest.fixture(autouse=True)
    def switch_s1_holds_web_1(self, store: BindingStore) -> None:
        store.take_over("s1", "block", token=1)
        store.change([Edit(WEB_1, blocked("s1"))], Journal("s1", "block", 1))

    def test_another_switch_may_not_touch_what_a_switch_holds(self, store: BindingStore) -> None:
        store.take_over("s2", "block", token=1)
        with pytest.raises(BindingBusy, match=r"^shop › web-1 is being moved by switch s1\.$"):
            store.change([Edit(BILLING, WEST), Edit(WEB_1, WEST)], Journal("s2", "block", 1))
        assert store.epoch() == 1
        assert set(store.documents()) == {"shop"}

    def test_nor_may_a_change_by_hand(self, store: BindingStore) -> None:
        for edit in (Edit(WEB_1, WEST), Edit(WEB_1, None)):
            with pytest.raises(BindingBusy):
                store.change([edit])
        assert store.document("shop").instances["web-1"].state is BindingState.BLOCK

    def test_its_own_switch_goes_on_and_lets_go(self, store: BindingStore) -> None:
        store.change([Edit(WEB_1, Binding("west", switch="s1"))], Journal("s1", "forward", 1))
        assert store.change([Edit(WEB_1, EAST)]) == 3

    def test_other_identities_of_the_appid_are_free(self, store: BindingStore) -> None:
        assert store.change([Edit(WEB_2, WEST)]) == 2


class TestFencing:
    def test_the_journal_says_who_changed_what_when(self, store: BindingStore) -> None:
        assert store.journal("s1") is None
        store.take_over("s1", "precheck", token=7)
        assert store.journal("s1") == Journal("s1", "precheck", 7, epoch=0)
        store.change([Edit(SHOP, blocked("s1"))], Journal("s1", "block", 7))
        assert store.journal("s1") == Journal("s1", "block", 7, epoch=1)

    def test_a_replaced_executor_cannot_change_anything(self, store: BindingStore) -> None:
        store.take_over("s1", "block", token=1)
        store.take_over("s1", "block", token=2)
        with pytest.raises(StaleWriter, match=r"^Executor 1 of switch s1 was replaced by 2\.$"):
            store.change([Edit(SHOP, WEST)], Journal("s1", "block", 1))
        assert store.epoch() == 0
        assert store.documents() == {}

    def test_an_executor_that_is_replaced_during_its_change_changes_nothing(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        store.take_over("s1", "block", token=1)
        before_commit(store.client, lambda: other_store.take_over("s1", "block", token=2))
        with pytest.raises(StaleWriter):
            store.change([Edit(SHOP, WEST)], Journal("s1", "block", 1))
        assert store.documents() == {}

    def test_taking_over_backwards_is_refused(self, store: BindingStore) -> None:
        store.take_over("s1", "block", token=2)
        with pytest.raises(StaleWriter, match=r"^Executor 1 of switch s1 was replaced by 2\.$"):
            store.take_over("s1", "block", token=1)
        assert store.journal("s1") == Journal("s1", "block", 2)

    def test_of_two_with_the_same_token_one_takes_over(
        self, store: BindingStore, other_store: BindingStore
    ) -> None:
        """A PostgreSQL that has forgotten that it gave a token out gives it out again."""
        store.take_over("s1", "block", token=1)
        with pytest.raises(StaleWriter, match=r"^Executor 1 of switch s1 was replaced by 1\.$"):
            other_store.take_over("s1", "precheck", token=1)

    def test_who_takes_over_learns_how_far_the_switch_came(self, store: BindingStore) -> None:
        """Also when the one before has died on the way: only a change of bindings moves the stage on."""
        assert store.take_over("s1", "precheck", token=1) is None
        store.change([Edit(SHOP, blocked("s1"))], Journal("s1", "block", 1))
        for token in (2, 3):
            assert store.take_over("s1", "quiesce", token) == Journal("s1", "block", token - 1, epoch=1)
        assert store.journal("s1") == Journal("s1", "block", 3, epoch=1)

    @pytest.mark.parametrize("stage", ["block", "return"])
    def test_nobody_goes_back_behind_a_forward_whatever_the_token(
        self, store: BindingStore, stage: str
    ) -> None:
        store.take_over("s1", "block", token=1)
        store.change([Edit(SHOP, blocked("s1"))], Journal("s1", "block", 1))
        sent = Binding("west", switch="s1", stage="forward")
        assert store.change([Edit(SHOP, sent)], Journal("s1", "forward", 1)) == 2
        store.take_over("s1", stage, token=2)
        with pytest.raises(AlreadyForwarded):
            store.change([Edit(BILLING, WEST), Edit(SHOP, EAST)], Journal("s1", stage, 2))
        assert (store.epoch(), set(store.documents())) == (2, {"shop"})
        assert store.change([Edit(SHOP, sent)], Journal("s1", "forward", 2)) == 3, "again is idempotent"

    def test_a_switch_whose_journal_is_gone_may_not_write(self, store: BindingStore) -> None:
        with pytest.raises(StaleWriter):
            store.change([Edit(SHOP, WEST)], Journal("s1", "block", 1))


class TestFacts:
    """What the stages of a switch keep for each other, for the worker that takes over from a PostgreSQL that has
    forgotten it.
    """

    FACTS: ClassVar = {"number": 2, "drained": [["购物车", 0, 10**12, 7]]}

    def test_they_are_kept_and_replaced(self, store: BindingStore) -> None:
        store.take_over("s1", "drain", token=1)
        assert store.facts("s1") == {}
        for facts in ({"number": 1}, self.FACTS):
            store.keep_facts(Journal("s1", "drain", 1), facts)
            assert store.facts("s1") == facts

    def test_who_was_replaced_keeps_none(
        self, store: BindingStore, other_store: BindingStore, before_commit: BeforeCommit
    ) -> None:
        store.take_over("s1", "drain", token=1)
        before_commit(store.client, lambda: other_store.take_over("s1", "drain", token=2))
        with pytest.raises(StaleWriter):
            store.keep_facts(Journal("s1", "drain", 1), self.FACTS)
        assert store.facts("s1") == {}

    def test_what_no_node_can_hold_is_refused(
        self, store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.take_over("s1", "drain", token=1)
        monkeypatch.setattr(journals, "FACTS_BYTES", 20)
        with pytest.raises(FactsTooLarge, match="at most 20 fit"):
            store.keep_facts(Journal("s1", "drain", 1), self.FACTS)

    def test_what_cannot_be_read_is_not_taken_for_nothing(self, store: BindingStore) -> None:
        store.take_over("s1", "drain", token=1)
        store.client.create(layout.facts("s1"), b"garbage")
        with pytest.raises(BindingConflict, match="Repair or delete /switches/s1/facts"):
            store.facts("s1")


class TestLostReplies:
    """ZooKeeper's answer to the transaction never arrives. What is said afterwards must be the truth."""

    @pytest.mark.parametrize("happened", [True, False])
    @pytest.mark.parametrize("exists", [True, False], ids=["second change", "first document"])
    def test_the_epoch_returned_is_the_one_that_was_written(
        self, store: BindingStore, lose_reply: LoseReply, happened: bool, exists: bool
    ) -> None:
        if exists:
            store.change([Edit(SHOP, EAST)])
        lose_reply(store.client, happened=happened)
        epoch = store.change([Edit(SHOP, WEST), Edit(WEB_1, EAST)])
        assert epoch == store.epoch() == (2 if exists else 1)
        assert store.document("shop") == BindingDocument(
            "shop", stamped(WEST, epoch), {"web-1": stamped(EAST, epoch)}
        )
        assert len(store.client.get_children(layout.CHANGES)) == epoch

    @pytest.mark.parametrize("happened", [True, False])
    def test_so_with_a_journal(self, store: BindingStore, lose_reply: LoseReply, happened: bool) -> None:
        store.take_over("s1", "block", token=1)
        lose_reply(store.client, happened=happened)
        assert store.change([Edit(SHOP, blocked("s1"))], Journal("s1", "block", 1)) == 1
        assert store.journal("s1") == Journal("s1", "block", 1, epoch=1)

    @pytest.mark.parametrize("happened", [True, False])
    def test_somebody_else_changed_the_document_meanwhile(
        self, store: BindingStore, other_store: BindingStore, lose_reply: LoseReply, happened: bool
    ) -> None:
        """It cannot be told any more whether it happened, so it is made (again): both effects stay."""
        store.change([Edit(SHOP, EAST)])
        lose_reply(store.client, happened=happened, then=lambda: other_store.change([Edit(WEB_2, EAST)]))
        epoch = store.change([Edit(WEB_1, WEST)])
        document = store.document("shop")
        came = 2 if happened else epoch  # made again, it has been there since it was made first
        assert document.instances["web-1"] == stamped(WEST, epoch, since=came)
        assert document.instances["web-2"].cluster == "east"

    def test_replaced_while_the_reply_was_lost(
        self, store: BindingStore, other_store: BindingStore, lose_reply: LoseReply
    ) -> None:
        store.take_over("s1", "block", token=1)
        lose_reply(store.client, happened=False, then=lambda: other_store.take_over("s1", "block", token=2))
        with pytest.raises(StaleWriter):
            store.change([Edit(SHOP, blocked("s1"))], Journal("s1", "block", 1))
        assert store.documents() == {}

    @pytest.mark.parametrize("happened", [True, False])
    def test_removing_the_last_binding(
        self, store: BindingStore, lose_reply: LoseReply, happened: bool
    ) -> None:
        store.change([Edit(SHOP, WEST)])
        lose_reply(store.client, happened=happened)
        assert store.change([Edit(SHOP, None)]) == store.epoch() == 2
        assert store.document("shop") == BindingDocument("shop", unbound=2)

    def test_removing_one_of_two_bindings(self, store: BindingStore, lose_reply: LoseReply) -> None:
        store.change([Edit(SHOP, WEST), Edit(WEB_1, EAST)])
        store.change([Edit(WEB_2, EAST)])
        lose_reply(store.client, happened=True)
        assert store.change([Edit(WEB_1, None)]) == store.epoch() == 3

    def test_what_cannot_be_read_back_is_unknown(
        self, store: BindingStore, lose_reply: LoseReply, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "READ_BACK_SECONDS", 0.2)
        lose_reply(
            store.client,
            happened=True,
            then=lambda: monkeypatch.setattr(store.client, "sync_async", unreachable),
        )
        with pytest.raises(UnknownOutcome) as caught:
            store.change([Edit(SHOP, WEST)])
        assert str(caught.value) == (
            "ZooKeeper did not answer (ConnectionLoss), and for 0 s it could not be read "
            "whether the change of bindings happened."
        )


class TestUnreachable:
    def test_before_anything_was_sent_nothing_was_changed(
        self, store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(store.client, "get_async", unreachable)
            with pytest.raises(StoreUnavailable, match=r"^ZooKeeper cannot be reached \(ConnectionLoss\)\.$"):
                store.change([Edit(SHOP, WEST)])
        assert store.epoch() == 0

    def test_an_ensemble_that_does_not_answer_is_told_in_one_sentence(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.bindings.client.CONNECT_TIMEOUT_SECONDS", 1.0)
        with pytest.raises(StoreUnavailable) as caught:
            connect("127.0.0.1:1")
        assert str(caught.value) == (
            "ZooKeeper at 127.0.0.1:1 does not answer within 1 s. "
            "Check ZOOKEEPER_HOSTS and that the ensemble has a leader."
        )

    def test_a_connection_that_breaks_while_the_folders_are_made_is_told_alike(
        self, zookeeper_hosts: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.bindings.client.KazooClient.ensure_path", unreachable)
        with pytest.raises(StoreUnavailable):
            connect(zookeeper_hosts, "/hadash-test-never-made")

    def test_an_ensemble_that_goes_away_does_not_hold_the_writer_for_ever(
        self,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("hadash.bindings.client.ANSWER_SECONDS", 1.0)
        outcome: list[BaseException] = []
        with Proxy(address_of(zookeeper_hosts)) as network:
            store = BindingStore(connect_client(network.address, bounded=True))
            network.refuse()
            eventually(lambda: not store.client.connected, "the loss of the connection")

            def change() -> None:
                try:
                    store.change([Edit(SHOP, WEST)])
                except BaseException as error:
                    outcome.append(error)

            writer = threading.Thread(target=change, daemon=True)
            writer.start()
            writer.join(5)
            answered_while_away = list(outcome)
            network.accept()
            writer.join()
        assert [type(error) for error in answered_while_away] == [StoreUnavailable]


def unreachable(*_: object, **__: object) -> None:
    raise ConnectionLoss


class TestByHand:
    """A change that somebody has decided on by looking at a document, and that moves nobody."""

    def test_it_is_refused_when_the_document_is_another_one(self, store: BindingStore) -> None:
        seen = store.document("shop")
        store.change([Edit(WEB_1, EAST)], seen=[seen])
        with pytest.raises(BindingConflict, match="have changed since they were looked at"):
            store.change([Edit(WEB_2, EAST)], seen=[seen])
        assert store.document("shop").instances.keys() == {"web-1"}
        store.change([Edit(WEB_2, EAST)], seen=[store.document("shop")])
        assert store.document("shop").instances.keys() == {"web-1", "web-2"}

    def test_who_stays_is_not_seen_as_somebody_who_came_back(self, store: BindingStore) -> None:
        """Else a batch that is sent twice around the change would be written twice."""
        store.change([Edit(SHOP, EAST, stays=True), Edit(WEB_1, EAST, stays=True)])
        bound = store.document("shop")
        assert (bound.default, bound.instances["web-1"]) == (stamped(EAST, 1, 0), stamped(EAST, 1, 0))
        store.change([Edit(SHOP, None, stays=True), Edit(WEB_1, None, stays=True)])
        assert store.document("shop") == BindingDocument("shop")
        moved = store.change([Edit(WEB_1, WEST)])
        store.change([Edit(SHOP, WEST, stays=True)])
        store.change([Edit(WEB_1, None, stays=True)])
        assert store.document("shop").unbound == moved, "web-1 is still seen with the epoch of its move"
