"""Changes of pools: asked for, approved where the rules want it, and written once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.conftest import fleet, make_switch, plan  # noqa: F401
from django.core.exceptions import PermissionDenied
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.bindings.errors import StoreUnavailable
from hadash.changes import Status
from hadash.coordinator.store import PoolStore
from hadash.pools import applier, decisions, requests
from hadash.pools.actions import Action, Change
from hadash.pools.models import PoolChange
from hadash.refusals import Refused
from hadash.switching.models.policies import Policy
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import Busy, EnginesAway, PlanChanged

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

ISOLATE = Change("readers", Action.ISOLATE, member="reader-2")


@pytest.fixture
def people(db: None) -> SimpleNamespace:
    roles = {"olga": "operator", "arne": "approver", "vera": "viewer", "otto": "operator"}
    return SimpleNamespace(
        **{name: ensure_user(name, "a-long-password", role) for name, role in roles.items()}
    )


@pytest.fixture
def store(connect_client: Callable[..., KazooClient], monkeypatch: pytest.MonkeyPatch) -> PoolStore:
    """The pool in a real ZooKeeper."""
    client = connect_client()
    for module in (applier, decisions):
        monkeypatch.setattr(module, "zookeeper", lambda: client)
    made = PoolStore(client, "readers")
    made.create()
    made.register("orders", {"bootstrap.servers": "127.0.0.1:1", "group.id": "readers"}, range(4))
    return made


@pytest.fixture
def ask(
    fleet: Any,  # noqa: F811
    people: SimpleNamespace,
    store: PoolStore,
    django_capture_on_commit_callbacks: Any,
) -> Callable[..., PoolChange]:
    def asking(change: Change = ISOLATE, user: str = "olga", **values: Any) -> PoolChange:
        confirmed = values.pop("confirmed", change.confirms)
        asked = requests.ChangeRequest(
            getattr(people, user),
            fleet.pair,
            change,
            values.pop("reason", "It hangs."),
            store.read(),
            {"reader-1", "reader-2"},
            confirmed,
            **values,
        )
        with django_capture_on_commit_callbacks(execute=True):
            held = requests.request(asked, applier.apply)
        held.refresh_from_db()
        return held

    return asking


def test_a_change_is_made_at_once_if_nobody_has_to_approve_it(
    ask: Callable[..., PoolChange], store: PoolStore
) -> None:
    held = ask()
    assert held.current is Status.APPLIED and held.decided_by is None and held.ended_at is not None
    assert store.read().isolated["reader-2"].reason == "It hangs."
    verbs = [entry.verb for entry in Entry.objects.order_by("pk")]
    assert verbs[-2:] == ["request", "pool changed"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"reason": " "}, "Say why: others read it later."),
        ({"confirmed": "reader-1"}, "Type reader-2 to confirm it."),
        (
            {"change": Change("readers", Action.ISOLATE, member="reader-9")},
            "reader-9 is no member of the pool readers.",
        ),
        ({"change": Change("readers", Action.START)}, "The members of the pool are not stopped."),
    ],
)
def test_what_is_refused_changes_nothing(
    ask: Callable[..., PoolChange], store: PoolStore, values: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        ask(**values)
    assert not PoolChange.objects.exists() and store.read().isolated == {}


def test_only_operators_change_pools(ask: Callable[..., PoolChange]) -> None:
    for user in ("vera", "arne"):
        with pytest.raises(PermissionDenied):
            ask(user=user)


def test_where_the_rules_want_it_somebody_else_has_to_approve(
    ask: Callable[..., PoolChange],
    store: PoolStore,
    people: SimpleNamespace,
    fleet: Any,  # noqa: F811
    django_capture_on_commit_callbacks: Any,
) -> None:
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    held = ask()
    assert held.current is Status.AWAITING_APPROVAL and store.read().isolated == {}
    with pytest.raises(Busy, match="olga has asked for the same already"):
        ask(user="otto")
    with pytest.raises(PermissionDenied):
        decisions.approve(people.olga, held, held.digest, applier.apply)
    with django_capture_on_commit_callbacks(execute=True):
        decisions.approve(people.arne, held, held.digest, applier.apply)
    held.refresh_from_db()
    assert held.current is Status.APPLIED and held.decided_by == people.arne
    assert store.read().isolated["reader-2"].by == "olga"


def test_what_has_become_senseless_is_not_approved(
    ask: Callable[..., PoolChange],
    store: PoolStore,
    people: SimpleNamespace,
    fleet: Any,  # noqa: F811
) -> None:
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    held = ask()
    store.isolate("reader-2", "zookeeper's shell", "by hand")
    with pytest.raises(PlanChanged, match="reader-2 is isolated already"):
        decisions.approve(people.arne, held, held.digest, applier.apply)


def test_declined_and_cancelled(
    ask: Callable[..., PoolChange],
    store: PoolStore,
    people: SimpleNamespace,
    fleet: Any,  # noqa: F811
) -> None:
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    assert decisions.decline(people.arne, ask(), "It answers.").current is Status.DECLINED
    held = decisions.cancel(people.olga, ask(), "It is back.")
    assert held.current is Status.CANCELLED and "It is back." in str(held.outcome)
    assert store.read().isolated == {}


def test_while_zookeeper_is_away_it_is_neither_lost_nor_approved(
    ask: Callable[..., PoolChange],
    store: PoolStore,
    people: SimpleNamespace,
    fleet: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: Any) -> Any:
        raise StoreUnavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(applier, "write", away)
        held = ask()
    assert held.current is Status.APPROVED and "It is tried again." in str(held.outcome)
    assert applier.apply_waiting() == 0  # (not in its first seconds)
    PoolChange.objects.update(requested_at=timezone.now() - timedelta(minutes=1))
    assert applier.apply_waiting() == 1
    held.refresh_from_db()
    assert held.current is Status.APPLIED and "reader-2" in store.read().isolated

    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    waiting = ask(Change("readers", Action.STOP))
    with monkeypatch.context() as patched:
        patched.setattr(decisions, "view_of", away)
        with pytest.raises(EnginesAway):
            decisions.approve(people.arne, waiting, waiting.digest, applier.apply)
    waiting.refresh_from_db()
    assert waiting.current is Status.AWAITING_APPROVAL


def test_what_cannot_be_written_fails_and_says_why(ask: Callable[..., PoolChange]) -> None:
    consumer = {"bootstrap.servers": "k:9092", "group.id": "readers", "client.rack": "r" * 600_000}
    held = ask(Change("readers", Action.ADD_TOPIC, topic="carts", consumer=consumer, partitions=3))
    assert held.current is Status.FAILED and "ZooKeeper takes" in str(held.outcome)
    assert Entry.objects.latest("pk").verb == "pool not changed"


def test_a_change_is_written_once(ask: Callable[..., PoolChange], store: PoolStore) -> None:
    held = ask()
    store.take_back("reader-2")
    applier.apply(held)
    assert store.read().isolated["reader-2"].is_ending


class TestATopicThatASwitchMoves:
    """What a pool began to read on the source meanwhile would stay there."""

    @pytest.fixture
    def adding(self, fleet: Any) -> Change:  # noqa: F811
        consumer = {"bootstrap.servers": fleet.east.bootstrap_servers, "group.id": "readers"}
        return Change("readers", Action.ADD_TOPIC, topic="carts", consumer=consumer, partitions=3)

    def test_it_is_not_added_until_the_switch_has_ended(
        self,
        ask: Callable[..., PoolChange],
        adding: Change,
        make_switch: Callable[..., Switch],  # noqa: F811
        store: PoolStore,
    ) -> None:
        switch = make_switch("running")
        with pytest.raises(Busy, match=f"Switch {switch.key} of shop .* holds part of this radius"):
            ask(adding)
        assert "carts" not in store.read().topics
        Switch.objects.update(status="succeeded")
        assert ask(adding).current is Status.APPLIED
        assert "carts" in store.read().topics

    def test_an_approved_one_waits_for_the_end(
        self,
        ask: Callable[..., PoolChange],
        adding: Change,
        make_switch: Callable[..., Switch],  # noqa: F811
        store: PoolStore,
        people: SimpleNamespace,
        fleet: Any,  # noqa: F811
        django_capture_on_commit_callbacks: Any,
    ) -> None:
        Policy.objects.create(pair=fleet.pair, pool_approvals=1)
        held = ask(adding)
        make_switch("running")
        with django_capture_on_commit_callbacks(execute=True):
            decisions.approve(people.arne, held, held.digest, applier.apply)
        held.refresh_from_db()
        assert held.current is Status.APPROVED and "holds part of this radius" in str(held.outcome)
        assert "carts" not in store.read().topics
        Switch.objects.update(status="succeeded")
        applier.apply(held)
        assert "carts" in store.read().topics


def test_the_rules_of_the_pair_of_a_new_topic_count(
    ask: Callable[..., PoolChange],
    store: PoolStore,
    people: SimpleNamespace,
    fleet: Any,  # noqa: F811
    django_capture_on_commit_callbacks: Any,
) -> None:
    """The pool itself reads nothing of a pair yet."""
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    consumer = {"bootstrap.servers": fleet.east.bootstrap_servers, "group.id": "readers"}
    adding = Change("readers", Action.ADD_TOPIC, topic="carts", consumer=consumer, partitions=3)
    asked = requests.ChangeRequest(people.olga, None, adding, "Prices.", store.read())
    held = requests.request(asked, applier.apply)
    assert held.current is Status.AWAITING_APPROVAL and held.pair == fleet.pair


def test_what_could_not_be_written_in_time_is_not_written_later(
    ask: Callable[..., PoolChange], store: PoolStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise StoreUnavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(applier, "write", away)
        held = ask()
    PoolChange.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    applier.apply(held)
    held.refresh_from_db()
    assert (
        held.current is Status.FAILED and str(held.outcome) == "It could not be written in time. Ask again."
    )
    assert store.read().isolated == {}


def test_nobody_who_decides_in_time(
    ask: Callable[..., PoolChange],
    fleet: Any,  # noqa: F811
) -> None:
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    held = ask()
    PoolChange.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert decisions.POOL_CHANGES.expire_undecided() == 1
    held.refresh_from_db()
    assert held.current is Status.EXPIRED
