"""Quiesce: the members of the groups commit and park their rejoin, together."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.bindings.model import BindingState
from hadash.switching.machines.switches import WAY, Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command
from hadash.switching.stages.run import Limits

from ..parts import WorldError
from ..walking import QUICK, Fault, run_stage, steps, world_before
from ..world import World
from .common import (
    WITHOUT_GROUPS,
    failure,
    writes,
    written,
)


def test_quiesce() -> None:
    world = world_before(Stage.QUIESCE)
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )
    assert written(world) == [("east", BindingState.HOLD_HEARTBEATS), ("east", BindingState.QUIESCE)]
    assert {member.state for member in world.group.members} == {"parked"}
    assert world.writable("west")


@pytest.mark.parametrize("cluster", ["east", "west"])
def test_quiesce_opens_connections_before_anybody_waits_for_them(cluster: str) -> None:
    """A cluster that cannot be read is found out before the first member stops."""
    world = world_before(Stage.QUIESCE)
    world.down.add(cluster)
    with pytest.raises(WorldError):
        run_stage(world, Stage.QUIESCE)
    assert written(world) == []
    assert not world.writable("west")


def test_reads_and_writes_go_on_while_heartbeats_are_held() -> None:
    world = world_before(Stage.QUIESCE)
    before = len(world.acknowledged), len(world.group.consumed)
    run_stage(world, Stage.QUIESCE)
    assert (len(world.acknowledged), len(world.group.consumed)) > before


def test_a_broker_that_has_not_heard_who_may_write_is_waited_for_before_anybody_notices() -> None:
    """One that had lost ZooKeeper for a moment refused a producer after forward; librdkafka does not try that again."""
    world = world_before(Stage.QUIESCE)
    world.late_brokers = [[2], [2], []]
    run_stage(world, Stage.QUIESCE)
    assert world.late_brokers == []
    assert written(world)[-1] == ("east", BindingState.QUIESCE)


def test_one_that_never_hears_it_ends_the_switch_with_nothing_written() -> None:
    world = world_before(Stage.QUIESCE)
    world.late_brokers = [[2]] * 10_000
    assert failure(world, Stage.QUIESCE, limits=Limits()) == (
        "Broker 2 of west has not heard within 45.0 s who may write there. "
        "Is its connection to ZooKeeper, or to its controller, whole?"
    )
    assert written(world) == []


def test_nobody_is_held_before_clients_of_a_gateway_that_has_gone_could_come_back() -> None:
    """They send again what was not answered: to the source, which may have it already, and not to the target."""
    world = world_before(Stage.QUIESCE)
    until = world.expected_back["gw-3"] = world.now + 12
    for command in steps(world, Stage.QUIESCE, Limits()):
        assert world.now >= until or not writes(command)
    assert "Waiting 12 s for clients of Gateway gw-3, which has gone, to come back." in world.said
    assert written(world)[-1] == ("east", BindingState.QUIESCE)


def test_who_waits_for_them_for_too_long_asks_again() -> None:
    world = world_before(Stage.QUIESCE)
    world.expected_back = {"gw-3": world.now + 300}
    assert failure(world, Stage.QUIESCE, limits=Limits(quiesce=45)) == (
        "For 45 s Gateways have gone (gw-3) whose clients may send again what was not answered. "
        "Ask for the switch again in 256 s."
    )
    assert written(world) == []


def test_a_gateway_that_goes_before_the_block_is_in_effect_ends_the_switch() -> None:
    world = world_before(Stage.BLOCK)
    world.expected_back["gw-3"] = world.now + 30
    assert failure(world, Stage.BLOCK) == (
        "Gateway gw-3 has gone since the switch began, and its clients may send again what it had not answered. "
        "Ask for the switch again in 30 s."
    )


def test_quiesce_without_members() -> None:
    world = world_before(Stage.QUIESCE, World.without_members)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."


def test_quiesce_without_groups() -> None:
    world = world_before(Stage.QUIESCE, World.without_members, plan=WITHOUT_GROUPS)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."


def test_a_member_that_does_not_quiesce() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[1].deaf = True
    assert failure(world, Stage.QUIESCE, limits=Limits()) == (
        "Member bill-2-m of group billing did not commit and rejoin within 45.0 s. Does it use the Gateway?"
    )


def test_a_member_that_hears_late_is_waited_for() -> None:
    world = world_before(Stage.QUIESCE)
    world.clients["bill-2"].reacts_after = 1.5  # longer than heartbeats are held
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )


def test_a_member_that_is_rejoining_already_has_quiesced() -> None:
    world = world_before(Stage.QUIESCE)
    for member in world.group.members:
        world.group.commit(member)
    # An earlier executor has noted what was to be noted, and asked them to rejoin.
    world.reading = {}
    world.carry_out(do.WriteBindings("east", BindingState.HOLD_HEARTBEATS))
    world.group.members[0].state = "joining"
    world.group.members[1].deaf, world.group.members[1].state = True, "active"
    assert failure(world, Stage.QUIESCE).startswith("Member bill-2-m of group billing did not")


def test_a_member_that_leaves_is_not_waited_for() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[1].deaf = True
    sentence = run_stage(world, Stage.QUIESCE, faults=[Fault(Stage.QUIESCE, 14, "a client ends")])
    assert sentence == "Every group member has committed and waits to rejoin (1 in all)."


@pytest.mark.parametrize(
    ("state", "epoch", "at"),
    [(BindingState.HOLD_HEARTBEATS, 8, do.WriteBindings), (BindingState.QUIESCE, 9, do.ReadQuiesced)],
)
def test_a_gateway_that_does_not_quiesce(state: BindingState, epoch: int, at: type[Command[Any]]) -> None:
    world = world_before(Stage.QUIESCE)
    found = failure(world, Stage.QUIESCE, Fault(Stage.QUIESCE, at, "gw-2 sticks"))
    assert found == f"gw-2 did not put epoch {epoch} into effect within 1 s."
    assert written(world)[-1] == ("east", state)


def test_members_are_told_to_rejoin_together() -> None:
    """One that hears earlier would wait for the others, and its partitions with it."""
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.QUIESCE):
            assert [member.state for member in world.group.members] == ["held", "held"]


def test_a_member_whose_heartbeat_cannot_be_held_is_told_all_the_same() -> None:
    world = world_before(Stage.QUIESCE)
    world.clients["bill-2"].reacts_after = 1.0
    began = world.now
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.QUIESCE):
            assert [member.state for member in world.group.members] == ["held", "active"]
            assert world.now - began < QUICK.hold_heartbeats + 0.3


def test_a_member_that_joins_during_quiesce_commits_too() -> None:
    """Otherwise it goes on from an old commit on the target: its records are consumed twice."""
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):  # the members have been read
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    assert [member.state for member in world.group.members] == ["parked"] * 3


def test_a_member_that_joins_during_quiesce_repeats_nothing() -> None:
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    for stage in (Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.FORWARD, Stage.REVERSE, Stage.VERIFY):
        run_stage(world, stage)
    world.later(2.0)


def test_a_late_joiner_is_waited_for_though_the_others_have_quiesced_already() -> None:
    world = world_before(Stage.QUIESCE)
    world.gateways["gw-1"].applies_after = 0.5  # all consumers are at the other one
    world.clients["bill-1"].gateway = world.gateways["gw-2"]
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    assert [member.state for member in world.group.members] == ["parked"] * 3


def test_a_consumer_that_comes_when_nobody_had_to_quiesce_repeats_nothing() -> None:
    world = world_before(Stage.QUIESCE, World.without_members)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."
    world.join("bill-3")
    world.later(0.1)
    for stage in WAY[WAY.index(Stage.BLOCK) :]:
        run_stage(world, stage)
    world.later(1.0)
