"""The changes that a stage has made, as they are stored in the audit log. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from hadash.switching.stages.command import Command, Together
from hadash.switching.stages.commands import ReadBindings


def audited(command: Command[Any], answer: Any) -> list[dict[str, Any]]:
    """The effects of a command that was carried out; none for a command that only reads, except the bindings as
    they were before the first change.

    >>> from hadash.bindings.model import BindingState
    >>> from hadash.switching.stages.commands import WriteBindings
    >>> audited(WriteBindings("east", BindingState.BLOCK), 7)
    [{'effect': 'WriteBindings', 'cluster': 'east', 'state': 'block', 'answer': 7}]
    >>> audited(ReadBindings(before=True), {"shop": ("east", BindingState.FORWARD)})
    [{'effect': 'ReadBindings', 'before': True, 'answer': {'shop': ['east', 'forward']}}]
    >>> audited(ReadBindings(), {"shop": ("east", BindingState.FORWARD)})
    []
    """
    if isinstance(command, Together):
        return [one for each, its in zip(command.commands, answer, strict=True) for one in audited(each, its)]
    if not command.audited and not (isinstance(command, ReadBindings) and command.before):
        return []
    values = {field.name: _plain(getattr(command, field.name)) for field in fields(command)}
    return [{"effect": type(command).__name__, **values, "answer": _plain(answer)}]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
