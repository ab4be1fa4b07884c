"""Every command of a stage has somebody who carries it out, and nobody carries out what no stage asks for."""

from __future__ import annotations

import inspect

import pytest

from hadash.switching.execution import command_handler  # (importing it registers all)
from hadash.switching.execution.handlers.registry import HANDLERS, handles
from hadash.switching.stages import commands
from hadash.switching.stages.command import Together

COMMANDS = {
    value
    for value in vars(commands).values()
    if inspect.isclass(value) and value.__module__ == commands.__name__ and not value.__name__.startswith("_")
} | {Together}


def test_every_command_is_carried_out() -> None:
    assert command_handler.HANDLERS is HANDLERS
    assert set(HANDLERS) == COMMANDS


def test_no_two_functions_carry_out_the_same() -> None:
    with pytest.raises(ValueError, match="Two functions carry out Say"):
        handles(commands.Say)(lambda hand, command: None)
