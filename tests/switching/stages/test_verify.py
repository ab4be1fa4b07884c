"""Verify: clients work on the target, and nobody writes to the source."""

from __future__ import annotations

from dataclasses import replace

from hadash.mirroring.offsets import OffsetSync
from hadash.switching.machines.switches import WAY, Stage
from hadash.switching.stages import commands as do

from ..walking import QUICK, Fault, run_stage, steps, world_before
from ..world import ORDERS_1, World
from .common import (
    failure,
)


def test_verify() -> None:
    world = world_before(Stage.VERIFY)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_verify_without_clients() -> None:
    """A switch of an AppID whose clients were all stopped."""
    world = World()
    world.clients.clear()
    world.without_members()
    for stage in WAY:
        sentence = run_stage(world, stage)
    assert sentence == "Every client works on west (0 in all)."


def test_verify_holds_for_a_while() -> None:
    world = world_before(Stage.VERIFY)
    began = world.now
    run_stage(world, Stage.VERIFY, replace(QUICK, verify_hold=1.0))
    assert world.now - began >= 1.0


def test_a_client_that_goes_away_again() -> None:
    world = world_before(Stage.VERIFY)
    found = failure(world, Stage.VERIFY, Fault(Stage.VERIFY, 9, "a client ends"))
    assert found == "Waiting for bill-2 to be seen on west."


def test_a_client_that_is_missing_for_a_moment_starts_the_wait_anew() -> None:
    world = world_before(Stage.VERIFY)
    world.later(1.0)
    began = world.now
    for _ in steps(world, Stage.VERIFY, replace(QUICK, verify_hold=0.5)):
        world.clients["web-1"].gone = 0.3 <= world.now - began < 0.4
    assert world.now - began >= 0.4 + 0.5


def test_clients_that_stay_on_the_source() -> None:
    world = world_before(Stage.FORWARD)
    world.clients["bill-2"].follows = world.clients["web-1"].follows = False
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    found = failure(world, Stage.VERIFY)
    assert found == "Waiting for bill-2, web-1 to be seen on west."


def test_a_group_that_has_nobody_on_the_target() -> None:
    world = world_before(Stage.VERIFY)
    world.without_members()
    assert failure(world, Stage.VERIFY) == "Waiting for group billing to have members on west."


def test_writes_that_do_not_come_back() -> None:
    world = world_before(Stage.FORWARD)
    world.clients["web-1"].produces = False
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    assert failure(world, Stage.VERIFY) == "Waiting for writes to carts, orders to arrive on west."


def test_a_group_that_has_members_and_does_not_read() -> None:
    world = world_before(Stage.VERIFY)
    world.group.stuck = True
    assert failure(world, Stage.VERIFY) == "Waiting for orders to be read on west."


def test_a_group_that_has_nothing_to_read_is_not_waited_for() -> None:
    world = world_before(Stage.FORWARD)
    world.seen = do.RecordSeen(world.seen.clients, world.seen.groups, (("consume", "orders"),))
    world.traffic = False
    for stage in (Stage.FORWARD, Stage.REVERSE, Stage.VERIFY):
        sentence = run_stage(world, stage)
    assert sentence == "Every client works on west (3 in all)."


def test_a_turned_mirror_that_has_copied_twice_is_no_writer_as_soon_as_it_is_counted_anew() -> None:
    world = world_before(Stage.VERIFY)
    world.tampered = True
    copies = world.logs["east"][ORDERS_1]
    copies.records += copies.records[-3:]
    assert "somebody still writes there" in failure(world, Stage.VERIFY)
    sync = world.mirror.syncs[ORDERS_1]
    world.mirror.syncs[ORDERS_1] = OffsetSync(sync.source, sync.target + 3)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_a_client_that_still_writes_to_the_source() -> None:
    world = world_before(Stage.VERIFY)
    world.idle.add(ORDERS_1)  # (its own clients would write to west meanwhile, and the difference be less)
    world.write_past("east", ORDERS_1, count=3)
    assert failure(world, Stage.VERIFY) == (
        "orders-1 on east has 3 records that west has not: somebody still writes there."
    )


def test_what_the_mirror_brings_back_is_not_taken_for_a_write() -> None:
    world = world_before(Stage.VERIFY)
    world.later(5.0)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_a_stray_write_is_seen_although_the_turned_mirror_is_behind() -> None:
    world = world_before(Stage.VERIFY)
    world.mirror.rate = 20
    world.later(1.0)
    world.write_past("east", ORDERS_1, count=3)
    assert failure(world, Stage.VERIFY) == (
        "east has other records than west since the switch: somebody still writes there."
    )
    assert world.said[-1].startswith("The last 16 records of orders-1 differ between the clusters")
