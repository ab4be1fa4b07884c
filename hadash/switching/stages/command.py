"""Typed commands: :func:`ask` gives the type checker the type of a command's answer. Pure.

A stage is a generator of commands, which the code that drives it answers. A bare ``yield`` would have an answer of
any type.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

R = TypeVar("R")
Answer = TypeVar("Answer", covariant=True)


class Command(Generic[Answer]):
    """A command of a stage; ``Answer`` is the type of its answer."""

    __slots__ = ()


#: A part of a stage: it yields commands, and returns a result of its own.
Step = Generator[Command[Any], Any, R]


def ask(command: Command[R]) -> Step[R]:
    """Yield one command and return its answer: ``answer = yield from ask(command)``."""
    answer: R = yield command
    return answer
