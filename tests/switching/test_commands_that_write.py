"""What changes a server is fenced, and recorded: a command whose name does not say that it reads is a ``Write``."""

from __future__ import annotations

import pytest

from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command, Write

#: How commands begin that change nothing on a server.
READING = ("Read", "Check", "Compare", "Compute")
#: How commands begin that write to the switch's own rows, in the transaction that checks its token.
RECORDING = ("Record",)
#: Commands of the stages themselves.
OWN = {do.Say, do.Pause}

COMMANDS = [
    each
    for each in vars(do).values()
    if isinstance(each, type) and issubclass(each, Command) and each not in {Command, Write, *OWN}
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_a_command_that_writes_is_fenced_and_recorded(command: type[Command[object]]) -> None:
    writes = not command.__name__.startswith((*READING, *RECORDING))
    assert (command.fenced or command is do.WriteBindings) is writes
    if writes and command is not do.WarmUp:  # (it changes nothing that anybody would ask about)
        assert command.audited
    if command.__name__.startswith(READING):
        assert not command.audited


def test_there_are_commands_of_both_kinds() -> None:
    assert len(COMMANDS) > 40 and 10 < sum(command.fenced for command in COMMANDS) < len(COMMANDS)
