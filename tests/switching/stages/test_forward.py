"""Forward: the clients go over."""

from __future__ import annotations

from hadash.switching.machines.switches import Stage

from ..walking import run_stage, world_before
from .common import (
    failure,
)


def test_forward() -> None:
    world = world_before(Stage.FORWARD)
    assert run_stage(world, Stage.FORWARD) == "shop is on west (epoch 11)."
    world.later(1.0)
    assert {client.cluster for client in world.clients.values()} == {"west"}


def test_the_old_mirror_is_paused_before_the_clients_go_over() -> None:
    """A Connect worker that starts again would copy from its last committed offset: old records, behind new ones."""
    world = world_before(Stage.FORWARD)
    assert (world.mirror.turning, world.mirror.state) == (True, "paused")
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    assert not world.mirror.turning


def test_a_return_lets_the_mirror_go_on() -> None:
    world = world_before(Stage.TRANSLATE)
    assert world.mirror.state == "paused"
    run_stage(world, Stage.RETURN)
    assert (world.mirror.turning, world.mirror.state) == (False, "running")


def test_a_gateway_that_does_not_forward() -> None:
    """It still blocks, so nothing reaches the source."""
    world = world_before(Stage.FORWARD)
    world.gateways["gw-2"].stuck = True
    assert failure(world, Stage.FORWARD) == "gw-2 did not put epoch 11 into effect within 2 s."
