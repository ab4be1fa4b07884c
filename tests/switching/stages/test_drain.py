"""Drain: the mirror has everything, and that is proved."""

from __future__ import annotations

from hadash.switching.machines.switches import Stage
from hadash.switching.stages.command import Together
from hadash.switching.stages.run import Limits

from ..walking import Fault, run_stage, world_before
from ..world import ORDERS_0, ORDERS_1
from .common import (
    failure,
    lag,
)

DRAINED = "The mirror is drained: every partition ends with the same records on both sides (3 in all)."


def test_drain() -> None:
    world = world_before(Stage.DRAIN)
    assert run_stage(world, Stage.DRAIN) == DRAINED
    assert world.drained is not None
    for partition, point in world.drained.items():
        assert point.source == world.logs["east"][partition].end
        assert point.target == world.logs["west"][partition].end


def test_drain_waits_for_a_mirror_that_is_behind() -> None:
    world = world_before(Stage.DRAIN, traffic=False)
    lag(world, 30)
    world.mirror.rate = 20
    assert run_stage(world, Stage.DRAIN, Limits()) == DRAINED
    assert world.said == ["Waiting for the mirror: 21 records to go."]


def test_a_mirror_that_does_not_drain() -> None:
    world = world_before(Stage.DRAIN, traffic=False)
    lag(world, 7)
    assert failure(world, Stage.DRAIN, limits=Limits()) == "The mirror still lacks 7 records after 10.0 s."
    assert world.drained is None


def test_a_mirror_that_somebody_else_has_written_to() -> None:
    world = world_before(Stage.DRAIN)
    world.write_past("west", ORDERS_1, count=2)
    found = failure(world, Stage.DRAIN)
    assert found == "The mirror of orders-1 holds 2 records that its source does not."


def test_a_write_to_the_mirror_that_hides_a_missing_record() -> None:
    """By count both sides are equal: only the tails show it."""
    world = world_before(Stage.DRAIN, traffic=False)
    world.mirror.rate = 0
    world.write("east", ORDERS_1)
    world.write_past("west", ORDERS_1)
    found = failure(world, Stage.DRAIN)
    assert found == "The last 16 records of orders-1 differ between the clusters (1 of them)."


def test_a_partition_without_an_anchor() -> None:
    world = world_before(Stage.DRAIN)
    del world.mirror.syncs[ORDERS_1]
    found = failure(world, Stage.DRAIN)
    assert found == "Partition orders-1 has no known point at which both sides correspond."


def test_tails_that_differ() -> None:
    world = world_before(Stage.DRAIN)
    world.damage("west", ORDERS_0)
    found = failure(world, Stage.DRAIN)
    assert found == "The last 16 records of orders-0 differ between the clusters (1 of them)."
    assert world.drained is None


def test_retention_on_one_side_does_not_matter() -> None:
    world = world_before(Stage.DRAIN)
    log = world.logs["west"][ORDERS_0]
    log.expire(len(log.records) - 3)
    world.logs["east"][ORDERS_1].expire(5)
    assert run_stage(world, Stage.DRAIN) == DRAINED


def test_a_source_that_still_grows() -> None:
    world = world_before(Stage.DRAIN)
    fault = Fault(Stage.DRAIN, Together, "the source is written past the Gateways")
    assert failure(world, Stage.DRAIN, fault) == (
        "east still grows although its writes are blocked: somebody writes past the Gateway."
    )
    assert world.drained is None


def test_a_source_that_grows_between_the_reads_is_not_blamed_on_the_mirror() -> None:
    """What it wrote before the proof is copied like everything else."""
    world = world_before(Stage.DRAIN)
    fault = Fault(Stage.DRAIN, 3, "the source is written past the Gateways")  # the first ends have been read
    assert run_stage(world, Stage.DRAIN, faults=[fault]) == DRAINED
