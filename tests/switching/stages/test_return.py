"""Return: everything is as it was before."""

from __future__ import annotations

import pytest

from hadash.switching.machines.switches import Stage

from ..parts import WorldError
from ..walking import run_stage, world_before
from ..world import World
from .common import (
    BEFORE_FORWARD,
    failure,
)


@pytest.mark.parametrize("stage", [*BEFORE_FORWARD, Stage.FORWARD])
def test_return_from_where_a_stage_would_begin(stage: Stage) -> None:
    before = World().situation()
    world = world_before(stage)
    assert run_stage(world, Stage.RETURN) == "shop works on east as before."
    assert world.situation() == before


def test_after_a_return_everybody_works_on() -> None:
    world = world_before(Stage.FORWARD)
    run_stage(world, Stage.RETURN)
    count = len(world.acknowledged)
    world.later(2.0)
    assert len(world.acknowledged) > count
    world.traffic = False
    world.later(0.5)
    assert world.unconsumed() == set()


def test_a_gateway_that_does_not_return() -> None:
    world = world_before(Stage.DRAIN)
    world.gateways["gw-1"].stuck = True
    assert failure(world, Stage.RETURN) == "gw-1 did not put epoch 11 into effect within 2 s."


def test_the_clients_are_released_before_the_target_is_closed() -> None:
    """A target that is down must not keep the clients waiting."""
    world = world_before(Stage.DRAIN)
    world.down.add("west")
    with pytest.raises(WorldError):
        run_stage(world, Stage.RETURN)
    count = len(world.acknowledged)
    world.later(0.5)
    assert len(world.acknowledged) > count
