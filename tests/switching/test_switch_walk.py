"""A whole switch, with whatever may happen on the way: where it may end, and what must hold all the time.

The world checks after every command that no two clusters accept the writes of one scope, and before forward that
everything was blocked, drained, translated and read back; it counts every record that is written and consumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.radius.scope import Scope
from hadash.switching.machines.switches import ABORTABLE, WAY, Kind, Stage, Status
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command
from hadash.switching.stages.run import StageFailed, check_blocked

from .walking import HAPPENINGS, LASTING, ON_THE_WAY, QUICK, Ended, Fault, Walk
from .world import ORDERS_1, PARTITIONS, WHOLE, World

#: One instance moves alone; the consumers stay and read what the mirror brings back.
WEB_1 = Identity("shop", "web-1")
INSTANCE = replace(WHOLE, scope=Scope.of(WEB_1), groups=(), identities=(WEB_1,))

WEST, EAST = ("west", "forward"), ("east", "forward")


def faults(*kinds: str) -> st.SearchStrategy[list[Fault]]:
    """Up to five faults, each at one of the first commands of a stage."""
    one = st.builds(Fault, st.sampled_from(list(Stage)), st.integers(0, 14), st.sampled_from(kinds))
    return st.lists(one, max_size=5)


def walk(*found: Fault) -> tuple[World, Ended]:
    """A switch with some faults, and how it ended."""
    world = World()
    return world, Walk(world, found).run()


def assert_consistent(ended: Ended, world: World, before: dict[str, Any]) -> None:
    """What every ending promises."""
    assert str(ended.sentence)
    assert "%(" not in str(ended.sentence)
    match ended.status:
        case Status.ROLLED_BACK:
            assert world.situation() == before
        case Status.SUCCEEDED:
            assert_moved(world)
        case Status.NEEDS_ATTENTION:
            assert ended.stage is Stage.RETURN or ended.stage in WAY[WAY.index(Stage.FORWARD) :]
        case _:
            pytest.fail(f"A switch cannot end {ended.status}.")


def assert_moved(world: World) -> None:
    """Everything is on the target, and the standby is the source."""
    after = world.situation()
    assert set(after["bindings"].values()) == {WEST}
    assert all(set(table.values()) == {WEST} for table in after["in effect"].values())
    assert after["writable"] == {"east": False, "west": True}
    assert [(source, target) for _, source, target, *_ in after["mirrors"]] == [("west", "east")]


def assert_works(world: World) -> None:
    """Clients write, and after a while every record that was acknowledged has been consumed, once."""
    written = len(world.acknowledged)
    world.later(2.0)
    assert len(world.acknowledged) > written
    world.traffic = False
    world.later(1.0)
    assert world.unconsumed() == set()


# -- without faults ------------------------------------------------------------------------------------------------


def test_a_switch_goes_the_way_and_loses_and_repeats_nothing() -> None:
    world, ended = walk()
    assert ended.stages == WAY
    assert ended.status is Status.SUCCEEDED
    assert str(ended.sentence) == "Every client works on west (3 in all)."
    assert_moved(world)
    assert_works(world)


def test_a_record_that_comes_before_its_reader_is_read() -> None:
    """A switch is no restart: of a partition that the group has committed nothing of, with
    auto.offset.reset=latest, its reader would begin behind what was written between forward and its rejoin.
    """
    world = World()
    world.idle_without_a_commit(ORDERS_1)
    before = max(world.acknowledged)
    at = Fault(Stage.FORWARD, do.ReadWaiting, "a record comes to an idle partition")
    ended = Walk(world, [at]).run()
    assert ended.status is Status.SUCCEEDED
    record = world.logs["west"][ORDERS_1].records[-1]
    assert record > before, "it was written in forward"
    world.later(2.0)
    assert record in world.group.consumed


def test_and_back_again() -> None:
    """Switching back is a switch of its own, from the mirror that was turned."""
    world, _ = walk()
    world.plan = replace(WHOLE, source="west", target="east")
    world.drained, world.placement = None, None
    ended = Walk(world).run()
    assert ended.status is Status.SUCCEEDED
    assert set(world.situation()["bindings"].values()) == {EAST}
    assert world.situation()["writable"] == {"east": True, "west": False}
    assert_works(world)


def test_one_instance_moves_alone() -> None:
    world = World(INSTANCE)
    ended = Walk(world).run()
    assert str(ended.sentence) == "Every client works on west (1 in all)."
    assert world.situation()["bindings"] == {None: EAST, "web-1": WEST, "bill-1": EAST, "bill-2": EAST}
    assert_works(world)


def test_clients_wait_no_longer_than_block_to_forward() -> None:
    """Records are written before and after, and the pause is far below a client's timeouts."""
    world, _ = walk()
    blocked = next(
        i for i, c in enumerate(world.done) if isinstance(c, do.WriteBindings) and c.state == "block"
    )
    forward = next(
        i for i, c in enumerate(world.done) if isinstance(c, do.WriteBindings) and c.cluster == "west"
    )
    pauses = sum(c.seconds for c in world.done[blocked:forward] if isinstance(c, do.Pause))
    assert pauses < 0.1


class SlowWest(World):
    """Each answer about offsets on west takes a while, and no single stage takes too long by its own limit."""

    def answer(self, command: Command[Any]) -> Any:
        if isinstance(command, do.ReadEnds | do.ReadStarts | do.ReadGroupOffsets) and self.blocked():
            self.later(0.5)
        return super().answer(command)

    def blocked(self) -> bool:
        return self.table.get("shop", ("", ""))[1] == "block"


def test_clients_never_wait_for_longer_than_is_allowed_in_all() -> None:
    """Translate has no limit of its own; on a slow cluster writes would be blocked until producers give up."""
    world = SlowWest()
    before = world.situation()
    ended = Walk(world, limits=replace(QUICK, drain=10)).run()
    assert ended.status is Status.ROLLED_BACK
    assert (
        "soon they would give up what they hold back: at most 1.5 s are allowed. They go on on east."
        in str(ended.sentence)
    )
    assert world.situation() == before
    assert_works(world)


def test_a_forced_switch_has_nothing_to_go_back_to() -> None:
    check_blocked(1000, replace(WHOLE, kind=Kind.FORCED), QUICK)
    check_blocked(QUICK.blocked, WHOLE, QUICK)
    with pytest.raises(StageFailed):
        check_blocked(QUICK.blocked + 0.1, WHOLE, QUICK)


# -- one fault, everywhere -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["killed before", "killed after"])
@pytest.mark.parametrize("stage", WAY)
def test_a_worker_that_is_killed_anywhere_changes_nothing(stage: Stage, when: str) -> None:
    for at in range(len_of(stage)):
        world, ended = walk(Fault(stage, at, when))
        assert ended.status is Status.SUCCEEDED, at
        assert_moved(world)
        assert_works(world)


@pytest.mark.parametrize("what", ["refused", "answer lost"])
@pytest.mark.parametrize("stage", WAY)
def test_a_command_that_fails_anywhere(stage: Stage, what: str) -> None:
    """Before forward everything returns by itself; from forward on a person is asked, and can go on."""
    before = World().situation()
    for at in range(len_of(stage)):
        world = World()
        switch = Walk(world, [Fault(stage, at, what)])
        ended = switch.run()
        assert_consistent(ended, world, before)
        if stage in ABORTABLE:
            assert ended.status is Status.ROLLED_BACK, at
        else:
            assert ended.status is Status.NEEDS_ATTENTION, at
            assert switch.repair().status is Status.SUCCEEDED, at
        assert_works(world)


@pytest.mark.parametrize("stage", sorted(ABORTABLE & {*WAY}))
def test_an_abort_anywhere_before_forward_returns(stage: Stage) -> None:
    before = World().situation()
    for at in range(len_of(stage)):
        world, ended = walk(Fault(stage, at, "aborted"))
        assert (ended.status, str(ended.sentence)) == (Status.ROLLED_BACK, "bob aborted the switch."), at
        assert world.situation() == before
        assert_works(world)


@pytest.mark.parametrize("what", HAPPENINGS)
@pytest.mark.parametrize("stage", WAY)
def test_each_happening_in_each_stage(stage: Stage, what: str) -> None:
    world = World()
    before = world.situation()
    switch = Walk(world, [Fault(stage, 1, what)])
    ended = switch.run()
    assert_consistent(ended, world, before)
    if ended.status is Status.NEEDS_ATTENTION:
        assert switch.repair().status is not Status.NEEDS_ATTENTION
    world.heal()
    world.later(1.0)
    assert_works(world)


def len_of(stage: Stage) -> int:
    """How many commands ``stage`` takes in a switch that goes well."""
    world = World()
    switch = Walk(world)
    while True:
        first = len(world.done)
        switch.run_stage()
        if switch.stage is stage:
            return len(world.done) - first
        switch.stage = WAY[WAY.index(switch.stage) + 1]


# -- any faults together -------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(faults(*HAPPENINGS, *ON_THE_WAY))
def test_whatever_happens_it_ends_and_can_be_repaired(found: list[Fault]) -> None:
    world = World()
    before = world.situation()
    switch = Walk(world, found)
    ended = switch.run()
    assert_consistent(ended, world, before)
    if ended.status is Status.NEEDS_ATTENTION:
        ended = switch.repair()
        assert ended.status is not Status.NEEDS_ATTENTION
        assert_consistent(ended, world, before)
    world.heal()
    world.later(1.0)
    assert_works(world)


@settings(max_examples=60)
@given(faults(*HAPPENINGS, *LASTING, *ON_THE_WAY))
def test_whoever_writes_past_the_gateways_or_leaves(found: list[Fault]) -> None:
    """The switch still ends as it should, and records that only one side has do not stay unnoticed."""
    world = World()
    before = world.situation()
    ended = Walk(world, found).run()
    assert_consistent(ended, world, before)
    if ended.status is Status.SUCCEEDED and not any(fault.what.endswith("damaged") for fault in found):
        world.heal()
        world.traffic = False
        world.later(1.0)
        [(_, state, _, _)] = world.carry_out(do.CheckMirrors())
        for partition in PARTITIONS:
            stray = set(world.logs["east"][partition].records) - set(world.logs["west"][partition].records)
            assert not stray or state == "failed"
