"""Which function carries out which command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hadash.switching.stages.asking import Command

R = TypeVar("R")

#: A function of the :class:`CommandHandler` and the command, that returns its answer.
Handler = Callable[[Any, Any], R]

#: By the class of the command.
HANDLERS: dict[type[Command[Any]], Handler[Any]] = {}


def handles(command: type[Command[R]]) -> Callable[[Handler[R]], Handler[R]]:
    """Registers a function as the one that carries out ``command``: it returns what that is answered with."""

    def register(function: Handler[R]) -> Handler[R]:
        if command in HANDLERS:
            raise ValueError(f"Two functions carry out {command.__name__}.")
        HANDLERS[command] = function
        return function

    return register
