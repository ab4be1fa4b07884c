"""The states of the records that a lost source held beyond its mirror, as a table. Pure."""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class UnreplicatedStatus(StrEnum):
    """The states of the unreplicated records of a forced switch."""

    #: The lost source has not answered yet.
    WAITING = "waiting"
    #: The lost source has answered: the records beyond the mirror are known.
    REPORTED = "reported"
    REBUILDING = "rebuilding"
    REBUILT = "rebuilt"
    FAILED = "failed"


class UnreplicatedEvent(StrEnum):
    """What can happen to them."""

    REPORT = "report"
    REBUILD = "rebuild"
    FINISH = "finish"
    FAIL = "fail"
    #: More records were found than a person has decided on: the source is asked again.
    ASK_AGAIN = "ask again"


#: status × event → status. An event that is not named is refused, and the status stays.
UNREPLICATED_MOVES: dict[UnreplicatedStatus, dict[UnreplicatedEvent, UnreplicatedStatus]] = {
    UnreplicatedStatus.WAITING: {UnreplicatedEvent.REPORT: UnreplicatedStatus.REPORTED},
    UnreplicatedStatus.REPORTED: {UnreplicatedEvent.REBUILD: UnreplicatedStatus.REBUILDING},
    UnreplicatedStatus.REBUILDING: {
        UnreplicatedEvent.FINISH: UnreplicatedStatus.REBUILT,
        UnreplicatedEvent.FAIL: UnreplicatedStatus.FAILED,
        UnreplicatedEvent.ASK_AGAIN: UnreplicatedStatus.WAITING,
    },
    UnreplicatedStatus.FAILED: {UnreplicatedEvent.REBUILD: UnreplicatedStatus.REBUILDING},
    UnreplicatedStatus.REBUILT: {},
}

UNREPLICATED_MACHINE = Machine(
    "A list of unreplicated records", UNREPLICATED_MOVES, {UnreplicatedStatus.WAITING}
)
