"""All states and moves of a retirement, as a table, and the steps of a running one. Pure.

``docs/states.md`` is drawn from these tables.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Status(StrEnum):
    """The states of a retirement."""

    #: It waits for its day. Until then the clients can go back.
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    #: The old Topics stay, because a person decided so or the clients went back.
    KEPT = "kept"
    #: Something blocked it: a person has to look.
    FAILED = "failed"


class Event(StrEnum):
    """What can happen to a retirement."""

    POSTPONE = "postpone"
    KEEP = "keep"
    RETIRE = "retire"
    #: A server did not answer: it is retried.
    DEFER = "defer"
    FINISH = "finish"
    FAIL = "fail"


#: status × event → status. An event that is not named here is refused, and the status stays.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.WAITING: {
        Event.POSTPONE: Status.WAITING,
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
        Event.POSTPONE: Status.WAITING,
        Event.KEEP: Status.KEPT,
        Event.RETIRE: Status.RUNNING,
    },
    Status.DONE: {},
    Status.KEPT: {},
}

MACHINE = Machine("A retirement", MOVES, {Status.WAITING})
#: Statuses of a retirement that has not ended.
OPEN = MACHINE.open


class Step(StrEnum):
    """What is removed, in this order. Before each step everything is checked again.

    The mirrors come first, because their writes could not be told from other clients' writes; the denials come last,
    because nobody may write to a Topic until it is gone.
    """

    MIRRORS = "mirrors"
    GROUPS = "groups"
    TOPICS = "topics"
    DENIALS = "denials"
