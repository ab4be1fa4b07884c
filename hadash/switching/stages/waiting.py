"""How stages wait: they look repeatedly until something holds, or has held for a while, or for a while only. Pure.

Time passes only in :class:`~hadash.switching.stages.commands.Pause`, which the code that drives a stage answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hadash.sentences import Sentence
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import StageFailed

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class NotYet:
    """A condition does not hold yet. ``fault``: why the stage fails when its time is up. ``meanwhile``: what is said
    once to the people who wait.
    """

    fault: Sentence
    meanwhile: Sentence | None = None


def wait_until(
    look: Callable[[], Step[R | NotYet]],
    seconds: float,
    poll: float,
    *,
    began: float | None = None,
    tell_after: float = 1.0,
) -> Step[R]:
    """Look every ``poll`` seconds until the result is something else than :class:`NotYet`, and return it.

    :param seconds: the longest wait. :param began: when it began, in seconds since the stage began; default: now.
    :param tell_after: seconds after which people are told what is waited for.
    :raises StageFailed: time is up.
    """
    if began is None:
        began = yield from ask(do.Pause(0))
    told = False
    while True:
        found = yield from look()
        if not isinstance(found, NotYet):
            return found
        elapsed = (yield from ask(do.Pause(poll))) - began
        if elapsed > seconds:
            raise StageFailed(found.fault)
        if found.meanwhile is not None and elapsed > tell_after and not told:
            told = True
            yield from ask(do.Say(found.meanwhile))


def wait_for_a_while(
    look: Callable[[], Step[R]], fits: Callable[[R], bool], seconds: float, poll: float
) -> Step[R]:
    """Look every ``poll`` seconds until what is seen fits, or ``seconds`` have passed; return what was seen last.

    For what is better waited for and can do without: the caller goes on either way.
    """
    began = yield from ask(do.Pause(0))
    while True:
        found = yield from look()
        if fits(found) or (yield from ask(do.Pause(poll))) - began > seconds:
            return found


def hold_for(
    look: Callable[[float], Step[Sentence | None]],
    hold: float,
    seconds: float,
    poll: float,
    at_last: Callable[[], Step[Sentence | None]] | None = None,
) -> Step[None]:
    """Look every ``poll`` seconds until nothing has been missing for ``hold`` seconds without a break.

    :param look: returns what is missing, as a sentence; it is given the seconds since the stage began.
    :param seconds: the limit, since the stage began.
    :param at_last: a slower look, made once nothing has been missing for so long; if it finds something, the wait
        begins again.
    :raises StageFailed: time is up. It says what was missing last.
    """
    held_since: float | None = None
    elapsed = yield from ask(do.Pause(0))
    while True:
        missing = yield from look(elapsed)
        elapsed = yield from ask(do.Pause(poll))
        if missing is None:
            held_since = elapsed if held_since is None else held_since
            if elapsed - held_since < hold:
                continue
            missing = (yield from at_last()) if at_last is not None else None
            if missing is None:
                return
        held_since = None
        if elapsed > seconds:
            raise StageFailed(missing)
