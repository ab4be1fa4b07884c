"""Typed commands: :func:`ask` gives the type checker the type of a command's answer. Pure.

A stage is a generator of commands, which the code that drives it answers. A bare ``yield`` would have an answer of
any type.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, overload

R = TypeVar("R")
Answer = TypeVar("Answer", covariant=True)


@dataclass(frozen=True, slots=True)
class Command(Generic[Answer]):
    """A command of a stage; ``Answer`` is the type of its answer."""

    #: Whether the executor makes sure that it still holds the switch directly before it carries the command out.
    fenced: ClassVar[bool] = False
    #: Whether the audit log keeps the command with its answer.
    audited: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Write(Command[Answer]):
    """A command that changes something on a server, other than bindings."""

    fenced: ClassVar[bool] = True
    audited: ClassVar[bool] = True


#: A part of a stage: it yields commands, and returns a result of its own.
Step = Generator[Command[Any], Any, R]


def ask(command: Command[R]) -> Step[R]:
    """Yield one command and return its answer: ``answer = yield from ask(command)``."""
    answer: R = yield command
    return answer


@dataclass(frozen=True, slots=True)
class Together(Command[list[Any]]):
    """Carry out several independent commands at the same time → their answers, in order. Asked by
    :func:`ask_together`, which knows the type of each.
    """

    commands: tuple[Command[Any], ...]


_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")
_E = TypeVar("_E")


@overload
def ask_together(a: Command[_A], b: Command[_B], /) -> Step[tuple[_A, _B]]: ...


@overload
def ask_together(a: Command[_A], b: Command[_B], c: Command[_C], /) -> Step[tuple[_A, _B, _C]]: ...


@overload
def ask_together(
    a: Command[_A], b: Command[_B], c: Command[_C], d: Command[_D], /
) -> Step[tuple[_A, _B, _C, _D]]: ...


@overload
def ask_together(
    a: Command[_A], b: Command[_B], c: Command[_C], d: Command[_D], e: Command[_E], /
) -> Step[tuple[_A, _B, _C, _D, _E]]: ...


def ask_together(*commands: Command[Any]) -> Step[Any]:
    """Yield several independent commands at once and return their answers, in order."""
    return tuple((yield from ask(Together(commands))))
