"""Block: no Gateway lets a write through any more."""

from __future__ import annotations

from hadash.switching.machines.switches import Stage
from hadash.switching.stages.run import Limits

from ..walking import run_stage, world_before
from ..world import World
from .common import (
    EXCLUDED_AND_RUNNING,
    failure,
)


def test_block() -> None:
    world = world_before(Stage.BLOCK)
    assert run_stage(world, Stage.BLOCK) == "Writes to east are blocked, nothing is in flight (epoch 10)."
    count = len(world.acknowledged)
    world.later(1.0)
    assert len(world.acknowledged) == count


def test_a_gateway_that_does_not_block() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = True
    assert (
        failure(world, Stage.BLOCK, limits=Limits()) == "gw-2 did not put epoch 10 into effect within 10.0 s."
    )
    assert world.said == ["Waiting for gw-2 to apply epoch 10 (1 of 2 have)."]


def test_several_gateways_that_do_not_block() -> None:
    world = world_before(Stage.BLOCK)
    for gateway in world.gateways.values():
        gateway.stuck = True
    assert failure(world, Stage.BLOCK) == "gw-1, gw-2 did not put epoch 10 into effect within 1 s."


def test_a_slow_gateway_is_waited_for_and_named_once() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-1"].applies_after = 3.0
    run_stage(world, Stage.BLOCK, Limits())
    assert world.said == ["Waiting for gw-1 to apply epoch 10 (1 of 2 have)."]


def test_an_excluded_gateway_is_not_waited_for() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = world.gateways["gw-2"].excluded = True
    world.gateways["gw-2"].live = False
    run_stage(world, Stage.BLOCK)


def test_an_excluded_gateway_that_runs_is_waited_for_and_it_is_said_what_to_do() -> None:
    """It was excluded because somebody said that its process was gone."""
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = world.gateways["gw-2"].excluded = True
    assert failure(world, Stage.BLOCK) == EXCLUDED_AND_RUNNING


def test_precheck_refuses_while_an_excluded_gateway_runs() -> None:
    world = World(traffic=False)
    world.gateways["gw-2"].excluded = True
    assert failure(world, Stage.PRECHECK) == EXCLUDED_AND_RUNNING


def test_a_gateway_that_is_not_live_is_waited_for() -> None:
    """Nobody knows what it lets through."""
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck, world.gateways["gw-2"].live = True, False
    assert failure(world, Stage.BLOCK) == "gw-2 did not put epoch 10 into effect within 1 s."
