"""Checks that take too long say which answers were slow, so that a person knows where to look."""

from __future__ import annotations

import pytest

from hadash.switching.check_times import ASKED_FOR, CheckTimes
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages import failover, precheck
from hadash.switching.stages.command import Command, Together
from hadash.switching.stages.run import StageRun

from .test_forcing import LostWorld
from .walking import QUICK
from .world import SPLIT, WHOLE, World


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_slowest_two_are_named_the_longest_first() -> None:
    clock = Clock()
    times = CheckTimes(clock)
    for command, seconds in (
        (do.ReadGateways(), 0.2),
        (do.CheckMirrors(thorough=True), 21.04),
        (do.CheckCluster("east"), 2.0),
        (do.CheckCluster("west"), 3.5),
    ):
        with times.of(command):
            clock.now += seconds
    assert [str(each) for each in times.slowest()] == [
        "the mirrors and Connect (21.0 s)",
        "the brokers of a cluster (5.5 s)",
    ]


def test_one_that_fails_counts_too() -> None:
    clock = Clock()
    times = CheckTimes(clock)
    with pytest.raises(TimeoutError), times.of(do.ReadBindings()):
        clock.now += 4
        raise TimeoutError
    assert [str(each) for each in times.slowest()] == ["the bindings (4.0 s)"]


def test_of_what_is_asked_at_the_same_time_each_counts_by_itself() -> None:
    clock = Clock()
    times = CheckTimes(clock)
    with times.of(Together((do.ReadGateways(),))), times.of(do.ReadGateways()):
        clock.now += 1
    assert [str(each) for each in times.slowest()] == ["the Gateways (1.0 s)"]


def asked_by(run: StageRun, world: World) -> set[type[Command[object]]]:
    """The kinds of commands that a run of checks yields when all of them hold."""
    asked: set[type[Command[object]]] = set()
    answer = None
    with pytest.raises(StopIteration):
        while True:
            command = run.send(answer)
            asked.update(map(type, command.commands if isinstance(command, Together) else [command]))
            answer = world.carry_out(command)
    return asked


@pytest.mark.parametrize("plan", [WHOLE, SPLIT], ids=lambda plan: plan.kind)
def test_every_answer_that_checks_wait_for_has_a_name(plan: Plan) -> None:
    asked = asked_by(precheck.preflight(plan, QUICK), World(plan))
    assert len(asked) > 8
    assert asked - ASKED_FOR.keys() == set()


def test_and_those_of_a_forced_switch() -> None:
    world = LostWorld()
    world.lose()
    asked = asked_by(failover.preflight(world.plan, QUICK), world)
    assert do.CheckLost in asked
    assert asked - ASKED_FOR.keys() == set()
