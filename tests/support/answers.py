"""Whether an answer is of the type that its command says, looked at as it runs."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence, Set
from typing import Any, ForwardRef, Union, get_args, get_origin

from hadash.switching.stages import commands
from hadash.switching.stages.command import Command, Write


def answered_with(command: type[Command[Any]]) -> Any:
    """The type between the brackets of ``Command[…]`` or ``Write[…]``."""
    (base,) = (each for each in command.__orig_bases__ if get_origin(each) in (Command, Write))  # type: ignore[attr-defined]
    (answer,) = get_args(base)
    if isinstance(answer, ForwardRef):
        return vars(commands)[answer.__forward_arg__]
    return answer


def is_a(value: Any, kind: Any) -> bool:
    """
    >>> is_a({"a": (1, None)}, Mapping[str, tuple[int, str | None]]), is_a([1, "2"], list[int])
    (True, False)
    >>> is_a(3, float), is_a(None, None), is_a(True, int), is_a((1, 2, 3), tuple[int, ...])
    (True, True, True, True)
    """
    if kind is Any:
        return True
    if kind is None or kind is type(None):
        return value is None
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(is_a(value, each) for each in args)
    if origin is None:
        return isinstance(value, (int, float) if kind is float else kind)
    if not isinstance(value, origin):
        return False
    if issubclass(origin, Mapping):
        return all(is_a(key, args[0]) and is_a(each, args[1]) for key, each in value.items())
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        return len(value) == len(args) and all(map(is_a, value, args))
    if issubclass(origin, (Sequence, Set)):
        return all(is_a(each, args[0]) for each in value)
    raise TypeError(f"Nobody has said how to tell that something is a {kind}.")


def check(command: Command[Any], answer: Any) -> None:
    """:raises AssertionError: it is none."""
    wanted = answered_with(type(command))
    assert is_a(answer, wanted), f"{type(command).__name__} is answered with {answer!r}, which is no {wanted}"
