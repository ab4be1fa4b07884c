"""All states and moves of a retirement, as a table, and the steps of one that runs. Pure.

``docs/states.md`` is drawn from these tables.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.switching.machine import IllegalMove


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

#: Statuses in which it has not come to its end.
OPEN = frozenset(status for status, moves in MOVES.items() if moves)


def move(status: Status, event: Event) -> Status:
    """The status after ``event``.

    :raises IllegalMove: the table does not allow it.

    >>> move(Status.WAITING, Event.RETIRE)
    <Status.RUNNING: 'running'>
    """
    try:
        return MOVES[status][event]
    except KeyError:
        raise IllegalMove(f"A retirement that is {status} cannot {event}.") from None


class Step(StrEnum):
    """What is taken away, in this order. Before each of them everything is looked at again.

    The mirror first, because what it still wrote could not be told from what somebody else writes; the denials last, because
    until its Topic is gone nobody may write to it.
    """

    MIRRORS = "mirrors"
    GROUPS = "groups"
    TOPICS = "topics"
    DENIALS = "denials"
