"""The states of a Topic's assignment, and the moves between them, as a table. Pure.

``docs/states.md`` is drawn from it.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class State(StrEnum):
    """The state of a Topic's assignment. The values are what ZooKeeper holds."""

    #: Nothing has been assigned, or it is not known how far the last change had come.
    INITIAL = "Initial"
    #: Members are to start partitions.
    STARTING = "Starting"
    #: Every partition is read by the member that it is assigned to.
    STABLE = "Stable"
    #: Members are to stop partitions, which others start afterwards.
    CLOSING = "Closing"


class Event(StrEnum):
    """What can happen to a Topic's assignment."""

    ASSIGN = "assign"
    #: A member that was to start partitions is gone: others start them.
    REASSIGN = "reassign"
    CONFIRM_START = "confirm start"
    #: Members came or went, or there are new partitions, and nobody has to stop one.
    ADD = "add"
    #: As before, but partitions move: their members stop them first.
    MOVE = "move"
    CONFIRM_CLOSE = "confirm close"
    #: A switch has had all partitions stopped, and they stay so until it goes on.
    HOLD = "hold"
    #: A switch is over, for which nothing had to be stopped.
    RELEASE = "release"


#: state × event → state. An event that is not named here is refused, and the state stays.
MACHINE = Machine[State, Event](
    "The assignment of a Topic",
    {
        State.INITIAL: {Event.ASSIGN: State.STARTING},
        State.STARTING: {Event.REASSIGN: State.STARTING, Event.CONFIRM_START: State.STABLE},
        State.STABLE: {
            Event.ADD: State.STARTING,
            Event.MOVE: State.CLOSING,
            Event.RELEASE: State.STABLE,
        },
        State.CLOSING: {Event.CONFIRM_CLOSE: State.STARTING, Event.HOLD: State.CLOSING},
    },
    starts=(State.INITIAL,),
)
