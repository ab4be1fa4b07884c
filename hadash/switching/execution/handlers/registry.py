"""Which function carries out which command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: By the class of the command: a function of the :class:`CommandHandler` and the command, that returns its answer.
HANDLERS: dict[type, Callable[[Any, Any], Any]] = {}


def handles(command: type) -> Callable[[F], F]:
    """Registers a function as the one that carries out ``command``."""

    def register(function: F) -> F:
        if command in HANDLERS:
            raise ValueError(f"Two functions carry out {command.__name__}.")
        HANDLERS[command] = function
        return function

    return register
