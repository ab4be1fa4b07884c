"""A change of bindings by hand, from the request to ZooKeeper: reviewed as a switch is, written once, moving nobody."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from bindings.conftest import LoseReply, lose_reply
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry
from hadash.bindings.dialect import Waiting
from hadash.bindings.errors import StoreUnavailable, UnknownOutcome
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.native import NativeDialect
from hadash.bindings.store import Edit
from hadash.changes import MOVES, Event, Status
from hadash.identity.identity import Identity
from hadash.inventory.models import Access, AppID, Cluster, InstanceID, Pair
from hadash.machines import IllegalMove
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import checking, policy
from hadash.switching import requests as switches
from hadash.switching.binding_changes import applier, decisions, requests
from hadash.switching.binding_rule import Wanted
from hadash.switching.machines.binding_changes import MACHINE
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import Busy, EnginesAway, PlanChanged

from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

SHOP, WEB = Identity("shop"), Identity("shop", "web-1")
ORDERS = Identity("shop", topics=("orders",))

__all__ = ["lose_reply"]


@pytest.fixture
def dialect(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> NativeDialect:
    """The bindings of the pair, in a real ZooKeeper."""
    found = NativeDialect(zookeeper)
    for module in (requests, applier):
        monkeypatch.setattr(module, "dialect_of", lambda pair: found)
    return found


@pytest.fixture
def shop(db: None, dialect: NativeDialect) -> AppID:
    """An AppID on its pair's default, east, with one registered InstanceID and one client that nobody has
    registered.
    """
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    made = AppID.objects.create(name="shop", pair=pair)
    InstanceID.objects.create(appid=made, name="web-1")
    now = timezone.now()
    Access.objects.create(
        pair=pair,
        appid="shop",
        client_id="api-1",
        kind="produce",
        resource="orders",
        cluster="east",
        first_seen=now,
        last_seen=now,
    )
    return made


@pytest.fixture
def people(db: None) -> dict[str, User]:
    ensure_roles()
    roles = {
        "olga": "operator",
        "arne": "approver",
        "bea": "approver",
        "ada": "administrator",
        "vera": "viewer",
    }
    people = {name: ensure_user(name, "secret-123", role) for name, role in roles.items()}
    both = ensure_user("otto", "secret-123", "operator")
    both.groups.add(people["arne"].groups.get())
    return {**people, "otto": both}


@pytest.fixture
def ask(shop: AppID, people: dict[str, User]) -> Callable[..., BindingChange]:
    def make(
        *bind: Identity, unbind: tuple[Identity, ...] = (), user: str = "olga", **values: Any
    ) -> BindingChange:
        digest = values.pop("digest", "")
        asked = requests.ChangeRequest(people[user], shop, Wanted(bind, unbind), "Known clients", **values)
        return requests.request(asked, digest)

    return make


@pytest.fixture
def approve(people: dict[str, User], django_capture_on_commit_callbacks: Any) -> Callable[..., BindingChange]:
    """With the last approval a worker applies it at once."""

    def action(change: BindingChange, user: str = "arne", **values: Any) -> BindingChange:
        with django_capture_on_commit_callbacks(execute=True):
            decisions.approve(people[user], change, change.digest, lambda c: applier.apply(c.pk), **values)
        change.refresh_from_db()
        return change

    return action


def outcome(change: BindingChange) -> list[str]:
    change.refresh_from_db()
    return [str(sentence) for sentence in change.outcome_sentences]


def make_open_switch(pair: Pair, user: User) -> Switch:
    return Switch.objects.create(
        pair=pair,
        appid="shop",
        source=pair.first,
        target=pair.second,
        asked=WHOLE.scope.to_json(),
        plan=WHOLE.to_json(),
        plan_digest=WHOLE.digest,
        reason="Upgrade",
        requested_by=user,
        expires_at=timezone.now() + timedelta(hours=1),
    )


class TestFromRequestToZooKeeper:
    def test_bound_where_it_is(self, ask: Any, approve: Any, dialect: NativeDialect) -> None:
        change = ask(WEB)
        assert change.edits == {"shop+web-1": "east"}
        assert dialect.document("shop").instances == {}, "nothing before it is approved"
        approve(change)
        bound = dialect.document("shop").instances["web-1"]
        assert (bound.cluster, bound.state, bound.switch) == ("east", BindingState.FORWARD, change.key)
        assert (change.current, change.epoch) == (Status.APPLIED, bound.epoch)
        assert bound.since == 0, "its producers have not moved"
        assert outcome(change) == [f"In effect since epoch {change.epoch}. Nobody has moved."]

    def test_and_unbound_again(self, ask: Any, approve: Any, dialect: NativeDialect) -> None:
        approve(ask(WEB, SHOP, ORDERS))
        change = approve(ask(unbind=(WEB, ORDERS)))
        document = dialect.document("shop")
        assert (document.instances, document.topics, document.unbound) == ({}, {}, 0)
        assert document.default is not None
        assert set(change.before) == {"shop+web-1", "shop#orders"}

    def test_an_instance_id_registered_with_it(self, shop: AppID, ask: Any) -> None:
        api = Identity("shop", "api-1")
        with pytest.raises(Refused, match="InstanceID api-1 is not registered under shop"):
            ask(api)
        change = ask(api, register=True)
        assert change.registered == ["api-1"]
        assert shop.instances.filter(name="api-1").exists()
        assert "register" in Entry.objects.values_list("verb", flat=True)

    def test_every_step_is_in_the_audit_log(self, ask: Any, approve: Any) -> None:
        change = approve(ask(WEB))
        entries = list(Entry.objects.filter(subject=change.subject).order_by("number"))
        assert [(e.actor_name, e.verb) for e in entries] == [
            ("olga", "request"),
            ("arne", "approve"),
            ("", "bindings changed"),
        ]
        effect = entries[-1].details
        assert effect["before"] == {"shop+web-1": None}
        assert effect["after"]["shop+web-1"]["cluster"] == "east"
        assert effect["epoch"] == change.epoch

    def test_who_is_late_is_named_and_it_stays(
        self, ask: Any, approve: Any, dialect: NativeDialect, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.BINDING_APPLY_SECONDS = 0
        monkeypatch.setattr(dialect, "waiting_for", lambda epoch: Waiting(("gateway-1",), 2))
        change = approve(ask(WEB))
        assert change.current is Status.APPLIED
        assert outcome(change) == [
            f"Written with epoch {change.epoch}. After 0 s it is not in effect yet at gateway-1: look at the Gateways."
        ]


class TestRefused:
    def test_whose_clients_are_in_another_pair_too(
        self, ask: Any, shop: AppID, dialect: NativeDialect
    ) -> None:
        """The document is one for both. To unbind is the way out."""
        north, south = (
            Cluster.objects.create(name=name, number=number)
            for number, name in enumerate(("north", "south"), 3)
        )
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        there = AppID.objects.create(name="shop", pair=other)
        InstanceID.objects.create(appid=there, name="elsewhere")
        with pytest.raises(Refused, match=r"shop \(also in pair other\)"):
            ask(WEB)
        dialect.change([Edit(WEB, Binding("east"))])
        assert ask(unbind=(WEB,)).status == Status.AWAITING_APPROVAL

    def test_what_would_move_somebody(self, ask: Any, dialect: NativeDialect) -> None:
        dialect.change([Edit(SHOP, Binding("west"))])
        with pytest.raises(requests.WouldMove) as caught:
            ask(unbind=(SHOP,))
        assert [str(reason) for reason in caught.value.reasons] == [
            "shop › api-1, with Topic orders, would move from west to east.",
            "A change by hand moves nobody: request a switch for it.",
        ]
        assert [(m.client_id, m.before, m.after) for m in caught.value.moves] == [("api-1", "west", "east")]

    def test_what_the_engine_does_not_know(
        self, ask: Any, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[list[Identity], str]] = []

        def blockers(identities: list[Identity], cluster: str) -> list[Sentence]:
            asked.append((list(identities), cluster))
            return [say("It knows no Topics.")]

        monkeypatch.setattr(dialect, "blockers", blockers)
        with pytest.raises(Refused, match="It knows no Topics"):
            ask(ORDERS)
        assert asked == [([ORDERS], "east")]

    def test_while_a_switch_is_open(self, shop: AppID, ask: Any, people: dict[str, User]) -> None:
        switch = make_open_switch(shop.pair, people["olga"])
        with pytest.raises(Busy, match=f"Switch {switch.key} of shop"):
            ask(WEB)

    def test_while_a_switch_is_at_work(self, ask: Any, dialect: NativeDialect) -> None:
        dialect.take_over("s1", "quiesce", 1)
        dialect.change(
            [Edit(SHOP, Binding("east", BindingState.QUIESCE, switch="s1"))], Journal("s1", "quiesce", 1)
        )
        with pytest.raises(Busy, match="Switch s1 is moving clients of shop now"):
            ask(WEB)

    def test_what_is_asked_for_already(self, ask: Any) -> None:
        change = ask(WEB)
        with pytest.raises(Busy, match=rf"Change {change.key} of the bindings of shop \(awaiting approval\)"):
            ask(WEB)
        assert ask(ORDERS).current is Status.AWAITING_APPROVAL, "something else"

    def test_without_a_reason_or_the_right(self, shop: AppID, ask: Any, people: dict[str, User]) -> None:
        with pytest.raises(PermissionDenied):
            ask(WEB, user="vera")
        with pytest.raises(Refused, match="Say why"):
            requests.request(requests.ChangeRequest(people["olga"], shop, Wanted((WEB,)), " "))

    def test_another_one_than_was_shown(self, ask: Any) -> None:
        with pytest.raises(PlanChanged):
            ask(WEB, digest="another")

    def test_when_zookeeper_does_not_answer(
        self, ask: Any, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(appid: str) -> None:
            raise StoreUnavailable("ZooKeeper does not answer.")

        monkeypatch.setattr(dialect, "document", away)
        with pytest.raises(EnginesAway):
            ask(WEB)

    def test_a_switch_while_it_is_written(
        self, shop: AppID, ask: Any, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        change = ask(WEB)
        monkeypatch.setattr(switches, "plan_for", lambda *_: WHOLE)
        monkeypatch.setattr(checking, "check_now", lambda plan: None)
        wanted = switches.SwitchRequest(people["olga"], shop.pair, WHOLE.scope, shop.pair.second, "Upgrade")
        decisions.approve(people["arne"], change, change.digest, lambda c: None)
        with pytest.raises(Busy, match=f"Change {change.key} of the bindings of shop is being written"):
            switches.submit(wanted, lambda switch: None)
        applier.apply(change.pk)
        assert switches.submit(wanted, lambda switch: None).open


class TestReview:
    def test_as_many_as_the_rules_of_the_pair_want(
        self, shop: AppID, people: dict[str, User], ask: Any, approve: Any
    ) -> None:
        policy.set_policy(people["ada"], shop.pair, {"approvals": 2})
        change = ask(WEB)
        assert approve(change).current is Status.AWAITING_APPROVAL
        with pytest.raises(Refused, match="You have approved it already"):
            approve(change)
        with pytest.raises(PlanChanged, match="The approvals are not those that you have seen"):
            approve(change, "bea", seen=0)
        assert approve(change, "bea", seen=1).current is Status.APPLIED

    def test_nobody_decides_on_his_own(self, ask: Any, approve: Any, people: dict[str, User]) -> None:
        change = ask(WEB, user="otto")
        with pytest.raises(PermissionDenied, match="somebody else has to decide on it"):
            approve(change, "otto")
        with pytest.raises(PermissionDenied):
            decisions.decline(people["otto"], change, "No")
        with (
            pytest.raises(IntegrityError, match="bindingchange_decided_by_somebody_else"),
            transaction.atomic(),
        ):
            BindingChange.objects.filter(pk=change.pk).update(decided_by=people["otto"])

    def test_two_accounts_in_one_browser_are_not_four_eyes(self, ask: Any, approve: Any) -> None:
        change = ask(WEB, browser="b1")
        with pytest.raises(Refused, match="This browser was used to request or approve it already"):
            approve(change, browser="b1")
        assert approve(change, browser="b2").current is Status.APPLIED

    def test_who_may_not_decide(self, ask: Any, approve: Any) -> None:
        with pytest.raises(PermissionDenied):
            approve(ask(WEB), "vera")

    def test_what_has_changed_since_the_request(self, ask: Any, approve: Any, dialect: NativeDialect) -> None:
        change = ask(WEB)
        dialect.change([Edit(SHOP, Binding("west"))])
        with pytest.raises(PlanChanged, match="has changed since the request"):
            approve(change)
        assert change.current is Status.AWAITING_APPROVAL

    def test_a_switch_that_came_first(self, shop: AppID, ask: Any, approve: Any, people: Any) -> None:
        change = ask(WEB)
        make_open_switch(shop.pair, people["olga"])
        with pytest.raises(Busy):
            approve(change)

    def test_declined_with_a_reason(self, ask: Any, approve: Any, people: dict[str, User]) -> None:
        change = ask(WEB)
        with pytest.raises(Refused, match="Say why you decline"):
            decisions.decline(people["arne"], change, "")
        decisions.decline(people["arne"], change, "Not now")
        change.refresh_from_db()
        assert (change.current, change.decision_note) == (Status.DECLINED, "Not now")
        with pytest.raises(Refused, match="This change is declined"):
            approve(change)

    def test_cancelled(self, ask: Any, people: dict[str, User]) -> None:
        change = decisions.cancel(people["olga"], ask(WEB), "Not today.")
        assert (change.current, outcome(change)) == (
            Status.CANCELLED,
            ["olga cancelled it: Not today. Nothing was changed."],
        )

    def test_what_nobody_decides_on_expires(self, ask: Any, approve: Any) -> None:
        change = ask(WEB)
        BindingChange.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        with pytest.raises(Refused, match="has expired"):
            approve(change)
        assert decisions.BINDING_CHANGES.expire_undecided() == 1
        change.refresh_from_db()
        assert change.current is Status.EXPIRED


class TestWhatGoesWrong:
    @pytest.fixture
    def approved(self, ask: Any, people: dict[str, User]) -> BindingChange:
        """Approved, and not handed to anybody."""
        change: BindingChange = ask(WEB)
        return decisions.approve(people["arne"], change, change.digest, lambda c: None)

    def test_what_was_true_is_looked_at_again_before_it_is_written(
        self, approved: BindingChange, dialect: NativeDialect
    ) -> None:
        dialect.change([Edit(SHOP, Binding("west"))])
        applier.apply(approved.pk)
        assert outcome(approved) == [
            "What is bound or used has changed since the approval. Nothing was changed."
        ]
        assert approved.current is Status.FAILED
        assert dialect.document("shop").instances == {}

    def test_a_lost_answer_is_read_back(
        self, approved: BindingChange, dialect: NativeDialect, lose_reply: LoseReply
    ) -> None:
        lose_reply(dialect.client, happened=True)
        applier.apply(approved.pk)
        approved.refresh_from_db()
        assert approved.current is Status.APPLIED

    def test_a_worker_that_dies_after_it_has_written(
        self, approved: BindingChange, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its successor finds in the journal that it was written, and does not ask again whether it may be."""

        def die(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(applier, "_applied", die)
            with pytest.raises(KeyboardInterrupt):
                applier.apply(approved.pk)
        assert applier.waiting() == [approved.pk]
        applier.apply(approved.pk)
        approved.refresh_from_db()
        assert (approved.current, approved.before) == (Status.APPLIED, {"shop+web-1": None})
        assert dialect.document("shop").instances["web-1"].since == 0
        assert applier.waiting() == []
        applier.apply(approved.pk)
        assert Entry.objects.filter(verb="bindings changed").count() == 1

    def test_what_is_bound_after_it_was_written_is_not_overwritten(
        self, approved: BindingChange, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The answer was lost, and could not be read back; by the time that it is tried again a later change
        has been made.
        """
        real = dialect.change

        def unknown(*values: Any, **options: Any) -> int:
            real(*values, **options)
            raise UnknownOutcome("It may have happened.")

        with monkeypatch.context() as patch:
            patch.setattr(dialect, "change", unknown)
            applier.apply(approved.pk)
        approved.refresh_from_db()
        assert (approved.current, dialect.epoch()) == (Status.APPROVED, 1)
        later = Binding("west", switch="later", stage="forward")
        dialect.change([Edit(WEB, later)])
        applier.apply(approved.pk)
        approved.refresh_from_db()
        assert (approved.current, approved.epoch) == (Status.APPLIED, 1)
        held = dialect.document("shop").instances["web-1"]
        assert (held.cluster, held.switch, dialect.epoch()) == ("west", "later", 2)

    def test_zookeeper_away_is_tried_again(
        self, approved: BindingChange, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*_: Any) -> None:
            raise StoreUnavailable("ZooKeeper does not answer.")

        with monkeypatch.context() as patch:
            patch.setattr(dialect, "take_over", away)
            applier.apply(approved.pk)
        assert outcome(approved) == ["ZooKeeper does not answer. It is tried again."]
        assert approved.current is Status.APPROVED
        applier.apply(approved.pk)
        approved.refresh_from_db()
        assert approved.current is Status.APPLIED

    def test_but_not_for_ever(self, approved: BindingChange, dialect: NativeDialect) -> None:
        BindingChange.objects.update(decided_at=timezone.now() - timedelta(hours=1))
        applier.apply(approved.pk)
        assert outcome(approved) == [
            "It could not be written in time, and what people agreed to may be true no more."
        ]
        assert dialect.document("shop").instances == {}

    def test_a_replaced_worker_writes_nothing(
        self, approved: BindingChange, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = dialect.document

        def replaced(appid: str) -> Any:
            dialect.take_over(approved.key, "by hand", 99)
            return real(appid)

        monkeypatch.setattr(dialect, "document", replaced)
        applier.apply(approved.pk)
        monkeypatch.undo()
        assert dialect.document("shop").instances == {}

    def test_what_somebody_binds_in_the_last_moment_is_not_overwritten(
        self, approved: BindingChange, dialect: NativeDialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = dialect.document

        def changed(appid: str) -> Any:
            found = real(appid)
            monkeypatch.setattr(dialect, "document", real)
            dialect.change([Edit(SHOP, Binding("west"))])
            return found

        monkeypatch.setattr(dialect, "document", changed)
        applier.apply(approved.pk)
        assert "have changed since they were looked at" in outcome(approved)[0]
        applier.apply(approved.pk)
        approved.refresh_from_db()
        assert approved.current is Status.FAILED


class TestTheTable:
    def test_an_illegal_move_is_refused(self) -> None:
        for status in Status:
            for event in Event:
                if event in MOVES[status]:
                    assert MACHINE.after(status, event) is MOVES[status][event]
                else:
                    with pytest.raises(IllegalMove):
                        MACHINE.after(status, event)


def test_the_tasks_find_what_waits(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    from tasks import binding

    handed: list[int] = []
    monkeypatch.setattr(applier, "waiting", lambda: [7, 9])
    monkeypatch.setattr(binding, "hand_over", lambda work, pk: handed.append(pk))
    binding.pick_up_changes()
    assert handed == [7, 9]
