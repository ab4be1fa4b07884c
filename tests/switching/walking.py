"""Driving stages and whole switches over a :class:`World`, as the executor does, with things going wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hadash.bindings.errors import AlreadyForwarded, BindingError
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import (
    ABORTABLE,
    FIRST,
    HOLDING,
    MACHINE,
    Event,
    Kind,
    Stage,
    Status,
    after_failure,
    after_success,
)
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command
from hadash.switching.stages.resuming import resumed_at
from hadash.switching.stages.run import Limits, StageFailed, check_blocked
from hadash.switching.stages.ways import run_of

from .parts import WorldError
from .world import ORDERS_1, SPLIT, Happening, Rows, World

#: Short, so that a test does not poll thousands of times.
QUICK = Limits(
    hold_heartbeats=0.3,
    quiesce=2,
    block=1,
    drain=1,
    blocked=1.5,
    forward=2,
    reverse=2,
    verify=2,
    verify_hold=0.2,
    fast_poll=0.02,
)


class Killed(Exception):
    """The worker is gone; another one will begin the stage again."""


def _stick(gateway: str, stuck: bool) -> Happening:
    def happen(world: World) -> None:
        world.gateways[gateway].stuck = stuck

    return happen


def _die(world: World) -> None:
    world.gateways["gw-2"].stuck, world.gateways["gw-2"].live = True, False


def _rate(records_a_second: float) -> Happening:
    def happen(world: World) -> None:
        world.mirror.rate = records_a_second

    return happen


def _fail_mirror(world: World) -> None:
    world.mirror.state, world.mirror.fault, world.mirror.starts_at = (
        "failed",
        Sentence.from_json("out of memory"),
        None,
    )


def _deafen(world: World) -> None:
    world.group.members[0].deaf = True


#: What may happen to the world, and can be repaired.
HAPPENINGS: dict[str, Happening] = {
    "gw-1 sticks": _stick("gw-1", True),
    "gw-2 sticks": _stick("gw-2", True),
    "gw-2 goes on": _stick("gw-2", False),
    "gw-2 dies": _die,
    "the mirror stalls": _rate(0),
    "the mirror is slow": _rate(20),
    "the mirror is quick": _rate(10_000),
    "the mirror fails": _fail_mirror,
    "the mirror will not turn": lambda world: setattr(world.mirror, "never_turns", True),
    "east is down": lambda world: world.down.add("east"),
    "west is down": lambda world: world.down.add("west"),
    "the clusters are back": lambda world: world.down.clear(),
    "a member is deaf": _deafen,
    "a client stays": lambda world: setattr(world.clients["bill-2"], "follows", False),
    "a record comes to an idle partition": lambda world: world.write_to_idle(),
    "an offset is forgotten": lambda world: setattr(world, "forgets", ORDERS_1),
}

#: What no retry can undo.
LASTING: dict[str, Happening] = {
    "a client ends": lambda world: world.leave("bill-2"),
    "the source is written past the Gateways": lambda world: world.write_past("east"),
    "the mirror is written to": lambda world: world.write_past("west"),
    "a record of the mirror is damaged": lambda world: world.damage("west"),
}

#: What happens to the worker, or to one of its commands.
ON_THE_WAY = ("killed before", "killed after", "refused", "answer lost", "aborted")

#: PostgreSQL fails over to a replica without what was committed during the last so many commands. Its
#: connections break, so the switch goes on with another executor.
FORGETTING = {f"PostgreSQL forgets {count} commands": count for count in (1, 3, 8, 20, 50)}


@dataclass(frozen=True, slots=True)
class Fault:
    """``what`` happens at a command of ``stage``, once: at the one with a number, or the first one of a class."""

    stage: Stage
    at: int | type[Command[Any]]
    what: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a switch ended: after which stage, and why, which is what the executor keeps as its outcome."""

    status: Status
    stage: Stage
    sentence: Sentence
    stages: tuple[Stage, ...]


class Walk:
    """One switch. Like the executor it answers commands, and like a person it can retry."""

    def __init__(self, world: World, faults: Iterable[Fault] = (), limits: Limits = QUICK) -> None:
        self.world = world
        self.limits = limits
        self.status = Status.RUNNING
        self.stage: Stage = FIRST
        self.stages: list[Stage] = []
        self._failure: Sentence | None = None
        #: What PostgreSQL held before each command: the stage, and the rest.
        self._earlier: list[tuple[Stage, Rows]] = []
        self._blocked_at: float | None = None
        self._faults = list(faults)

    def run(self) -> Ended:
        """Stage after stage until the switch ends or needs a person."""
        while True:
            self._read_back()
            self.stages.append(self.stage)
            try:
                sentence = self.run_stage()
            except (Killed, AlreadyForwarded):
                continue
            except StageFailed as failure:
                following = self._failed(failure.sentence)
            except (WorldError, BindingError) as error:
                following = self._failed(say("%(error)s", error=error))
            else:
                following = after_success(self.stage, self.world.plan.kind)
            if isinstance(following, Event):
                self.status = MACHINE.after(self.status, following)
                return Ended(self.status, self.stage, self._failure or sentence, tuple(self.stages))
            self.stage = following

    def _read_back(self) -> None:
        """As an executor does that takes a switch over."""
        written = self.world.stages_written()
        self.stage = resumed_at(self.world.plan.kind, self.stage, written)
        self.world.read_facts_back()

    def _forget(self, commands: int) -> None:
        self.stage, rows = self._earlier[max(len(self._earlier) - commands, 0)]
        self.world.set_back(rows)

    def _failed(self, sentence: Sentence) -> Stage | Event:
        self._failure = sentence
        return after_failure(self.stage)

    def repair(self) -> Ended:
        """Somebody repairs the world and lets the stage run again; nothing else happens any more."""
        self._faults.clear()
        self._failure = None
        self.world.heal()
        self.status = MACHINE.after(self.status, Event.RETRY)
        return self.run()

    def run_stage(self) -> Sentence:
        """Answer the commands of the current stage until it returns its sentence."""
        self.world.begin_stage(self.stage)
        run = run_of(self.world.plan.kind, self.stage)(self.world.plan, self.limits)
        answer: Any = None
        nth = 0
        while True:
            try:
                command = run.send(answer)
            except StopIteration as end:
                sentence: Sentence = end.value
                return sentence
            due = self._due(nth, type(command))
            self._earlier.append((self.stage, self.world.rows()))
            self._before(due)
            self._check_holding(command)
            answer = self.world.carry_out(command)
            if "killed after" in due:
                raise Killed
            if "answer lost" in due:
                raise WorldError("The answer was lost: nobody knows whether it happened.")
            nth += 1

    def _check_holding(self, command: Command[Any]) -> None:
        """As the executor does while clients wait."""
        if self.stage not in HOLDING:
            return
        if self._blocked_at is not None:
            check_blocked(self.world.now - self._blocked_at, self.world.plan, self.limits)
        elif isinstance(command, do.WriteBindings):
            self._blocked_at = self.world.now

    def _due(self, nth: int, kind: type[Command[Any]]) -> set[str]:
        due = [fault for fault in self._faults if fault.stage is self.stage and fault.at in (nth, kind)]
        self._faults = [fault for fault in self._faults if fault not in due]
        return {fault.what for fault in due}

    def _before(self, due: set[str]) -> None:
        for what in sorted(due - set(ON_THE_WAY) - set(FORGETTING)):
            (HAPPENINGS | LASTING)[what](self.world)
        for what in sorted(due & set(FORGETTING)):
            self._forget(FORGETTING[what])
            raise Killed
        if "killed before" in due:
            raise Killed
        if "refused" in due:
            raise WorldError("The server refused.")
        if "aborted" in due and self.stage in ABORTABLE:
            raise StageFailed(say("%(user)s aborted the switch.", user="bob"))


def run_stage(world: World, stage: Stage, limits: Limits = QUICK, faults: Iterable[Fault] = ()) -> str:
    """Run one stage; its sentence. :raises StageFailed:, :raises WorldError:, :raises Killed: as they come."""
    walk = Walk(world, faults, limits)
    walk.stage = stage
    return str(walk.run_stage())


def steps(world: World, stage: Stage, limits: Limits = QUICK) -> Iterator[Command[Any]]:
    """Run one stage and stop before each command, so that a test can look and meddle."""
    world.begin_stage(stage)
    run = run_of(world.plan.kind, stage)(world.plan, limits)
    answer: Any = None
    while True:
        try:
            command = run.send(answer)
        except StopIteration:
            return
        yield command
        answer = world.carry_out(command)


def world_before(
    stage: Stage, prepare: Callable[[World], None] = lambda world: None, **options: Any
) -> World:
    """A world in which every stage before ``stage`` went well; ``prepare`` changes it at the very start."""
    if stage is Stage.CATCH_UP:
        options = {"plan": SPLIT, **options}  # no other kind comes to it
    world = World(**options)
    prepare(world)
    at = FIRST
    kind = Kind.REHEARSAL if stage is Stage.REHEARSE else world.plan.kind
    while at is not stage:
        run_stage(world, at)
        following = after_success(at, kind)
        assert isinstance(following, Stage)
        at = following
    return world
