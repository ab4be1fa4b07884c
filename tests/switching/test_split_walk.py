"""Whole read splits over the simulated pair: a source that never stops growing, and no record read twice or skipped.

The world raises at the first record that the group reads twice, and checks before forward that the group goes
on with the same record on the other side; ``assert_works`` finds what was skipped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.radius.scope import Scope
from hadash.switching.machines.switches import ABORTABLE, Kind, Stage, Status
from hadash.switching.stages import commands as do

from .test_switch_walk import EAST, INSTANCE, WEST, assert_works
from .walking import HAPPENINGS, ON_THE_WAY, QUICK, Ended, Fault, Walk
from .world import SPLIT, WHOLE, World

WAY = Kind.READ_SPLIT.spec.way
HOME = replace(SPLIT, source="west", target="east")
#: What happens to a read split: its mirror is never turned.
FAULTS = sorted(set(HAPPENINGS) - {"the mirror will not turn"})


def world_with(plan: Any, world: World) -> World:
    """The next switch of the same world, when what went on before the last one is no news any more."""
    world.later(QUICK.active)
    world.plan, world.drained, world.placement, world.seen = plan, None, None, do.RecordSeen((), (), ())
    return world


def gone_west() -> World:
    """The readers are on the mirror."""
    world = World(SPLIT)
    assert Walk(world).run().status is Status.SUCCEEDED
    return world


def assert_split(world: World, readers: tuple[str, str]) -> None:
    """The readers are bound to a cluster; nothing else has changed."""
    bindings = world.situation()["bindings"]
    assert bindings == {None: EAST, "web-1": EAST, "bill-1": readers, "bill-2": readers}
    assert world.situation()["writable"] == {"east": True, "west": False}
    assert (world.mirror.source, world.mirror.turning, world.mirror.state) == ("east", False, "running")


def test_readers_go_to_the_mirror_and_lose_and_repeat_nothing() -> None:
    world = World(SPLIT)
    ended = Walk(world).run()
    assert ended.stages == WAY
    assert str(ended.sentence) == "Every reader works on west (2 in all); writes go on where they were."
    assert_split(world, WEST)
    assert_works(world)


def test_and_come_home() -> None:
    """Home is the same kind in the other direction: then the source is the mirror, and the target holds everything."""
    world = world_with(HOME, gone_west())
    world.later(1.0)
    ended = Walk(world).run()
    assert (ended.status, ended.stages) == (Status.SUCCEEDED, WAY)
    assert_split(world, EAST)
    assert_works(world)


def test_writes_never_wait() -> None:
    """While readers are blocked, every record that is due is written on the source."""
    world = World(SPLIT)
    walk = Walk(world)
    counts = {}
    for stage in WAY:
        walk.stage = stage
        before, began = len(world.acknowledged), world.now
        walk.run_stage()
        counts[stage] = (len(world.acknowledged) - before, world.now - began)
    for stage, (written, seconds) in counts.items():
        assert written >= 3 * (seconds // 0.02 - 1), stage


def test_a_mirror_that_is_slow_is_waited_for() -> None:
    world = World(SPLIT)
    ended = Walk(world, [Fault(Stage.CATCH_UP, 0, "the mirror is slow")]).run()
    world.heal()
    assert ended.status in (Status.SUCCEEDED, Status.ROLLED_BACK)
    assert_works(world)


def test_home_from_a_mirror_that_has_failed() -> None:
    """Readers are brought home above all when the mirror does not bring them anything any more."""
    world = world_with(HOME, gone_west())
    HAPPENINGS["the mirror fails"](world)
    world.later(1.0)
    assert Walk(world).run().status is Status.SUCCEEDED
    assert world.situation()["bindings"]["bill-1"] == EAST
    assert_works(world)


def test_not_to_a_mirror_that_has_failed() -> None:
    world = World(SPLIT)
    before = world.situation()
    HAPPENINGS["the mirror fails"](world)
    ended = Walk(world).run()
    assert (ended.status, ended.stages) == (Status.ROLLED_BACK, (Stage.PRECHECK,))
    assert str(ended.sentence) == "Mirror shop is not running (failed). out of memory"
    assert world.situation() == before


# -- with other switches -------------------------------------------------------------------------------------------


def test_the_writers_can_follow_their_readers() -> None:
    """A planned switch of those who stayed: the readers are on the target already and are left alone."""
    world = world_with(INSTANCE, gone_west())
    assert Walk(world).run().status is Status.SUCCEEDED
    assert world.situation()["bindings"] == {None: EAST, "web-1": WEST, "bill-1": WEST, "bill-2": WEST}
    assert world.mirror.source == "west"
    assert_works(world)


def test_readers_can_stay_behind_when_the_mirror_has_been_turned() -> None:
    """Writers west, then readers east again: east holds the mirror now, so this too goes away from what is written."""
    world = gone_west()
    assert Walk(world_with(INSTANCE, world)).run().status is Status.SUCCEEDED
    assert Walk(world_with(HOME, world)).run().status is Status.SUCCEEDED
    assert world.situation()["bindings"]["bill-1"] == EAST
    assert world.situation()["writable"] == {"east": False, "west": True}
    assert_works(world)


def test_everything_moves_after_the_readers_came_home() -> None:
    world = gone_west()
    assert Walk(world_with(HOME, world)).run().status is Status.SUCCEEDED
    whole = replace(WHOLE, identities=(Identity("shop"), *HOME.identities, Identity("shop", "web-1")))
    assert Walk(world_with(replace(whole, scope=Scope.of(Identity("shop"))), world)).run().status is (
        Status.SUCCEEDED
    )
    assert_works(world)


# -- one fault, everywhere -----------------------------------------------------------------------------------------


def len_of(stage: Stage, home: bool) -> int:
    """How many commands ``stage`` takes in a read split that goes well."""
    world = world_with(HOME, gone_west()) if home else World(SPLIT)
    walk = Walk(world)
    for each in WAY:
        walk.stage, first = each, len(world.done)
        walk.run_stage()
        if each is stage:
            break
    return len(world.done) - first


@pytest.mark.parametrize("home", [False, True])
@pytest.mark.parametrize("when", ["killed before", "killed after"])
@pytest.mark.parametrize("stage", WAY)
def test_a_worker_that_is_killed_anywhere_changes_nothing(stage: Stage, when: str, home: bool) -> None:
    for at in range(len_of(stage, home)):
        world = world_with(HOME, gone_west()) if home else World(SPLIT)
        ended = Walk(world, [Fault(stage, at, when)]).run()
        assert ended.status is Status.SUCCEEDED, at
        assert_split(world, EAST if home else WEST)
        assert_works(world)


@pytest.mark.parametrize("what", ["refused", "answer lost"])
@pytest.mark.parametrize("stage", WAY)
def test_a_command_that_fails_anywhere(stage: Stage, what: str) -> None:
    before = World(SPLIT).situation()
    for at in range(len_of(stage, home=False)):
        world = World(SPLIT)
        walk = Walk(world, [Fault(stage, at, what)])
        ended = walk.run()
        if stage in ABORTABLE:
            assert ended.status is Status.ROLLED_BACK, at
            assert world.situation() == before
        else:
            assert ended.status is Status.NEEDS_ATTENTION, at
            assert walk.repair().status is Status.SUCCEEDED, at
        assert_works(world)


@pytest.mark.parametrize("home", [False, True])
@pytest.mark.parametrize("stage", [stage for stage in WAY if stage in ABORTABLE])
def test_an_abort_anywhere_before_forward_returns(stage: Stage, home: bool) -> None:
    """Also of readers on their way home, whose target others write to: it stays open for them."""
    for at in range(len_of(stage, home)):
        world = world_with(HOME, gone_west()) if home else World(SPLIT)
        ended = Walk(world, [Fault(stage, at, "aborted")]).run()
        assert (ended.status, str(ended.sentence)) == (Status.ROLLED_BACK, "bob aborted the switch."), at
        assert_split(world, WEST if home else EAST)
        assert_works(world)


# -- any faults together -------------------------------------------------------------------------------------------


def faults() -> st.SearchStrategy[list[Fault]]:
    one = st.builds(
        Fault,
        st.sampled_from([*WAY, Stage.RETURN]),
        st.integers(0, 16),
        st.sampled_from([*FAULTS, *ON_THE_WAY]),
    )
    return st.lists(one, max_size=5)


def assert_consistent(ended: Ended, world: World, before: dict[str, Any]) -> None:
    assert "%(" not in str(ended.sentence)
    if ended.status is Status.ROLLED_BACK:
        assert world.situation()["bindings"] == before["bindings"]
    elif ended.status is Status.SUCCEEDED:
        readers = {"east": EAST, "west": WEST}[world.plan.target]
        assert {world.situation()["bindings"][name] for name in ("bill-1", "bill-2")} == {readers}
    else:
        assert ended.status is Status.NEEDS_ATTENTION
        assert ended.stage in (Stage.FORWARD, Stage.VERIFY, Stage.RETURN)
    assert world.situation()["writable"] == before["writable"]
    assert world.situation()["bindings"]["web-1"] == EAST


@settings(max_examples=100)
@given(faults(), st.booleans())
def test_whatever_happens_no_record_is_read_twice_or_skipped(found: list[Fault], home: bool) -> None:
    world = world_with(HOME, gone_west()) if home else World(SPLIT)
    before = world.situation()
    walk = Walk(world, found)
    ended = walk.run()
    assert_consistent(ended, world, before)
    if ended.status is Status.NEEDS_ATTENTION:
        ended = walk.repair()
        assert ended.status is not Status.NEEDS_ATTENTION
        assert_consistent(ended, world, before)
    world.heal()
    world.later(1.0)
    assert_works(world)
