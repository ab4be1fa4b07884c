"""A Celery worker that kills itself with SIGKILL at one point of one stage: ``celery -A tests.support.killing_worker``.

``KILL_STAGE`` and ``KILL_COMMAND`` name the point, ``KILL_WHEN`` is ``before`` or ``after`` the command has been
carried out. ``KILL_ARMED`` is a file that names such a point instead, which a test writes while workers run.
``KILL_MARK`` is a file that says that it has happened: it happens once, to the first of several workers that comes to
the point.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import django

from tasks.app import app

django.setup()

from hadash.switching.execution.command_handler import CommandHandler  # noqa: E402  (needs Django to be set up)

__all__ = ["app"]

_MARK = Path(os.environ["KILL_MARK"])
_carry_out = CommandHandler.__dict__["carry_out"]  # the descriptor itself, not what it gives to the class


def _point() -> dict[str, str]:
    """Where to die: its stage, command and when; nothing of it when no test has armed a point yet."""
    if "KILL_ARMED" not in os.environ:
        return {name: os.environ[f"KILL_{name.upper()}"] for name in ("stage", "command", "when")}
    try:
        found: dict[str, str] = json.loads(Path(os.environ["KILL_ARMED"]).read_text())
    except FileNotFoundError:
        return {}
    return found


def _die() -> None:
    try:
        os.close(os.open(_MARK, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return  # another worker has died here
    os.kill(os.getpid(), signal.SIGKILL)


def _carry_out_or_die(self: CommandHandler, command: Any) -> Any:
    point = _point() if self.journal is not None and not _MARK.exists() else {}
    here = (
        self.journal is not None
        and point.get("stage") == self.journal.stage
        and point.get("command") == type(command).__name__
    )
    if here and point["when"] == "before":
        _die()
    answer = _carry_out.__get__(self, CommandHandler)(command)
    if here and point["when"] == "after":
        _die()
    return answer


CommandHandler.carry_out = _carry_out_or_die  # type: ignore[method-assign, assignment]
