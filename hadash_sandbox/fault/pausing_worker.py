"""A Celery worker that waits at a point of a stage until it is told to continue.

Run it with ``celery -A hadash_sandbox.fault.pausing_worker``. See :mod:`hadash_sandbox.fault.points`; without its
variable this is an ordinary worker.

The worker's clock can jump at the point. Only this process is affected, in the functions that hadash and Celery use
(``time.time``, ``timezone.now``, and the clock by which Celery expires tasks), not the machine: the database and the
Gateways keep their clocks, as on other machines.
"""

from __future__ import annotations

import datetime as datetimes
import os
import threading
import time
from pathlib import Path
from typing import Any

import celery.worker.request
import django
import django.utils.timezone

from hadash_sandbox.fault.points import FOLDER, Points
from tasks.app import app

__all__ = ["app"]


class Clock:
    """The time as this process sees it: the real time plus the seconds that it has jumped."""

    def __init__(self) -> None:
        self.jumped = 0.0
        self._seconds = time.time

    def time(self) -> float:
        return self._seconds() + self.jumped

    def now(self) -> datetimes.datetime:
        return datetimes.datetime.fromtimestamp(self.time(), datetimes.UTC)

    def put_in_place(self) -> None:
        """Replace the real clocks. Call it before Django's models take the real functions as defaults."""
        clock = self

        class Datetime(datetimes.datetime):
            @classmethod
            def now(cls, tz: datetimes.tzinfo | None = None) -> Any:
                return datetimes.datetime.fromtimestamp(clock.time(), tz)

        time.time = self.time
        django.utils.timezone.now = self.now
        celery.worker.request.datetime = Datetime


def hook(points: Points, clock: Clock) -> None:
    """Make executors wait at the armed point, and report when the run that waited is over."""
    from hadash.switching.execution import executor
    from hadash.switching.execution.command_handler import CommandHandler

    carry_out = CommandHandler.__dict__[
        "carry_out"
    ]  # the descriptor itself, not the function that it returns
    run_stage = executor.run_stage
    #: By the token of a run that was held, the name of its point.
    held: dict[int, str] = {}
    lock = threading.Lock()

    def carry_out_or_wait(self: CommandHandler, command: Any) -> Any:
        journal = self.journal
        if journal is not None:  # a dry run has none
            found = points.hold(journal.stage, type(command).__name__)
            if found is not None:
                name, jump = found
                clock.jumped += jump
                with lock:
                    held[journal.token] = name
        return carry_out.__get__(self, CommandHandler)(command)

    def run_stage_and_say(switch_pk: int, token: int) -> int | None:
        try:
            return run_stage(switch_pk, token)
        finally:
            with lock:
                name = held.pop(token + 1, None)  # each run takes the next token
            if name is not None:
                points.leave(name)

    CommandHandler.carry_out = carry_out_or_wait  # type: ignore[method-assign]
    executor.run_stage = run_stage_and_say


if FOLDER in os.environ:
    _clock = Clock()
    _clock.put_in_place()
    django.setup()
    hook(Points(Path(os.environ[FOLDER])), _clock)
