"""Bindings on real trees: what is written where, what is left alone, what is refused."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

import pytest
from kazoo.exceptions import ConnectionLoss

from hadash.bindings import layout as paths
from hadash.bindings.dialect import Waiting
from hadash.bindings.didi import trees as trees_module
from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.errors import (
    BindingBusy,
    BindingConflict,
    NotConfigured,
    NotKnownToEngine,
    StaleWriter,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity

from ..conftest import LoseReply
from .conftest import ACTIVE, SCRAM, Layout
from .engine import Killed, accepting, around_commits

pytestmark = pytest.mark.stack

SHOP, WEB = Identity("shop"), Identity("shop", "web-1")
#: Needs encoding in every way that there is.
ODD = Identity("购物 a+b*c", "P#网页 1")
ODD_NODE = "%E8%B4%AD%E7%89%A9%20a%2Bb%2Ac%23P%23%E7%BD%91%E9%A1%B5%201"


def switch(
    dialect: DidiDialect, identity: Identity, cluster: str, state: BindingState, token: int = 1
) -> int:
    """A stage of switch s1 binds an identity."""
    held = dialect.journal("s1")
    if held is None or held.token < token:
        dialect.take_over("s1", "stage", token)
    binding = Binding(cluster, state, switch="s1", stage="stage")
    return dialect.change([Edit(identity, binding)], Journal("s1", "stage", token))


class TestWhatIsWritten:
    @pytest.mark.parametrize(("identity", "node"), [(SHOP, "shop"), (WEB, "shop%23web-1"), (ODD, ODD_NODE)])
    def test_a_whole_switch(
        self, dialect: DidiDialect, layout: Layout, identity: Identity, node: str
    ) -> None:
        layout.bound(node, "1", "1", "1")
        switch(dialect, identity, "east", BindingState.HOLD_HEARTBEATS)
        switch(dialect, identity, "east", BindingState.QUIESCE)
        assert layout.where(node) == ("1", "1", "1")
        assert layout.notices("east") == []
        switch(dialect, identity, "east", BindingState.BLOCK)
        assert layout.where(node) == ("None", "1", "1")
        switch(dialect, identity, "west", BindingState.FORWARD)
        assert layout.where(node) == ("2", "2", "2")
        notice = {"version": 2, "entity_path": f"users/{node}"}
        assert {tree: layout.notices(tree) for tree in ("east", "west", "gateway")} == {
            "east": [notice, notice],
            "west": [notice],
            "gateway": [notice],
        }

    def test_and_one_that_returns_to_the_start(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.bound("shop", "1", "1", "1")
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        switch(dialect, SHOP, "east", BindingState.FORWARD)
        assert layout.where("shop") == ("1", "1", "1")

    def test_the_first_block_closes_a_standby_that_has_never_heard_of_it(
        self, dialect: DidiDialect, layout: Layout
    ) -> None:
        """Without a key both clusters would take its writes."""
        assert accepting(layout, "shop", "shop%23x") == ["east", "west"]
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert layout.where("shop") == ("None", "1", None)
        assert accepting(layout, "shop", "shop%23x") == []

    def test_other_keys_and_members_stay(self, dialect: DidiDialect, layout: Layout) -> None:
        mine = {"version": 1, "config": {**SCRAM, ACTIVE: "1"}, "written_by": "ops"}
        for tree in ("east", "west", "gateway"):
            layout.put(tree, "/config/users/shop", mine)
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        for tree in ("east", "west", "gateway"):
            assert json.loads(layout.raw(tree, "/config/users/shop")) == {
                **mine,
                "config": {**SCRAM, ACTIVE: "2"},
            }

    def test_a_value_and_its_notification_are_one_transaction(
        self, dialect: DidiDialect, layout: Layout
    ) -> None:
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        for tree in ("east", "west"):
            (notice,) = layout.root.get_children(layout.path(tree, "/config/changes"))
            told = layout.root.exists(layout.path(tree, f"/config/changes/{notice}"))
            held = layout.root.exists(layout.path(tree, "/config/users/shop"))
            assert told.czxid == held.mzxid

    def test_garbage_is_not_written_over(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.put("west", "/config/users/shop", b"garbage")
        with pytest.raises(BindingConflict) as refused:
            switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert str(refused.value) == (
            "/config/users/shop in the ZooKeeper of west cannot be changed: it is no config node of version 1. "
            "Repair or delete it first."
        )
        assert layout.raw("west", "/config/users/shop") == b"garbage"
        assert dialect.record.epoch() == 0

    def test_a_binding_that_is_removed_does_not_open_both_clusters(
        self, dialect: DidiDialect, layout: Layout
    ) -> None:
        dialect.change([Edit(SHOP, Binding("west")), Edit(WEB, Binding("east"))])
        dialect.change([Edit(WEB, None)])
        assert layout.where("shop%23web-1") == ("2", "2", "2")
        dialect.change([Edit(SHOP, None)])
        assert layout.where("shop") == ("1", "1", "1")  # the pair's default

    def test_many_at_once(
        self, dialect: DidiDialect, layout: Layout, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trees_module, "AT_ONCE", 3)
        some = [Identity("shop", f"web-{n}") for n in range(8)]
        dialect.change([Edit(each, Binding("west")) for each in some])
        assert {layout.where(f"shop%23web-{n}") for n in range(8)} == {("2", "2", "2")}


class TestShadows:
    """A node ``user#client`` is obeyed before its user's: one that stays behind keeps its client behind (section 4)."""

    def test_what_the_record_does_not_know_moves_with_its_appid(
        self, dialect: DidiDialect, layout: Layout
    ) -> None:
        layout.bound("shop", "1", "1", "1")
        layout.bound("shop%23old", "1", "1", "1")
        layout.bound("shop%23only-scram", None, None)
        layout.bound("shopping%23old", "1", "1", "1")
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert accepting(layout, "shop", "shop%23old") == []
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert layout.where("shop%23old") == ("2", "2", "2")
        assert layout.where("shop%23only-scram") == (None, None, None)
        assert layout.where("shopping%23old") == ("1", "1", "1")

    def test_what_is_bound_by_itself_stays_where_it_is_bound(
        self, dialect: DidiDialect, layout: Layout
    ) -> None:
        dialect.change([Edit(SHOP, Binding("east")), Edit(WEB, Binding("east"))])
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert layout.where("shop%23web-1") == ("1", "1", "1")

    def test_producers_that_would_go_by_the_topic_get_a_node(
        self, open_dialect: Callable[..., DidiDialect], layout: Layout
    ) -> None:
        """A client.id ``P#…`` is governed by its first Topic before its AppID (1.4)."""
        dialect = open_dialect(known_clients=lambda appid: ["P#order", "web-1"])
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert layout.where("shop%23P%23order") == ("2", "2", "2")
        assert layout.where("shop%23web-1") == (None, None, None)


class TestRefusals:
    @pytest.mark.parametrize(
        "identity",
        [
            Identity("shop", topics=("t",)),
            Identity("shop", group="g"),
            Identity("sh#op"),
            Identity("sh#op", "x"),
        ],
    )
    def test_what_the_engine_cannot_bind(self, dialect: DidiDialect, identity: Identity) -> None:
        with pytest.raises(NotKnownToEngine):
            dialect.change([Edit(SHOP, Binding("west")), Edit(identity, Binding("west"))])
        assert dialect.record.epoch() == 0
        assert len(dialect.blockers([SHOP, identity], "east")) == 1

    def test_a_cluster_of_another_pair(self, dialect: DidiDialect) -> None:
        with pytest.raises(NotKnownToEngine, match=r"^Cluster north is none of east, west\.$"):
            dialect.change([Edit(SHOP, Binding("north"))])
        assert dialect.record.epoch() == 0

    def test_who_was_moved_past_hadash(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.bound("shop", "2", "2", "2")
        (why,) = dialect.blockers([SHOP], "east")
        assert str(why) == (
            "The engines have shop on the other cluster than hadash, which has it on east: somebody has moved it past "
            "hadash. Correct didi.ha.active.cluster of users/shop in their ZooKeepers."
        )
        for state in (BindingState.BLOCK, BindingState.FORWARD):
            with pytest.raises(BindingConflict) as refused:
                switch(dialect, SHOP, "east", state)
            assert str(refused.value) == str(why)
        assert dialect.record.epoch() == 0
        assert layout.where("shop") == ("2", "2", "2")
        assert dialect.blockers([SHOP], "west") == []

    def test_so_is_an_instance_whose_appid_was_moved(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.bound("shop", "2", "2", "2")
        assert len(dialect.blockers([WEB], "east")) == 1

    def test_another_switch_holds_it(self, dialect: DidiDialect, layout: Layout) -> None:
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        with pytest.raises(BindingBusy):
            dialect.change([Edit(SHOP, Binding("west"))])
        assert layout.where("shop") == ("None", "1", None)

    def test_swapped_addresses(self, open_fleet: Callable[..., Fleet], layout: Layout) -> None:
        fleet = open_fleet(east=layout.hosts["west"], west=layout.hosts["east"])
        with pytest.raises(NotConfigured) as refused:
            fleet.make_sure_that_all_answer()
        assert str(refused.value) == (
            "The ZooKeeper of cluster east is that of cluster 2, not 1 (/cluster/id). Correct didi_zookeeper."
        )

    def test_an_address_without_a_cluster(self, open_fleet: Callable[..., Fleet], layout: Layout) -> None:
        fleet = open_fleet(east=layout.hosts["gateway"])
        with pytest.raises(NotConfigured, match="is that of cluster none, not 1"):
            fleet.make_sure_that_all_answer()

    def test_a_tree_that_does_not_answer_is_told_before_anything_is_written(
        self, dialect: DidiDialect, layout: Layout, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(*args: object, **kwargs: object) -> None:
            raise ConnectionLoss

        monkeypatch.setattr(dialect.fleet.gateway.client, "sync", lost)
        with pytest.raises(
            StoreUnavailable, match=r"^The ZooKeeper of gateway cannot be reached \(ConnectionLoss\)\.$"
        ):
            switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert dialect.record.epoch() == 0
        assert layout.where("shop") == (None, None, None)


class TestUnknown:
    @pytest.mark.parametrize("happened", [True, False])
    def test_a_lost_reply_is_read_back(
        self, dialect: DidiDialect, layout: Layout, lose_reply: LoseReply, happened: bool
    ) -> None:
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        lose_reply(dialect.fleet.clusters["west"].client, happened=happened)
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert layout.where("shop") == ("2", "2", "2")

    def test_one_that_cannot_be_read_back_is_unknown_and_can_be_completed(
        self, dialect: DidiDialect, layout: Layout, lose_reply: LoseReply, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        monkeypatch.setattr(trees_module, "READ_BACK_SECONDS", 0.2)
        client = dialect.fleet.clusters["west"].client

        def lost(*args: object, **kwargs: object) -> None:
            raise ConnectionLoss

        with pytest.MonkeyPatch.context() as away:
            lose_reply(client, happened=True, then=lambda: away.setattr(client, "sync", lost))
            with pytest.raises(UnknownOutcome, match="it could not be read whether the write happened"):
                switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert len(accepting(layout, "shop", "shop%23x")) <= 1
        switch(dialect, SHOP, "west", BindingState.FORWARD)
        assert layout.where("shop") == ("2", "2", "2")

    def test_somebody_who_writes_all_the_time(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.bound("shop", "1", "1", "1")
        quota = iter(range(1000))

        def write(count: int) -> None:
            layout.user("shop", "west", **{ACTIVE: "1", "request_percentage": str(next(quota))})

        with (
            around_commits([dialect.fleet.clusters["west"].client], before=write),
            pytest.raises(UnknownOutcome, match="changes faster than it can be written"),
        ):
            switch(dialect, SHOP, "east", BindingState.BLOCK)

    def test_somebody_elses_key_in_between_is_kept(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.bound("shop", "1", "1", "1")
        client = dialect.fleet.clusters["east"].client

        def write(count: int) -> None:
            if count == 1:
                layout.user("shop", "east", **{ACTIVE: "1", "request_percentage": "50"})

        with around_commits([client], before=write):
            switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert layout.config("east", "/config/users/shop") == {
            **SCRAM,
            ACTIVE: "None",
            "request_percentage": "50",
        }


class TestFence:
    def test_a_stale_token_writes_nothing(
        self, dialect: DidiDialect, open_dialect: Callable[..., DidiDialect], layout: Layout
    ) -> None:
        layout.bound("shop", "1", "1", "1")
        open_dialect().take_over("s1", "block", token=2)
        binding = Binding("east", BindingState.BLOCK, switch="s1")
        with pytest.raises(StaleWriter):
            dialect.change([Edit(SHOP, binding)], Journal("s1", "block", 1))
        assert layout.where("shop") == ("1", "1", "1")
        assert layout.notices("east") == []

    @pytest.mark.parametrize("at", [1, 2, 3, 4])
    def test_one_that_is_replaced_before_any_of_its_writes(
        self, dialect: DidiDialect, open_dialect: Callable[..., DidiDialect], layout: Layout, at: int
    ) -> None:
        """It has asked for the fence already, and sleeps: the version of the node stops it."""
        switch(dialect, SHOP, "east", BindingState.BLOCK)
        other = open_dialect()
        clients = [tree.client for tree in dialect.fleet.trees]

        def replace(count: int) -> None:
            if count == at:
                switch(other, SHOP, "west", BindingState.FORWARD, token=2)
                notices.update({tree: layout.notices(tree) for tree in ("east", "west", "gateway")})

        notices: dict[str, object] = {}
        with around_commits(clients, before=replace), pytest.raises(StaleWriter):
            switch(dialect, SHOP, "west", BindingState.FORWARD, token=1)
        assert layout.where("shop") == ("2", "2", "2")
        assert notices == {tree: layout.notices(tree) for tree in ("east", "west", "gateway")}

    def test_one_that_sleeps_while_its_successor_returns_to_the_start(
        self, dialect: DidiDialect, open_dialect: Callable[..., DidiDialect], layout: Layout
    ) -> None:
        """The successor finds everything as it should be, and the sleeper would block it afterwards: that is why
        everybody writes every node."""
        layout.bound("shop", "1", "1", "1")
        other = open_dialect()

        def replace(count: int) -> None:
            if count == 1:
                switch(other, SHOP, "east", BindingState.FORWARD, token=2)

        with (
            around_commits([dialect.fleet.clusters["east"].client], before=replace),
            pytest.raises(StaleWriter),
        ):
            switch(dialect, SHOP, "east", BindingState.BLOCK, token=1)
        assert layout.where("shop") == ("1", "1", "1")

    @pytest.mark.parametrize("at", [1, 2, 3, 4])
    def test_one_that_was_killed_is_completed_by_another_process(
        self, dialect: DidiDialect, open_dialect: Callable[..., DidiDialect], layout: Layout, at: int
    ) -> None:
        switch(dialect, SHOP, "east", BindingState.BLOCK)

        def kill(count: int) -> None:
            assert len(accepting(layout, "shop", "shop%23x")) <= 1
            if count == at:
                raise Killed

        clients = [tree.client for tree in dialect.fleet.trees]
        with around_commits(clients, after=kill), pytest.raises(Killed):
            switch(dialect, SHOP, "west", BindingState.FORWARD)
        switch(open_dialect(), SHOP, "west", BindingState.FORWARD, token=2)
        assert layout.where("shop") == ("2", "2", "2")


class TestInEffect:
    def test_the_engines_are_given_their_time(self, open_dialect: Callable[..., DidiDialect]) -> None:
        dialect = open_dialect(apply_seconds=0.4)
        began = time.monotonic()
        epoch = switch(dialect, SHOP, "east", BindingState.BLOCK)
        assert dialect.waiting_for(epoch) == Waiting(("east", "west", "gateway"), 3)
        while dialect.waiting_for(epoch).late:
            time.sleep(0.02)
        assert time.monotonic() - began >= 0.4

    def test_a_state_that_they_do_not_know_needs_none(self, open_dialect: Callable[..., DidiDialect]) -> None:
        dialect = open_dialect(apply_seconds=60)
        epoch = switch(dialect, SHOP, "east", BindingState.QUIESCE)
        assert dialect.waiting_for(epoch) == Waiting((), 3)

    def test_a_tree_that_says_otherwise_is_named_and_the_time_begins_anew(
        self, open_dialect: Callable[..., DidiDialect], layout: Layout
    ) -> None:
        dialect = open_dialect(apply_seconds=0.2)
        epoch = switch(dialect, SHOP, "east", BindingState.BLOCK)
        layout.user("shop", "east", **{ACTIVE: "1"})
        time.sleep(0.25)
        assert dialect.waiting_for(epoch).late == ("east",)
        layout.user("shop", "east", **{ACTIVE: "None"})
        assert dialect.waiting_for(epoch).late == ("east", "west", "gateway")
        time.sleep(0.25)
        assert dialect.waiting_for(epoch).late == ()

    def test_another_process_reads_back_and_waits_too(
        self, dialect: DidiDialect, open_dialect: Callable[..., DidiDialect]
    ) -> None:
        epoch = switch(dialect, WEB, "east", BindingState.BLOCK)
        other = open_dialect(apply_seconds=0.2)
        assert len(other.waiting_for(epoch).late) == 3
        time.sleep(0.25)
        assert other.waiting_for(epoch).late == ()

    def test_hadashs_own_gateways_are_waited_for_as_well(self, dialect: DidiDialect) -> None:
        dialect.record.client.create(paths.gateway("gw-1"), b"{}", makepath=True)
        epoch = switch(dialect, SHOP, "east", BindingState.QUIESCE)
        assert dialect.waiting_for(epoch) == Waiting(("gw-1",), 4)


def test_nothing_of_a_node_is_logged(
    dialect: DidiDialect, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    """kazoo logs what it sends at DEBUG; a user's node holds SCRAM keys."""
    layout.bound("shop", "1", "1", "1")
    with caplog.at_level(logging.DEBUG):
        switch(dialect, SHOP, "east", BindingState.BLOCK)
    assert "stored_key" not in caplog.text
