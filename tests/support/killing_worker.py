"""A Celery worker that kills itself with SIGKILL at one point of one stage: ``celery -A tests.support.killing_worker``.

``KILL_STAGE`` and ``KILL_COMMAND`` name the point, ``KILL_WHEN`` is ``before`` or ``after`` the command has been
carried out, ``KILL_MARK`` is a file that says that it has happened: it happens once.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import django

from tasks.app import app

django.setup()

from hadash.switching.effects import Effects  # noqa: E402  (needs Django to be set up)

__all__ = ["app"]

_STAGE, _COMMAND, _WHEN = (os.environ[f"KILL_{name}"] for name in ("STAGE", "COMMAND", "WHEN"))
_MARK = Path(os.environ["KILL_MARK"])
_carry_out = Effects.__dict__["carry_out"]  # the descriptor itself, not what it gives to the class


def _die() -> None:
    _MARK.touch()
    os.kill(os.getpid(), signal.SIGKILL)


def _carry_out_or_die(self: Effects, command: Any) -> Any:
    here = (
        self.journal is not None
        and self.journal.stage == _STAGE
        and type(command).__name__ == _COMMAND
        and not _MARK.exists()
    )
    if here and _WHEN == "before":
        _die()
    answer = _carry_out.__get__(self, Effects)(command)
    if here:
        _die()
    return answer


Effects.carry_out = _carry_out_or_die  # type: ignore[method-assign, assignment]
