"""Going back from a switch: what can be gone back from, and with what. In PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.model import Binding, BindingState
from hadash.inventory.models import Pair
from hadash.radius.scope import Scope, ScopeKind
from hadash.refusals import Refused
from hadash.switching import requests
from hadash.switching.approvals import windows
from hadash.switching.machines.switches import WAY, Kind, Status
from hadash.switching.models.switches import Switch
from hadash.switching.recovery import restoring
from hadash.switching.refusals import Busy, EnginesAway

from .test_approval import approve, ask, in_hours, log, pair, people, planned, started
from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

#: The way back of what the fixtures of test_approval plan.
BACK = replace(WHOLE, source="west", target="east")


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> dict[str, Binding]:
    """Where the plan's identities are, by their texts: on the target, as a switch leaves them."""
    found = {str(identity): Binding("west") for identity in WHOLE.identities}
    monkeypatch.setattr(restoring, "bound_to", lambda pair, plan: {i: found[str(i)] for i in plan.identities})
    return found


@pytest.fixture
def succeeded(ask: Any, approve: Any) -> Switch:
    switch: Switch = approve("arne", ask())
    return ended(switch, Status.SUCCEEDED)


def ended(switch: Switch, status: Status) -> Switch:
    switch.status, switch.ended_at = status.value, timezone.now()
    switch.save()
    return switch


@pytest.fixture
def go_back(pair: Pair, people: dict[str, User], bound: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask for a restore of a switch, with its scope and its source unless something else is said."""

    def action(before: Switch | None, **otherwise: Any) -> Switch:
        monkeypatch.setattr(requests, "plan_for", lambda *_: BACK)
        said = SimpleNamespace(**{"scope": WHOLE.scope, "target": pair.first, **otherwise})
        asked = requests.SwitchRequest(
            people["olga"], pair, said.scope, said.target, "It is slow", kind=Kind.RESTORE, restores=before
        )
        return requests.submit(asked, nobody_starts)

    return action


def test_it_goes_the_whole_way_and_others_approve_it() -> None:
    assert Kind.RESTORE.spec.way == WAY
    assert not Kind.RESTORE.spec.at_once


def test_it_waits_for_an_approval_and_both_know_each_other(go_back: Any, succeeded: Switch) -> None:
    restore = go_back(succeeded)
    assert (restore.the_kind, restore.current, restore.restores) == (
        Kind.RESTORE,
        Status.AWAITING_APPROVAL,
        succeeded,
    )
    assert list(succeeded.restored_by.all()) == [restore]
    assert log(restore)[-1] == f"It goes back from switch {succeeded.key}."
    assert Entry.objects.filter(verb="request").latest("number").details["restores"] == succeeded.key


def test_a_blackout_holds_for_it_too(
    go_back: Any, succeeded: Switch, pair: Pair, people: dict[str, User]
) -> None:
    from hadash.switching import policy

    restore = go_back(succeeded)
    policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
    assert "Year-end closing" in str(windows.may_begin(restore))


def test_from_a_closed_one_too(go_back: Any, succeeded: Switch) -> None:
    assert go_back(ended(succeeded, Status.CLOSED)).restores == succeeded


@pytest.mark.parametrize(
    "status", [status for status in Status if status not in (Status.SUCCEEDED, Status.CLOSED)]
)
def test_not_from_what_has_moved_nothing(go_back: Any, succeeded: Switch, status: Status) -> None:
    with pytest.raises(Refused, match="only from one that has succeeded or was closed"):
        go_back(ended(succeeded, status))


def test_not_from_a_rehearsal(go_back: Any, succeeded: Switch) -> None:
    succeeded.kind = Kind.REHEARSAL.value
    succeeded.save()
    with pytest.raises(Refused, match="is a rehearsal: it has moved nothing"):
        go_back(succeeded)


def test_not_from_none(go_back: Any, succeeded: Switch) -> None:
    with pytest.raises(Refused, match="Say which switch it goes back from"):
        go_back(None)


def test_not_twice(go_back: Any, succeeded: Switch) -> None:
    restore = go_back(succeeded)
    with pytest.raises(Busy):
        go_back(succeeded)
    ended(restore, Status.SUCCEEDED)
    with pytest.raises(Refused, match=f"was gone back from already, by switch {restore.key}"):
        go_back(succeeded)


def test_again_when_the_first_attempt_returned(go_back: Any, succeeded: Switch) -> None:
    ended(go_back(succeeded), Status.ROLLED_BACK)
    assert go_back(succeeded).restores == succeeded


def test_not_with_anything_else(go_back: Any, succeeded: Switch, pair: Pair) -> None:
    for otherwise in ({"scope": replace(WHOLE.scope, widen=True)}, {"target": pair.second}):
        with pytest.raises(Refused, match="takes shop back to east, no more and no less"):
            go_back(succeeded, **otherwise)


@pytest.mark.parametrize(
    ("binding", "said"),
    [(Binding("east"), "(east, forward)"), (Binding("west", BindingState.BLOCK), "(west, block)")],
)
def test_not_when_somebody_of_it_is_elsewhere(
    go_back: Any, succeeded: Switch, bound: dict[str, Binding], binding: Binding, said: str
) -> None:
    who = str(WHOLE.identities[1])
    bound[who] = binding
    with pytest.raises(Refused) as refused:
        go_back(succeeded)
    assert str(refused.value).startswith(f"{who} is not on west any more {said}")


def test_not_while_nobody_knows_where_they_are(
    go_back: Any, succeeded: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise StoreUnavailable("ZooKeeper does not answer.")

    monkeypatch.setattr(restoring, "bound_to", away)
    with pytest.raises(EnginesAway, match="ZooKeeper does not answer"):
        go_back(succeeded)


def test_of_a_whole_cluster_only_what_moved_goes_back(succeeded: Switch) -> None:
    """Who was on the target before it is not to follow the others back."""
    succeeded.asked = Scope(ScopeKind.PAIR).to_json()
    assert restoring.scope_back(succeeded) == Scope(ScopeKind.TOPICS, topics=("carts", "orders"))
