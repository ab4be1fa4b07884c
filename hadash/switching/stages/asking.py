"""How a stage asks for something and gets its answer, so that the type checker knows what kind of answer. Pure.

A stage is a generator of commands, which whoever drives it answers. ``yield`` alone would be answered with
anything; :func:`ask` says what a command is answered with.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

R = TypeVar("R")
Answer = TypeVar("Answer", covariant=True)


class Command(Generic[Answer]):
    """Something that a stage asks for; ``Answer`` is the type of what it is answered with."""

    __slots__ = ()


#: A part of a stage: asks for commands, and returns something itself.
Step = Generator[Command[Any], Any, R]


def ask(command: Command[R]) -> Step[R]:
    """``answer = yield from ask(command)``"""
    answer: R = yield command
    return answer
