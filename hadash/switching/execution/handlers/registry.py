"""The registry of the functions that carry out commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hadash.switching.stages.command import Command

R = TypeVar("R")

#: A function of the handlers' context and the command that returns the command's answer.
Handler = Callable[[Any, Any], R]

#: By the class of the command.
HANDLERS: dict[type[Command[Any]], Handler[Any]] = {}


def handles(command: type[Command[R]]) -> Callable[[Handler[R]], Handler[R]]:
    """Register a function that carries out ``command`` and returns its answer."""

    def register(function: Handler[R]) -> Handler[R]:
        if command in HANDLERS:
            raise ValueError(f"Two functions carry out {command.__name__}.")
        HANDLERS[command] = function
        return function

    return register
