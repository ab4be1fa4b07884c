"""The simulated world answers each command with what the command says, as the type checker holds of the real
handlers: a stage that is tried in the one meets the same in the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest
from support import answers

from hadash.mirroring.offsets import OffsetSync
from hadash.switching.execution import command_handler  # noqa: F401 (importing it registers all)
from hadash.switching.execution.handlers.registry import HANDLERS
from hadash.switching.machines.switches import Status
from hadash.switching.plan import PoolTopic
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command, Together

from .test_forcing import LostWorld
from .walking import Walk
from .world import ORDERS_0, SPLIT, WHOLE, World

R = TypeVar("R")


def watched(kind: type[World], answered: set[type[Command[Any]]]) -> type[World]:
    """The same world, whose answers are looked at; ``answered`` gets the commands."""

    class Watched(kind):  # type: ignore[valid-type,misc]
        def carry_out(self, command: Command[R]) -> R:
            answer: R = super().carry_out(command)
            parts = [(command, answer)]
            if isinstance(command, Together):
                parts = [*zip(command.commands, answer, strict=True)]  # type: ignore[call-overload]
            for part, its in parts:
                answers.check(part, its)
                answered.add(type(part))
            return answer

    return Watched


def test_all_commands_are_answered_as_they_say() -> None:
    answered: set[type[Command[Any]]] = set()
    world = watched(World, answered)()
    assert Walk(world).run().status is Status.SUCCEEDED
    assert Walk(watched(World, answered)(plan=SPLIT)).run().status is Status.SUCCEEDED
    pooled = replace(WHOLE, pools=(PoolTopic("readers", "orders", "audit"),))
    assert Walk(watched(World, answered)(plan=pooled)).run().status is Status.SUCCEEDED
    stalled = watched(World, answered)()
    stalled.mirror.rate = 0
    assert Walk(stalled).run().status is Status.ROLLED_BACK
    lost = watched(LostWorld, answered)()
    lost.lose(lag=2)  # type: ignore[attr-defined]
    assert Walk(lost).run().status is Status.SUCCEEDED
    # What is asked only where something is in the way.
    point = OffsetSync(0, 0)
    for command in (
        do.CopyQuotas(),
        do.ReadPositions(frozenset({"web-1"})),
        do.CompareNext({ORDERS_0: point}, {ORDERS_0: point}),
        do.RemoveGroupOffsets({world.group.name: frozenset({ORDERS_0})}),
    ):
        world.carry_out(command)
    assert answered == HANDLERS.keys() - {Together}


def test_a_world_that_answers_something_else_is_noticed() -> None:
    with pytest.raises(AssertionError, match="CheckCluster is answered with 7"):
        answers.check(do.CheckCluster("east"), 7)
