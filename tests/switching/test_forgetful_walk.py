"""A whole switch over a PostgreSQL that fails over to a replica without the last commits, at any point.

The world refuses with :class:`Broken` a switch that goes back behind its forward, two clusters that accept
one scope's writes, and clients that are sent over before all is drained and translated. See
``test_switch_walk.py`` for the rest.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from hadash.switching.machines.switches import WAY, Kind, Stage, Status
from hadash.switching.stages import commands as do

from .test_switch_walk import assert_consistent, assert_moved, assert_works, faults, len_of
from .walking import FORGETTING, HAPPENINGS, ON_THE_WAY, Fault, Walk
from .world import SPLIT, WHOLE, World


@pytest.mark.parametrize("what", FORGETTING)
@pytest.mark.parametrize("stage", WAY)
def test_wherever_it_forgets_the_switch_goes_on_to_its_end(stage: Stage, what: str) -> None:
    for at in range(len_of(stage)):
        world = World()
        ended = Walk(world, [Fault(stage, at, what)]).run()
        assert (ended.status, str(ended.sentence)) == (
            Status.SUCCEEDED,
            "Every client works on west (3 in all).",
        ), at
        assert_moved(world)
        assert_works(world)


@pytest.mark.parametrize("what", FORGETTING)
def test_it_forgets_that_the_switch_returns(what: str) -> None:
    for at in range(6):
        world = World()
        before = world.situation()
        aborted = Fault(Stage.TRANSLATE, 2, "aborted")
        ended = Walk(world, [aborted, Fault(Stage.RETURN, at, what)]).run()
        assert_consistent(ended, world, before)
        assert ended.status is not Status.NEEDS_ATTENTION
        assert_works(world)


def test_it_forgets_that_the_mirror_was_turned_round() -> None:
    """The connector copies the other way already; the row is repaired, and nothing is copied twice or round."""
    world = World()
    walk = Walk(world, [Fault(Stage.VERIFY, 1, "PostgreSQL forgets 50 commands")])
    ended = walk.run()
    assert ended.stages[-4:] == (Stage.VERIFY, Stage.FORWARD, Stage.REVERSE, Stage.VERIFY)
    turned = [command for command in world.done if isinstance(command, do.ReverseMirrors)]
    assert len(turned) == 2
    assert [(m.source, m.reads, m.target, m.writes) for m in world.mirrors] == [
        ("west", "west", "east", "east")
    ]
    assert_moved(world)
    assert_works(world)


@pytest.mark.parametrize("what", FORGETTING)
@pytest.mark.parametrize("stage", Kind.READ_SPLIT.spec.way)
def test_of_a_read_split_too(stage: Stage, what: str) -> None:
    for at in range(8):
        world = World(SPLIT)
        ended = Walk(world, [Fault(stage, at, what)]).run()
        assert ended.status is Status.SUCCEEDED, at
        assert_works(world)


@settings(max_examples=100)
@given(faults(*HAPPENINGS, *ON_THE_WAY, *FORGETTING, *FORGETTING))
def test_whatever_else_happens_it_ends_and_can_be_repaired(found: list[Fault]) -> None:
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


def test_one_switch_says_nothing_of_the_next_one() -> None:
    """The restore goes back behind the forward of the switch before it."""
    world = World()
    Walk(world).run()
    world.plan = replace(WHOLE, source="west", target="east")
    world.drained, world.placement = None, None
    faults = [Fault(Stage.FORWARD, 2, "PostgreSQL forgets 20 commands")]
    assert Walk(world, faults).run().status is Status.SUCCEEDED
    assert set(world.situation()["bindings"].values()) == {("east", "forward")}
    assert_works(world)
