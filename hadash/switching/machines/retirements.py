"""All states and moves of a retirement, as a table, and the steps of one that runs. Pure.

``docs/states.md`` is drawn from these tables.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Status(StrEnum):
    """Where a retirement is in its life."""

    #: For its day. Until then the clients can go back.
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    #: The old Topics stay, because somebody said so or the clients went back.
    KEPT = "kept"
    #: Something stood against it: a person has to look.
    FAILED = "failed"


class Event(StrEnum):
    """What happens to a retirement."""

    PUT_OFF = "put off"
    KEEP = "keep"
    RETIRE = "retire"
    #: A server did not answer: it is tried again.
    DEFER = "defer"
    FINISH = "finish"
    FAIL = "fail"


#: status × event → status. An event that is not named here is refused, and the status stays.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.WAITING: {
        Event.PUT_OFF: Status.WAITING,
        Event.KEEP: Status.KEPT,
        Event.RETIRE: Status.RUNNING,
        Event.FAIL: Status.FAILED,
    },
    Status.RUNNING: {
        Event.FINISH: Status.DONE,
        Event.DEFER: Status.WAITING,
        Event.FAIL: Status.FAILED,
    },
    Status.FAILED: {
        Event.PUT_OFF: Status.WAITING,
        Event.KEEP: Status.KEPT,
        Event.RETIRE: Status.RUNNING,
    },
    Status.DONE: {},
    Status.KEPT: {},
}

MACHINE = Machine("A retirement", MOVES)
#: Statuses in which it has not come to its end.
OPEN = MACHINE.open


class Step(StrEnum):
    """What is taken away, in this order. Before each of them everything is looked at again.

    The mirror first, because what it still wrote could not be told from what somebody else writes; the
    denials last, because until its Topic is gone nobody may write to it.
    """

    MIRRORS = "mirrors"
    GROUPS = "groups"
    TOPICS = "topics"
    DENIALS = "denials"
