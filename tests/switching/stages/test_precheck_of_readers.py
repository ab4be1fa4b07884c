"""The precheck asks how clients read: by themselves, and whether they read on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hadash.mirroring.offsets import OffsetSync
from hadash.switching.machines.switches import Stage
from hadash.switching.stages.reading_on import check_reading_on

from ..walking import QUICK, run_stage, world_before
from ..world import PARTITIONS, World
from .common import (
    failure,
)


class TestSelfAssigned:
    """In the world's beginning every partition has other offsets on the other side."""

    READS = {"flink": frozenset({"orders"})}
    SENTENCE = (
        "flink read without being members of a group: they keep their offsets over a move, and orders have "
        "other offsets on west. "
        "Let them subscribe in a group, stop them for the switch, or leave them out."
    )

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.DRAIN])
    def test_it_does_not_move_where_offsets_differ(self, stage: Stage) -> None:
        world = world_before(stage)
        world.self_assigned = dict(self.READS)
        assert failure(world, stage) == self.SENTENCE

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.DRAIN])
    def test_it_moves_where_offsets_are_equal(self, stage: Stage) -> None:
        world = world_before(stage)
        world.self_assigned = {"flink": frozenset({"equal"})}
        run_stage(world, stage)

    def test_the_rules_of_a_pair_may_accept_it(self) -> None:
        world = World()
        world.self_assigned = dict(self.READS)
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_self_assigned=True))
        assert "flink keep their offsets, which are others on west." in world.said


class TestReadingOn:
    """A member that goes on from its own position asks the new cluster for the offsets of the old one."""

    def test_it_does_not_move_where_offsets_differ(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        assert failure(world, Stage.PRECHECK) == (
            "bill-1 go on from their own positions when they rejoin their group: they would ask west for "
            "the offsets of east, which are "
            "others there (carts, orders). Use a library that begins at what the group has committed, stop "
            "them for the switch, or leave "
            "them out."
        )

    def test_where_offsets_are_equal_it_is_not_asked_for(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        equal = {p: OffsetSync(9, 9) for p in PARTITIONS}
        steps = check_reading_on(world.plan, QUICK, equal)
        assert list(steps) == []

    def test_the_rules_of_a_pair_may_accept_it(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_self_assigned=True))
        assert (
            "bill-1 go on from their own positions when they rejoin their group, and offsets are others on west."
            in world.said
        )
