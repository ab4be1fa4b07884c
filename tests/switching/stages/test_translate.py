"""Translate: the groups' offsets on the other cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.machines.switches import Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command

from ..parts import WorldError
from ..walking import run_stage, world_before
from ..world import ORDERS_0, ORDERS_1, PARTITIONS, World
from .common import (
    UNKNOWN,
    WITHOUT_GROUPS,
    failure,
    written,
)


def test_translate() -> None:
    world = world_before(Stage.TRANSLATE)
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (2 in all)."
    for partition in world.group.partitions:
        here, there = (world.group.committed[cluster][partition] for cluster in ("east", "west"))
        east, west = (world.logs[cluster][partition] for cluster in ("east", "west"))
        assert here != there  # the clusters count differently
        assert east.end - here == west.end - there


def test_a_consumer_that_is_behind_goes_on_with_the_same_record() -> None:
    world = world_before(Stage.TRANSLATE)
    world.group.committed["east"][ORDERS_0] -= 5
    run_stage(world, Stage.TRANSLATE)
    next_here = world.logs["east"][ORDERS_0].at(world.group.committed["east"][ORDERS_0])
    next_there = world.logs["west"][ORDERS_0].at(world.group.committed["west"][ORDERS_0])
    assert next_here == next_there is not None


def copied_twice(world: World, partition: Partition, side: str, count: int) -> None:
    """The mirror has written records before the last 20 once more, and has been counted again from there on."""
    records = world.logs[side][partition].records
    records[-20:-20] = records[-20 - count : -20]


def test_a_group_before_what_the_mirror_has_copied_twice_would_read_other_records() -> None:
    """What comes after is translated exactly; it is not."""
    world = world_before(Stage.DRAIN)
    for _ in range(40):
        world.write("east", ORDERS_0)
    run_stage(world, Stage.DRAIN)
    world.tampered = True  # the group stands where it did not put itself
    copied_twice(world, ORDERS_0, "west", 4)
    ends = {p: OffsetSync(world.logs["east"][p].end, world.logs["west"][p].end) for p in PARTITIONS}
    world.drained = ends
    committed = world.group.committed["east"]
    committed[ORDERS_0] = ends[ORDERS_0].source - 30
    assert "records of orders-0 differ between the clusters" in failure(world, Stage.TRANSLATE)
    committed[ORDERS_0] = ends[ORDERS_0].source - 18
    run_stage(world, Stage.TRANSLATE)
    assert world.group.committed["west"][ORDERS_0] == ends[ORDERS_0].target - 18


def test_translate_without_groups() -> None:
    world = world_before(Stage.TRANSLATE, World.without_members, plan=WITHOUT_GROUPS)
    assert run_stage(world, Stage.TRANSLATE) == "No consumer group moves: no offsets to translate."


def test_a_group_without_members_that_has_never_committed() -> None:
    """Its next member begins where its auto.offset.reset says, as it would on the source."""
    world = world_before(Stage.TRANSLATE, World.without_members)
    world.group.committed["east"].clear()
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (0 in all)."


def _began(world: World, partition: Partition) -> int:
    return min(o for (_, at, p), o in world.group.fetched.items() if (at, p) == ("east", partition))


def test_quiesce_notes_where_members_read_what_they_have_not_committed() -> None:
    """When they rejoin their coordinator tells no more who reads what."""
    world = world_before(Stage.QUIESCE, traffic=False)
    del world.group.committed["east"][ORDERS_1]
    run_stage(world, Stage.QUIESCE)
    assert world.reading == {"billing": {ORDERS_1: _began(world, ORDERS_1)}}


def test_who_takes_over_in_quiesce_keeps_what_was_noted() -> None:
    """Their coordinator never hears that members rejoin: for it the group is empty when their sessions have ended."""
    world = world_before(Stage.QUIESCE, traffic=False)
    del world.group.committed["east"][ORDERS_1]
    began = _began(world, ORDERS_1)
    run_stage(world, Stage.QUIESCE)  # its worker dies before it has stored the end of the stage
    run_stage(world, Stage.QUIESCE)
    assert world.reading == {"billing": {ORDERS_1: began}}


def test_a_group_that_rebalances_is_waited_for_before_its_members_are_asked_to_rejoin() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[0].state = "joining"
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )


def test_one_that_goes_on_rebalancing_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows which of its members reads what: where they have committed nothing they would skip records."""
    world = world_before(Stage.QUIESCE)
    monkeypatch.setattr(World, "answer", _rebalancing(World.answer))
    assert failure(world, Stage.QUIESCE) == (
        "Group billing rebalances, so it is not known which of its members read which partitions. Ask "
        "again when it is stable."
    )
    assert not written(world), "nobody was asked to rejoin"


def _rebalancing(answer: Callable[[World, Command[Any]], Any]) -> Callable[[World, Command[Any]], Any]:
    def answered(world: World, command: Command[Any]) -> Any:
        return {"billing": None} if isinstance(command, do.ReadAssigned) else answer(world, command)

    return answered


def test_members_that_have_never_committed_go_on_where_they_began() -> None:
    """What they have read since then nobody knows but they."""
    world = world_before(Stage.TRANSLATE)
    world.reading = {"billing": {p: _began(world, p) for p in world.group.partitions}}
    world.group.committed["east"].clear()
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (2 in all)."
    for partition in world.group.partitions:
        began = _began(world, partition)
        here, there = world.logs["east"][partition], world.logs["west"][partition]
        assert there.at(world.group.committed["west"][partition]) == here.at(began)
    assert world.said[-1] == (
        "Group billing has committed nothing of orders-0, orders-1: its members go on where they read."
    )


def _unseen(world: World) -> None:
    """A Gateway that has just started has not seen its clients fetch yet."""
    world.sees_fetches = False
    del world.group.committed["east"][ORDERS_1]


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.QUIESCE])
def test_where_nobody_knows_the_position_of_a_member_nobody_is_moved(stage: Stage) -> None:
    world = world_before(stage, traffic=False)
    _unseen(world)
    assert failure(world, stage) == UNKNOWN


def test_of_an_empty_partition_every_position_is_its_end() -> None:
    world = world_before(Stage.QUIESCE, traffic=False)
    _unseen(world)
    log = world.logs["east"][ORDERS_1]
    log.expire(len(log.records))
    run_stage(world, Stage.QUIESCE)
    assert world.reading == {"billing": {ORDERS_1: log.end}}


def test_metadata_of_commits_is_carried_over() -> None:
    world = world_before(Stage.TRANSLATE)
    run_stage(world, Stage.TRANSLATE)
    assert world.group.metadata["west"] == world.group.metadata["east"]
    assert set(world.group.metadata["west"].values()) == {"by bill-1", "by bill-2"}


@pytest.mark.parametrize(
    ("stood", "sentence"),
    [
        (None, "Group billing on west stands at ? on orders-1 instead of {wanted}."),
        (3, "Group billing on west stands at 3 on orders-1 instead of {wanted}."),
    ],
)
def test_an_offset_that_is_not_read_back(stood: int | None, sentence: str) -> None:
    world = world_before(Stage.TRANSLATE, traffic=False)
    world.forgets = ORDERS_1
    world.group.committed["west"].pop(ORDERS_1)  # (what quiesce has tried to write there)
    if stood is not None:
        world.group.committed["west"][ORDERS_1] = stood
    wanted = world.logs["west"][ORDERS_1].end
    assert failure(world, Stage.TRANSLATE) == sentence.format(wanted=wanted)


def test_a_group_that_is_in_use_on_the_target() -> None:
    world = world_before(Stage.TRANSLATE)
    world.group.members[0].cluster = world.clients["bill-1"].cluster = "west"
    with pytest.raises(WorldError, match="its offsets cannot be written"):
        run_stage(world, Stage.TRANSLATE)


@pytest.mark.parametrize("stage", [Stage.TRANSLATE, Stage.REVERSE, Stage.VERIFY])
def test_without_the_drained_point_nothing_goes_on(stage: Stage) -> None:
    world = world_before(stage)
    world.drained = None
    assert failure(world, stage) == "The drained point of this switch is not known."


def _behind_what_west_has(world: World) -> None:
    """The group has still to read three records that retention has taken on the target only."""
    log = world.logs["east"][ORDERS_0]
    world.group.stuck = True
    world.group.committed["east"][ORDERS_0] = log.start + 2
    world.logs["west"][ORDERS_0].expire(5)


SKIPPED = "Group billing has still to read 3 records of orders-0 that west has deleted already. Let it catch up first."


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.REHEARSE, Stage.TRANSLATE])
def test_what_a_group_has_still_to_read_is_not_skipped(stage: Stage) -> None:
    """It is said before a client notices anything, and looked at again while nobody reads or writes."""
    world = world_before(stage, traffic=False)
    _behind_what_west_has(world)
    before = dict(world.group.committed["west"])
    assert failure(world, stage) == SKIPPED
    assert world.group.committed["west"] == before


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.REHEARSE, Stage.TRANSLATE])
def test_what_the_source_has_deleted_too_cannot_be_skipped(stage: Stage) -> None:
    world = world_before(stage, traffic=False)
    _behind_what_west_has(world)
    world.logs["east"][ORDERS_0].expire(5)
    run_stage(world, stage)


def test_an_offset_that_only_the_target_has() -> None:
    """The group has it from an earlier stay; on the source it has none, so it would go on at an old record."""
    world = world_before(Stage.TRANSLATE, World.without_members)
    del world.group.committed["east"][ORDERS_1]
    world.group.committed["west"][ORDERS_1] = 4
    run_stage(world, Stage.TRANSLATE)
    assert ORDERS_1 not in world.group.committed["west"]


def test_offsets_of_topics_that_do_not_move_stay() -> None:
    world = world_before(Stage.TRANSLATE, World.without_members)
    yearly = Partition("yearly", 0)
    del world.group.committed["east"][ORDERS_1]
    world.group.committed["west"] = {ORDERS_1: 4, yearly: 7}
    run_stage(world, Stage.TRANSLATE)
    assert ORDERS_1 not in world.group.committed["west"]
    assert world.group.committed["west"][yearly] == 7
