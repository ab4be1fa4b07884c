"""Groups whose offset has no record: transaction markers, compaction, deleted records."""

from __future__ import annotations

import pytest

from hadash.mirroring.offsets import OffsetSync
from hadash.switching.machines.switches import Stage

from ..parts import MARKER
from ..walking import run_stage, world_before
from ..world import ORDERS_0, World
from .common import (
    failure,
)


class TestOffsetsWithoutARecord:
    """Transaction markers have an offset on the source and no copy: counted from the end, a group behind them
    is moved to another record than the next one.
    """

    MARKERS = 5
    SENTENCE = (
        "Group billing stands on orders-0 before offsets that hold a record on one cluster only (markers "
        "of transactions, or "
        "compacted), so it is not known where it goes on on west. Let it catch up first."
    )

    def world(self, stage: Stage, *, reads: int) -> World:
        """A group that has still to read ``reads`` records before the markers that the mirror has been counted over."""
        world = world_before(stage, lambda w: setattr(w, "traffic", False))
        here, there = world.logs["east"][ORDERS_0], world.logs["west"][ORDERS_0]
        end = OffsetSync(here.end, there.end)
        here.records += [MARKER] * self.MARKERS
        world.mirror.syncs = {**world.mirror.syncs, ORDERS_0: OffsetSync(here.end, there.end)}
        world.mirror.position[ORDERS_0] = here.end
        if world.drained is not None:
            world.drained = {**world.drained, ORDERS_0: OffsetSync(here.end, there.end)}
        world.group.stuck = True
        world.group.committed["east"][ORDERS_0] = end.source - reads
        return world

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.TRANSLATE])
    @pytest.mark.parametrize("reads", [1, 3])
    def test_a_group_before_them_does_not_move(self, stage: Stage, reads: int) -> None:
        assert failure(self.world(stage, reads=reads), stage) == self.SENTENCE

    def test_one_behind_them_does(self) -> None:
        world = self.world(Stage.TRANSLATE, reads=-self.MARKERS)
        run_stage(world, Stage.TRANSLATE)
        assert world.group.committed["west"][ORDERS_0] == world.logs["west"][ORDERS_0].end
