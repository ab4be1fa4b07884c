"""How stages wait. Time passes only in their pauses, so nothing here takes any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from hadash.sentences import Sentence, say
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import StageFailed
from hadash.switching.stages.waiting import NotYet, hold_for, wait_until

R = TypeVar("R")


class Clock:
    """Drives a step: pauses pass, and what was said is kept."""

    def __init__(self, begins_at: float = 0.0) -> None:
        self.now = begins_at
        self.said: list[str] = []

    def run(self, step: Step[R]) -> R:
        answer: Any = None
        while True:
            try:
                command = step.send(answer)
            except StopIteration as end:
                result: R = end.value
                return result
            answer = None
            if isinstance(command, do.Say):
                self.said.append(str(command.sentence))
            elif isinstance(command, do.Pause):
                self.now += command.seconds
                answer = self.now
            elif isinstance(command, do.ReadWaiting):
                answer = self.now


def ready_at(second: float) -> Callable[[], Step[float | NotYet]]:
    """What holds from a second on; it asks for the time as it would for anything else."""

    def look() -> Step[float | NotYet]:
        now: Any = yield from ask(do.ReadWaiting(0))
        return now if now >= second else NotYet(say("It was not there in time."), say("Waiting for it."))

    return look


class TestWaitUntil:
    def test_what_holds_already_is_not_waited_for(self) -> None:
        clock = Clock()
        assert clock.run(wait_until(ready_at(0), seconds=10, poll=1)) == 0
        assert clock.said == []

    def test_it_looks_again_until_it_holds_and_says_once_what_it_waits_for(self) -> None:
        clock = Clock()
        assert clock.run(wait_until(ready_at(5), seconds=10, poll=1)) == 5
        assert clock.said == ["Waiting for it."]

    def test_of_a_short_wait_nobody_is_told(self) -> None:
        clock = Clock()
        clock.run(wait_until(ready_at(3), seconds=10, poll=1, tell_after=4))
        assert clock.said == []

    def test_when_time_is_up_it_says_why(self) -> None:
        with pytest.raises(StageFailed, match="It was not there in time"):
            Clock().run(wait_until(ready_at(12), seconds=10, poll=1))

    def test_the_time_counts_from_when_the_wait_began_or_from_before(self) -> None:
        clock = Clock(begins_at=100)
        assert clock.run(wait_until(ready_at(109), seconds=10, poll=1)) == 109
        with pytest.raises(StageFailed):
            Clock(begins_at=100).run(wait_until(ready_at(109), seconds=10, poll=1, began=95))


def missing_in(seconds: frozenset[int]) -> Callable[[float], Step[Sentence | None]]:
    def look(elapsed: float) -> Step[Sentence | None]:
        yield from ask(do.ReadWaiting(0))
        return say("It is missing.") if round(elapsed) in seconds else None

    return look


def one_after_the_other(*answers: Sentence | None) -> Callable[[], Step[Sentence | None]]:
    rest: Iterator[Sentence | None] = iter(answers)

    def look() -> Step[Sentence | None]:
        yield from ask(do.ReadWaiting(0))
        return next(rest)

    return look


class TestHoldFor:
    def test_it_ends_when_nothing_was_missing_for_so_long(self) -> None:
        clock = Clock()
        clock.run(hold_for(missing_in(frozenset()), hold=3, seconds=20, poll=1))
        assert clock.now == 4

    def test_whatever_is_missing_for_a_moment_begins_the_wait_again(self) -> None:
        clock = Clock()
        clock.run(hold_for(missing_in(frozenset({0, 1, 4})), hold=3, seconds=20, poll=1))
        assert clock.now == 9

    def test_when_time_is_up_it_says_what_was_missing(self) -> None:
        with pytest.raises(StageFailed, match="It is missing"):
            Clock().run(hold_for(missing_in(frozenset(range(30))), hold=3, seconds=20, poll=1))

    def test_what_is_looked_at_last_is_looked_at_once_it_holds_and_begins_the_wait_again(self) -> None:
        clock = Clock()
        last = one_after_the_other(say("Somebody still writes there."), None)
        clock.run(hold_for(missing_in(frozenset()), hold=3, seconds=20, poll=1, at_last=last))
        assert clock.now == 8

    def test_and_when_time_is_up_it_says_that(self) -> None:
        last = one_after_the_other(*[say("Somebody still writes there.")] * 30)
        with pytest.raises(StageFailed, match="Somebody still writes there"):
            Clock().run(hold_for(missing_in(frozenset()), hold=3, seconds=20, poll=1, at_last=last))
