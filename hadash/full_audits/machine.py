"""All states and moves of a full audit, as a table. Pure.

``docs/states.md`` shows it, drawn by ``docs/draw_states.py``.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Status(StrEnum):
    """The states of a full audit."""

    #: A worker begins it as soon as no other one is running.
    WAITING = "waiting"
    RUNNING = "running"
    #: Everything was compared; whether anything differs stands beside it.
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What can happen to a full audit."""

    BEGIN = "begin"
    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"


#: status × event → status.
MACHINE = Machine[Status, Event](
    "A full audit",
    {
        Status.WAITING: {Event.BEGIN: Status.RUNNING, Event.CANCEL: Status.CANCELLED},
        Status.RUNNING: {
            Event.FINISH: Status.DONE,
            Event.FAIL: Status.FAILED,
            Event.CANCEL: Status.CANCELLED,
        },
        Status.DONE: {},
        Status.FAILED: {},
        Status.CANCELLED: {},
    },
    starts=(Status.WAITING,),
)
