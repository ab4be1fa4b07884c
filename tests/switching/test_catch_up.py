"""The stages that only a read split has: what they say when they go well, and for each reason why they cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.verification import verify
from hadash.switching.stages.ways import run_of

from .stages.common import failure
from .walking import QUICK, Fault, Walk, run_stage, steps, world_before
from .world import ORDERS_0, ORDERS_1, SPLIT, World

WAY = Kind.READ_SPLIT.spec.way


def before(
    stage: Stage, prepare: Callable[[World], None] = lambda world: None, traffic: bool = True
) -> World:
    """A read split that has come to ``stage``."""
    return world_before(stage, prepare, plan=SPLIT, traffic=traffic)


# -- precheck ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meddle", "sentence"),
    [
        (
            lambda w: setattr(w.mirror, "topics", frozenset({"carts"})),
            "No mirror carries orders any more. Request the switch again.",
        ),
        (
            lambda w: w.self_assigned.update({"bill-3": frozenset({"orders"})}),
            "bill-3: it reads without being a member of a group, so its place cannot be carried over to west. "
            "Let it subscribe in a group, or leave it out.",
        ),
        (
            lambda w: w.logs["west"][ORDERS_1].expire(15),
            "Group billing has still to read 3 records of orders-1 that west has deleted already. Let it "
            "catch up first.",
        ),
        (
            lambda w: setattr(w.mirror, "silent", True),
            "Mirror shop is ? records behind; at most 5000 are allowed to start a switch.",
        ),
        (
            lambda w: w.cooperative.append("billing (cooperative-sticky: bill-1)"),
            "Cooperative rebalancing cannot be moved yet: billing (cooperative-sticky: bill-1). Let these "
            "consumers use "
            "an eager assignor (range, roundrobin, sticky).",
        ),
    ],
)
def test_what_stands_against_it_before_a_client_notices_anything(
    meddle: Callable[[World], None], sentence: str
) -> None:
    world = World(SPLIT)
    world.group.stuck = True  # it has committed 12 of 20 records
    meddle(world)
    assert failure(world, Stage.PRECHECK) == sentence


def test_what_both_sides_have_deleted_stands_against_nothing() -> None:
    """On the source the group could not read it either."""
    world = World(SPLIT)
    world.group.stuck = True
    for cluster in ("east", "west"):
        world.logs[cluster][ORDERS_1].expire(15)
    run_stage(world, Stage.PRECHECK)


def test_how_writers_acknowledge_is_nothing_to_readers() -> None:
    """They see what is replicated, on either side."""
    world = World(SPLIT)
    world.acks_1 = ["web-1"]
    assert run_stage(world, Stage.PRECHECK) == "All checks hold (Topics: 1, groups: 1, clients: 2)."


# -- what it must not touch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", [Stage.VERIFY, Stage.CATCH_UP])
def test_it_changes_nothing_for_those_who_write(until: Stage) -> None:
    """Neither on its way nor on its way back."""
    world = before(until)
    run_stage(world, until if until is Stage.VERIFY else Stage.RETURN)
    forbidden = (do.AllowWrites, do.DenyWrites, do.PauseMirrors, do.ResumeMirrors, do.ReverseMirrors)
    assert not [command for command in world.done if isinstance(command, forbidden)]


def test_block_says_who_waits() -> None:
    assert run_stage(before(Stage.BLOCK), Stage.BLOCK) == (
        "The readers on east wait, no commit of theirs is under way (epoch 10)."
    )


# -- follow --------------------------------------------------------------------------------------------------------


def test_follow() -> None:
    world = before(Stage.CATCH_UP)
    assert run_stage(world, Stage.CATCH_UP) == "Group offsets are set on west and read back (2 in all)."
    assert world.drained is not None
    assert set(world.drained) == {ORDERS_0, ORDERS_1}, "Topics that nobody reads who moves are not looked at"


def test_follow_while_the_source_grows() -> None:
    """It waits for what the source held when its readers stopped, not for the source to stand still."""
    world = before(Stage.CATCH_UP)
    world.mirror.rate = 0
    world.later(0.2)
    world.mirror.rate = 200  # so it has something to wait for
    end = world.logs["east"][ORDERS_0].end
    run_stage(world, Stage.CATCH_UP)
    assert world.drained is not None
    assert end <= world.drained[ORDERS_0].source < world.logs["east"][ORDERS_0].end


def test_a_group_that_is_far_behind_keeps_its_place() -> None:
    def stuck(world: World) -> None:
        world.group.stuck = True

    world = before(Stage.CATCH_UP, stuck)
    run_stage(world, Stage.CATCH_UP)
    for partition in (ORDERS_0, ORDERS_1):
        here, there = (world.group.committed[cluster][partition] for cluster in ("east", "west"))
        assert world.logs["east"][partition].at(here) == world.logs["west"][partition].at(there)


def test_offsets_of_an_earlier_stay_do_not_stay() -> None:
    def stayed(world: World) -> None:
        world.group.committed["west"] = {ORDERS_0: 1, ORDERS_1: 2}
        del world.group.committed["east"][ORDERS_1]

    world = before(Stage.CATCH_UP, stayed, traffic=False)
    world.group.committed["east"].pop(ORDERS_1, None)
    world.reading = {}  # nobody reads it
    run_stage(world, Stage.CATCH_UP)
    assert set(world.group.committed["west"]) == {ORDERS_0}


def test_readers_without_a_group_have_nothing_to_translate() -> None:
    world = before(Stage.CATCH_UP)
    world.plan = replace(SPLIT, groups=())
    assert run_stage(world, Stage.CATCH_UP) == "No consumer group moves: no offsets to translate."


def test_a_mirror_that_stands_still() -> None:
    world = before(Stage.CATCH_UP)
    world.mirror.rate = 0
    world.later(0.2)
    world.traffic = False
    lacking = sum(world.logs["east"][p].end - world.mirror.position[p] for p in (ORDERS_0, ORDERS_1))
    found = failure(world, Stage.CATCH_UP)
    assert found == f"The mirror still lacks {lacking} records after {QUICK.drain} s."
    assert world.said[-1] == f"Waiting for the mirror: {lacking} records to go."


@pytest.mark.parametrize("home", [False, True])
def test_a_mirror_that_holds_what_its_source_does_not(home: bool) -> None:
    world = before(Stage.CATCH_UP)
    if home:
        Walk(world).run()
        world.plan = replace(SPLIT, source="west", target="east")
    world.traffic = False
    world.later(0.5)
    world.write_past("west", ORDERS_1, count=2)
    assert failure(world, Stage.CATCH_UP) == (
        "The mirror of orders-1 holds 2 records that its source does not."
    )


def test_a_mirror_whose_last_records_are_others() -> None:
    world = before(Stage.CATCH_UP, traffic=False)
    world.damage("west", ORDERS_0)
    assert failure(world, Stage.CATCH_UP).startswith("The last 16 records of orders-0 differ")


def test_a_group_far_behind_copies() -> None:
    """A Connect worker that died has copied records twice, and the mirror was counted again after that: the
    group stands before.
    """

    def stuck(world: World) -> None:
        world.group.stuck = True
        for _ in range(60):
            world.write("east", ORDERS_0)
        world.later(0.2)

    world = before(Stage.CATCH_UP, stuck, traffic=False)
    world.tampered = True
    copies = world.logs["west"][ORDERS_0]
    copies.records[40:40] = copies.records[37:40]
    sync = world.mirror.syncs[ORDERS_0]
    world.mirror.syncs[ORDERS_0] = replace(sync, target=sync.target + 3)
    assert "of orders-0 differ between the clusters" in failure(world, Stage.CATCH_UP)


def test_a_partition_of_which_nothing_is_known() -> None:
    world = before(Stage.CATCH_UP)
    del world.mirror.syncs[ORDERS_1]
    assert failure(world, Stage.CATCH_UP) == (
        "Of orders-1 it is not known which records of both sides correspond."
    )


def test_what_retention_takes_between_the_checks_and_follow() -> None:
    world = before(Stage.CATCH_UP, lambda world: setattr(world.group, "stuck", True))
    world.logs["west"][ORDERS_0].expire(15)
    assert failure(world, Stage.CATCH_UP) == (
        "Group billing has still to read 3 records of orders-0 that west has deleted already. Let it catch up first."
    )


def test_an_offset_that_the_target_forgets() -> None:
    world = before(Stage.CATCH_UP)
    world.forgets = ORDERS_1
    # (0 is what quiesce has tried to write there.)
    assert "Group billing on west stands at 0 on orders-1 instead of" in failure(world, Stage.CATCH_UP)


def test_a_member_that_commits_past_the_gateways() -> None:
    world = before(Stage.CATCH_UP)
    with pytest.raises(
        Exception, match="Somebody commits offsets on east although these clients are blocked"
    ):
        for command in steps(world, Stage.CATCH_UP):
            if isinstance(command, do.WriteGroupOffsets):
                world.group.committed["east"][ORDERS_0] += 1


# -- verify --------------------------------------------------------------------------------------------------------


def test_verify_is_another_one() -> None:
    assert run_of(Kind.READ_SPLIT, Stage.VERIFY) is not verify


def test_verify() -> None:
    world = before(Stage.VERIFY)
    assert run_stage(world, Stage.VERIFY) == (
        "Every reader works on west (2 in all); writes go on where they were."
    )


def test_readers_that_stay() -> None:
    world = before(Stage.FORWARD)
    world.clients["bill-2"].follows = False
    run_stage(world, Stage.FORWARD)
    assert failure(world, Stage.VERIFY) == "Waiting for bill-2 to be seen on west."


def test_a_group_without_members() -> None:
    world = before(Stage.VERIFY)
    world.without_members()
    assert failure(world, Stage.VERIFY) == "Waiting for group billing to have members on west."


def test_a_group_that_reads_nothing() -> None:
    world = before(Stage.VERIFY)
    world.group.stuck = True
    assert failure(world, Stage.VERIFY) == "Waiting for orders to be read on west."


def test_verify_holds_for_a_while() -> None:
    world = before(Stage.VERIFY)
    began = world.now
    run_stage(world, Stage.VERIFY, replace(QUICK, verify_hold=1.0))
    assert world.now - began >= 1.0


def test_a_reader_that_goes_away_again() -> None:
    world = before(Stage.VERIFY)
    found = failure(world, Stage.VERIFY, Fault(Stage.VERIFY, 8, "a client ends"))
    assert found == "Waiting for bill-2 to be seen on west."


def test_what_the_readers_get_must_be_what_was_written() -> None:
    """Somebody writes to the mirror: the readers' records are not those of the source any more."""
    world = before(Stage.VERIFY)
    world.traffic = False
    world.later(0.5)
    world.damage("west", ORDERS_0)
    world.seen = replace(world.seen, activity=())
    assert failure(world, Stage.VERIFY).startswith("The last 16 records of orders-0 differ")
