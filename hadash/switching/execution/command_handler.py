"""Carry out the commands of a stage: the only place where a switch reads and changes real servers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from hadash.switching.execution.handlers import (  # noqa: F401 (they register)
    bindings,
    clusters,
    mirrors,
    pools,
    records,
)
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.registry import HANDLERS, handles
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command, Together

R = TypeVar("R")


class CommandHandler(HandlerContext):
    """Carries out the commands of one switch."""

    def carry_out(self, command: Command[R]) -> R:
        """The answer to one command, as its class describes it."""
        answer: R = HANDLERS[type(command)](self, command)
        return answer


@handles(do.Say)
def say_it(hand: CommandHandler, command: do.Say) -> None:
    hand.said(command.sentence)


@handles(do.Pause)
def pause(hand: CommandHandler, command: do.Pause) -> float:
    if command.seconds:
        time.sleep(command.seconds)
    return hand.seconds


@handles(Together)
def together(hand: CommandHandler, command: Together) -> list[Any]:
    *others, last = command.commands
    # The last command runs here, because only this thread has a database connection.
    with ThreadPoolExecutor(max_workers=max(len(others), 1)) as beside:
        started = [beside.submit(hand.carry_out, other) for other in others]
        answer = hand.carry_out(last)
        return [*(future.result() for future in started), answer]
