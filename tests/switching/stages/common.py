"""What tests of stages share. Each stage runs over a simulated pair of clusters: its sentence when it goes well, its
sentence for each failure, and that it comes to the same end when it is run twice or cut off anywhere.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hadash.bindings.model import BindingState
from hadash.switching.machines.switches import Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Together
from hadash.switching.stages.run import Limits, StageFailed

from ..walking import QUICK, Fault, run_stage
from ..world import CARTS, WHOLE, World

WITHOUT_GROUPS = replace(WHOLE, groups=())


#: Commands that change the world.
WRITING = (
    do.WriteBindings,
    do.CopyAcls,
    do.CopyQuotas,
    do.PublishPlacement,
    do.AllowWrites,
    do.DenyWrites,
    do.RecordDrained,
    do.WriteGroupOffsets,
    do.RemoveGroupOffsets,
    do.PauseMirrors,
    do.ResumeMirrors,
    do.ReverseMirrors,
    do.RecordSeen,
)


def writes(command: object) -> bool:
    parts = command.commands if isinstance(command, Together) else (command,)
    return any(isinstance(part, WRITING) for part in parts)


def failure(world: World, stage: Stage, *faults: Fault, limits: Limits = QUICK) -> str:
    """The sentence with which ``stage`` fails."""
    with pytest.raises(StageFailed) as failed:
        run_stage(world, stage, limits, faults)
    return str(failed.value.sentence)


def written(world: World) -> list[tuple[str, BindingState]]:
    return [(c.cluster, c.state) for c in world.done if isinstance(c, do.WriteBindings)]


def lag(world: World, records: int) -> None:
    world.mirror.rate = 0
    for _ in range(records):
        world.write("east", CARTS)


EXCLUDED_AND_RUNNING = (
    "Gateway gw-2 is excluded, but it runs and may serve clients. Let switches wait for it again (on the overview), "
    "or stop it."
)


UNKNOWN = (
    "It is not known where group billing reads orders-1 on east: the group has committed nothing there, "
    "and no Gateway has seen its "
    "members fetch from it. Let them commit once, or restart them, then ask again."
)


BEFORE_FORWARD = [Stage.QUIESCE, Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE]
