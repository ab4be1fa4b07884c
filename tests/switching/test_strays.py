"""Clients that wait for a switch that PostgreSQL has forgotten are found, shown, and can be let go."""

from __future__ import annotations

import logging
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from kazoo.client import KazooClient

from hadash.audit.models import Entry
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory import dialects
from hadash.inventory.models import Cluster, Pair
from hadash.switching.machines.switches import Status
from hadash.switching.recovery import strays

SHOP, WEB = Identity("shop"), Identity("shop", "web-1")
ORDERS, LIST = Identity("shop", topics=("orders",)), Identity("shop", topics=("a", "b"))
GROUP = Identity("shop", group="billing")


def document(binding: Binding) -> BindingDocument:
    """The same binding for one identity of each kind."""
    made = BindingDocument("shop")
    for identity in (SHOP, WEB, ORDERS, LIST, GROUP):
        made = made.with_binding(identity, binding)
    return made


@pytest.mark.parametrize("state", [BindingState.HOLD_HEARTBEATS, BindingState.QUIESCE, BindingState.BLOCK])
@pytest.mark.parametrize("status", ["", *Status])
def test_whoever_waits_for_a_switch_that_does_not_run_is_a_stray(state: BindingState, status: str) -> None:
    held = document(Binding("east", state, switch="s1", stage="block"))
    found = strays.strays([held], {"s1": status} if status else {})
    seen_to = status in ("running", "needs_attention")
    assert {stray.identity for stray in found} == (set() if seen_to else {SHOP, WEB, ORDERS, LIST, GROUP})
    assert not any(stray.moved for stray in found)


def test_who_was_sent_over_by_an_unknown_switch_is_shown_too() -> None:
    sent = document(Binding("west", switch="s1", stage="forward"))
    assert all(stray.moved for stray in strays.strays([sent], {}))
    assert len(strays.strays([sent], {})) == 5
    assert strays.strays([sent], {"s1": "succeeded"}) == []


@pytest.mark.parametrize("status", list(Status))
def test_who_was_sent_over_by_a_switch_that_nobody_carries_on_is_shown_too(status: Status) -> None:
    """PostgreSQL has gone back to before the switch began, or has ended it as if it had not moved anybody."""
    sent = document(Binding("west", switch="s1", stage="forward"))
    found = strays.strays([sent], {"s1": status})
    seen_to = status in ("running", "needs_attention", "succeeded", "closed")
    assert len(found) == (0 if seen_to else 5)
    for stray in found:
        assert f"which PostgreSQL does not carry on ({status})" in str(stray.sentence)


@pytest.mark.parametrize("stage", ["return", "by hand", ""])
def test_who_is_served_and_was_not_moved_is_none(stage: str) -> None:
    assert strays.strays([document(Binding("east", switch="s1", stage=stage))], {}) == []


@pytest.mark.stack
@pytest.mark.django_db
class TestGivingBack:
    @pytest.fixture
    def store(self, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> BindingStore:
        """Shop waits for switch s1, which PostgreSQL does not know; its executor had token 7."""
        east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west")))
        Pair.objects.create(name="main", first=east, second=west, default=east)
        for module in (dialects, strays):
            monkeypatch.setattr(module, "zookeeper", lambda: zookeeper)
        made = BindingStore(zookeeper)
        made.take_over("s1", "precheck", 7)
        blocked = Binding("east", BindingState.BLOCK, switch="s1", stage="block")
        made.change([Edit(SHOP, blocked), Edit(WEB, blocked)], Journal("s1", "block", 7))
        return made

    def said(self, *arguments: str) -> list[str]:
        output = StringIO()
        call_command("stray_bindings", *arguments, stdout=output)
        return output.getvalue().splitlines()

    def test_it_lists_them(self, store: BindingStore) -> None:
        assert self.said() == [
            "shop waits on east (block) for switch s1, which PostgreSQL does not run (?).",
            "shop › web-1 waits on east (block) for switch s1, which PostgreSQL does not run (?).",
            "2 stray bindings.",
        ]

    def test_each_switch_is_logged_once(self, store: BindingStore, caplog: pytest.LogCaptureFixture) -> None:
        strays._logged.clear()
        with caplog.at_level(logging.ERROR):
            strays.look()
            strays.look()
        assert [record.getMessage() for record in caplog.records] == [
            "shop waits on east (block) for switch s1, which PostgreSQL does not run (?). (and 1 more) "
            "See hadash-manage stray_bindings."
        ]

    def test_they_go_on_where_they_are_and_no_executor_of_the_switch_is_left(
        self, store: BindingStore
    ) -> None:
        with pytest.raises(CommandError, match="Confirm with the cluster that they wait on: east"):
            self.said("--return", "s1", "--confirm", "west")
        assert "They go on on east" in self.said("--return", "s1", "--confirm", "east")[0]
        bound = [store.document("shop").binding_of(identity) for identity in (SHOP, WEB)]
        assert [(b.cluster, b.state, b.stage) for b in bound if b is not None] == [
            ("east", BindingState.FORWARD, "return")
        ] * 2
        journal = store.journal("s1")
        assert journal is not None
        assert (journal.token, journal.stage) == (8, "return")
        assert Entry.objects.get(verb="give strays back").details["identities"] == ["shop", "shop+web-1"]
        assert self.said() == ["0 stray bindings."]

    def test_not_behind_a_forward(self, store: BindingStore) -> None:
        sent = Binding("west", switch="s1", stage="forward")
        store.change([Edit(SHOP, sent), Edit(WEB, sent)], Journal("s1", "forward", 7))
        with pytest.raises(CommandError, match="has sent clients over already"):
            self.said("--return", "s1", "--confirm", "west")

    def test_not_of_a_switch_that_is_seen_to(
        self, store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(strays, "_statuses", lambda: {"s1": "running"})
        with pytest.raises(CommandError, match="or PostgreSQL runs it"):
            self.said("--return", "s1", "--confirm", "east")
