"""A rehearsal over the simulated pair of clusters: what it says, and that it leaves everything as it was."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from hadash.sentences import say
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import LastRecordsCompared
from hadash.switching.stages.command import Write
from hadash.switching.stages.precheck import precheck_only
from hadash.switching.stages.rehearsal import rehearse
from hadash.switching.stages.run import Limits, StageFailed
from hadash.switching.stages.ways import run_of

from .walking import QUICK, run_stage
from .world import World


def run(world: World, limits: Limits = QUICK) -> str:
    """The sentence of a rehearsal in ``world``."""
    return run_stage(world, Stage.REHEARSE, limits)


def test_a_busy_mirror_that_follows() -> None:
    world = World()
    text = run(world)
    assert text.startswith("Rehearsed: ")
    assert "3 partitions" in text
    assert text.endswith("the offsets of all groups (1) can be translated. Nothing was changed.")


def test_it_leaves_everything_as_it_was() -> None:
    world = World(traffic=False)
    before = world.kept()
    run(world)
    checks = precheck_only(world.plan, QUICK)
    answer = None
    with suppress(StopIteration):
        while True:
            answer = world.carry_out(checks.send(answer))
    assert world.kept() == before
    assert not any(
        isinstance(command, (Write, do.WriteBindings, do.RecordDrained, do.RecordSeen))
        for command in world.done
    )


def test_a_mirror_that_stands_still() -> None:
    world = World()
    world.mirror.rate = 0
    with pytest.raises(StageFailed) as failed:
        run(world, replace(QUICK, drain=0.5))
    assert "a switch would have returned" in str(failed.value.sentence)


def test_its_checks_copy_no_acls() -> None:
    assert run_of(Kind.REHEARSAL, Stage.PRECHECK) is precheck_only
    assert run_of(Kind.PLANNED, Stage.PRECHECK) is not precheck_only


def test_a_difference_is_told() -> None:
    world = World(traffic=False)
    steps = rehearse(world.plan, QUICK)
    command = next(steps)
    while not isinstance(command, do.CompareLastRecords):
        command = steps.send(world.carry_out(command))
    with pytest.raises(StageFailed, match="differ"):
        steps.send(LastRecordsCompared(say("The last 3 records differ."), {}, {}))
