"""Reverse: the mirror copies the other way."""

from __future__ import annotations

from hadash.switching.machines.switches import Stage

from ..invariants import repeated
from ..walking import Fault, Walk, run_stage, world_before
from ..world import World
from .common import (
    failure,
)


def test_reverse() -> None:
    world = world_before(Stage.REVERSE)
    assert run_stage(world, Stage.REVERSE) == "The mirror copies from west to east."
    assert not world.writable("east")
    assert (world.mirror.source, world.mirror.target) == ("west", "east")


def test_what_is_written_on_the_target_comes_back_once() -> None:
    world = world_before(Stage.REVERSE)
    run_stage(world, Stage.REVERSE)
    world.later(1.0)
    world.traffic = False
    world.later(0.5)
    for partition, log in world.logs["west"].items():
        assert set(log.records) == set(world.logs["east"][partition].records)
    assert repeated(world) == []


def test_a_mirror_that_does_not_turn() -> None:
    world = world_before(Stage.REVERSE)
    world.mirror.never_turns = True
    found = failure(world, Stage.REVERSE)
    assert found == "Mirror shop does not run in the new direction: restart its connector."


def test_a_record_written_past_the_gateways_after_the_proof_is_not_copied_back() -> None:
    world = World()
    Walk(world, [Fault(Stage.TRANSLATE, 0, "the source is written past the Gateways")]).run()
    assert repeated(world) == []
