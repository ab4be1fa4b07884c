"""A target that is lost before its mirror was turned round: a person gives it up, and a forced switch can
take the clients back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.services import offset_syncs_of
from hadash.radius.fleet import MirrorOf
from hadash.refusals import Refused
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.models.switches import Switch
from hadash.switching.planning.radius import _mirrors
from hadash.switching.recovery import lost_target

from .test_approval import ask, log, pair, people, planned
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

ORDERS = Partition("orders", 0)


@pytest.fixture
def mirror(pair: Pair) -> Mirror:
    """Not turned round yet; the executor has paused it."""
    return Mirror.objects.create(
        pair=pair,
        name="shop",
        topics=["carts", "orders"],
        source=pair.first,
        turning=True,
        known_ends=[["orders", 0, 9]],
    )


@pytest.fixture
def stuck(ask: Any, mirror: Mirror) -> Switch:
    """Its clients are on west."""
    switch: Switch = ask()
    switch.status, switch.stage = Status.NEEDS_ATTENTION.value, Stage.REVERSE.value
    switch.facts = {"drained": [["orders", 0, 100, 60]]}
    switch.save()
    return switch


@pytest.fixture(autouse=True)
def lost(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Whether west is lost."""
    said = {"west": True}
    monkeypatch.setattr(lost_target, "cluster_client", lambda cluster: cluster.name)
    monkeypatch.setattr(lost_target, "is_lost", lambda client, plan: said[client])
    return said


@pytest.fixture
def abandon(people: dict[str, User], stuck: Switch) -> Callable[..., Switch]:
    def action(user: str = "rita", confirmed: str = "west", reason: str = "The site burns") -> Switch:
        return lost_target.abandon(people[user], stuck, confirmed, reason)

    return action


def test_the_mirror_is_turned_on_record_and_copies_nothing(abandon: Any, mirror: Mirror, pair: Pair) -> None:
    ended = abandon()
    mirror.refresh_from_db()
    assert ended.current is Status.CLOSED
    assert (mirror.source, mirror.turning, mirror.known_ends) == (pair.second, True, [])
    assert offset_syncs_of(mirror) == {ORDERS: OffsetSync(source=60, target=100)}
    assert log(ended)[-1] == "rita abandoned west: The site burns. Ask for a forced switch from west to east."
    assert Entry.objects.filter(verb="abandon").count() == 1


def test_then_a_forced_switch_can_go_back(abandon: Any, mirror: Mirror) -> None:
    """It goes from where the mirror copies from."""
    back = replace(WHOLE, source="west", target="east")

    def against() -> list[str]:
        mirror.refresh_from_db()
        of = MirrorOf(mirror.name, mirror.source.name, frozenset(mirror.topics))
        return [str(reason) for reason in _mirrors(set(back.topics), back.source, [of])[1]]

    assert any("copies from east" in reason for reason in against())
    abandon()
    assert against() == []


@pytest.mark.parametrize("user", ["olga", "arne", "ada", "vera"])
def test_only_those_who_may_force(abandon: Any, user: str) -> None:
    with pytest.raises(PermissionDenied):
        abandon(user)


@pytest.mark.parametrize("typed", ["", "east", "yes"])
def test_the_target_is_typed(abandon: Any, typed: str) -> None:
    with pytest.raises(Refused, match="Type west to confirm that it is lost"):
        abandon(confirmed=typed)


def test_there_is_a_reason(abandon: Any) -> None:
    with pytest.raises(Refused, match="Say why"):
        abandon(reason="  ")


def test_not_while_the_target_answers(abandon: Any, lost: dict[str, bool], mirror: Mirror) -> None:
    lost["west"] = False
    with pytest.raises(Refused, match="west answers"):
        abandon()
    mirror.refresh_from_db()
    assert mirror.source.name == "east"


@pytest.mark.parametrize("stage", [Stage.FORWARD, Stage.VERIFY, Stage.RETURN])
def test_only_in_that_stage(abandon: Any, stuck: Switch, mirror: Mirror, stage: Stage) -> None:
    Switch.objects.update(stage=stage.value)
    with pytest.raises(Refused, match="Only a switch whose mirror could not be turned"):
        abandon()
    assert Switch.objects.get().current is Status.NEEDS_ATTENTION


def test_not_while_it_runs(abandon: Any) -> None:
    Switch.objects.update(status=Status.RUNNING.value)
    with pytest.raises(Refused, match="cannot be changed that way"):
        abandon()


def test_a_mirror_that_was_turned_already_stays_as_it_is(abandon: Any, mirror: Mirror, pair: Pair) -> None:
    """Of several, some were turned before the target was lost."""
    Mirror.objects.update(source=pair.second, turning=False)
    abandon()
    mirror.refresh_from_db()
    assert (mirror.source, mirror.turning) == (pair.second, False)
