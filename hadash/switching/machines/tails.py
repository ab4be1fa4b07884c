"""The states of the records that a lost source held beyond its mirror, as a table. Pure."""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class TailStatus(StrEnum):
    """The states of the unreplicated records of a forced switch."""

    #: The lost source has not answered yet.
    WAITING = "waiting"
    #: The lost source has answered: the records beyond the mirror are known.
    REPORTED = "reported"
    REBUILDING = "rebuilding"
    REBUILT = "rebuilt"
    FAILED = "failed"


class TailEvent(StrEnum):
    """What can happen to them."""

    REPORT = "report"
    REBUILD = "rebuild"
    FINISH = "finish"
    FAIL = "fail"
    #: More records were found than a person has decided on: the source is asked again.
    ASK_AGAIN = "ask again"


#: status × event → status. An event that is not named is refused, and the status stays.
TAIL_MOVES: dict[TailStatus, dict[TailEvent, TailStatus]] = {
    TailStatus.WAITING: {TailEvent.REPORT: TailStatus.REPORTED},
    TailStatus.REPORTED: {TailEvent.REBUILD: TailStatus.REBUILDING},
    TailStatus.REBUILDING: {
        TailEvent.FINISH: TailStatus.REBUILT,
        TailEvent.FAIL: TailStatus.FAILED,
        TailEvent.ASK_AGAIN: TailStatus.WAITING,
    },
    TailStatus.FAILED: {TailEvent.REBUILD: TailStatus.REBUILDING},
    TailStatus.REBUILT: {},
}

TAIL_MACHINE = Machine("A tail", TAIL_MOVES, {TailStatus.WAITING})
