"""Stages that are run twice or cut off anywhere come to the same end."""

from __future__ import annotations

import pytest

from hadash.switching.machines.switches import WAY, Stage

from ..walking import Fault, Killed, run_stage, steps, world_before
from ..world import World
from .common import (
    BEFORE_FORWARD,
)

#: Stages that a switch comes to which has a source; the others are in test_forcing.
WITH_A_SOURCE = (*WAY, Stage.RETURN, Stage.REHEARSE)


def quiet_world_before(stage: Stage) -> World:
    """Without traffic, so that two runs can be compared."""
    return world_before(Stage.FORWARD if stage is Stage.RETURN else stage, traffic=False)


def commands_of(stage: Stage) -> range:
    """The numbers of the commands that a stage takes when it goes well."""
    world = quiet_world_before(stage)
    return range(sum(1 for _ in steps(world, stage)))


@pytest.mark.parametrize("stage", WITH_A_SOURCE)
def test_a_stage_that_is_run_twice_comes_to_the_same_end(stage: Stage) -> None:
    world = quiet_world_before(stage)
    run_stage(world, stage)
    once = world.kept()
    run_stage(world, stage)
    assert world.kept() == once


@pytest.mark.parametrize("when", ["killed before", "killed after"])
@pytest.mark.parametrize("stage", WITH_A_SOURCE)
def test_a_stage_that_is_cut_off_anywhere_comes_to_the_same_end(stage: Stage, when: str) -> None:
    uninterrupted = quiet_world_before(stage)
    run_stage(uninterrupted, stage)
    for at in commands_of(stage):
        world = quiet_world_before(stage)
        with pytest.raises(Killed):
            run_stage(world, stage, faults=[Fault(stage, at, when)])
        run_stage(world, stage)
        assert world.kept() == uninterrupted.kept(), f"cut off at command {at}"


@pytest.mark.parametrize("stage", BEFORE_FORWARD)
def test_a_return_from_wherever_a_stage_was_cut_off(stage: Stage) -> None:
    before = World().situation()
    for at in commands_of(stage):
        world = world_before(stage)
        with pytest.raises(Killed):
            run_stage(world, stage, faults=[Fault(stage, at, "killed after")])
        run_stage(world, Stage.RETURN)
        assert world.situation() == before, f"cut off at command {at}"
