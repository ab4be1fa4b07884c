"""All states and moves of a batch and of its items, as tables, and the choice of what a batch does next. Pure.

``docs/states.md`` is drawn from these tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hadash.machines import Machine, decisions
from hadash.switching.machines import switches


class Status(StrEnum):
    """The states of a batch."""

    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    RUNNING = "running"
    #: Nothing new starts until a person decides how to continue. What was started ends by itself.
    STOPPED = "stopped"
    FINISHED = "finished"
    #: A person has abandoned the rest of it.
    ENDED = "ended"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Event(StrEnum):
    """What can happen to a batch."""

    APPROVE = "approve"
    DECLINE = "decline"
    CANCEL = "cancel"
    EXPIRE = "expire"
    RUN = "run"
    STOP = "stop"
    RESUME = "resume"
    FINISH = "finish"
    END = "end"


#: status × event → status. An event that is not named here is refused, and the status stays.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.AWAITING_APPROVAL: decisions(Status, Event),
    Status.APPROVED: {
        Event.RUN: Status.RUNNING,
        Event.CANCEL: Status.CANCELLED,
        Event.EXPIRE: Status.EXPIRED,
    },
    Status.RUNNING: {Event.STOP: Status.STOPPED, Event.FINISH: Status.FINISHED},
    Status.STOPPED: {Event.RESUME: Status.RUNNING, Event.END: Status.ENDED},
    Status.FINISHED: {},
    Status.ENDED: {},
    Status.DECLINED: {},
    Status.CANCELLED: {},
    Status.EXPIRED: {},
}

MACHINE = Machine("A batch", MOVES, {Status.AWAITING_APPROVAL})
#: Statuses in which a batch holds the radii of its items that have not moved yet.
OPEN, OVER = MACHINE.open, MACHINE.ended
#: Open statuses that cannot be cancelled: something may have moved, so a batch is stopped and ended instead.
BEGUN = frozenset({Status.RUNNING, Status.STOPPED})


class ItemStatus(StrEnum):
    """The states of one radius of a batch."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    #: The radius has not moved, or not completely: the batch stops.
    FAILED = "failed"
    #: The radius does not move with this batch: it was left out in the request, or later by a person.
    DROPPED = "dropped"


class ItemEvent(StrEnum):
    """What can happen to an item."""

    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    #: Its switch, which needed attention, runs again.
    RESUME = "resume"
    AGAIN = "again"
    DROP = "drop"


ITEM_MOVES: dict[ItemStatus, dict[ItemEvent, ItemStatus]] = {
    ItemStatus.WAITING: {
        ItemEvent.START: ItemStatus.RUNNING,
        ItemEvent.FAIL: ItemStatus.FAILED,
        ItemEvent.DROP: ItemStatus.DROPPED,
    },
    ItemStatus.RUNNING: {ItemEvent.SUCCEED: ItemStatus.DONE, ItemEvent.FAIL: ItemStatus.FAILED},
    ItemStatus.FAILED: {
        ItemEvent.RESUME: ItemStatus.RUNNING,
        ItemEvent.SUCCEED: ItemStatus.DONE,
        ItemEvent.AGAIN: ItemStatus.WAITING,
        ItemEvent.DROP: ItemStatus.DROPPED,
    },
    ItemStatus.DONE: {},
    ItemStatus.DROPPED: {},
}

#: (A radius that was left out when the batch was requested is dropped from the beginning.)
ITEM_MACHINE = Machine("An item", ITEM_MOVES, {ItemStatus.WAITING, ItemStatus.DROPPED})
#: Items that may still move, whose radii are held; and items that the next wave does not wait for any more.
AHEAD, SETTLED = ITEM_MACHINE.open, ITEM_MACHINE.ended


#: What the status of its switch means for an item; any other status says that it is on its way.
_SWITCH_EVENTS: dict[switches.Status, ItemEvent] = {
    switches.Status.SUCCEEDED: ItemEvent.SUCCEED,
    **dict.fromkeys(switches.ENDED - {switches.Status.SUCCEEDED}, ItemEvent.FAIL),
    switches.Status.NEEDS_ATTENTION: ItemEvent.FAIL,
}


def event_of(item: ItemStatus, switch: switches.Status) -> ItemEvent | None:
    """The event for an item whose switch has the status ``switch``; ``None`` if nothing is new.

    >>> event_of(ItemStatus.RUNNING, switches.Status.ROLLED_BACK)
    <ItemEvent.FAIL: 'fail'>
    """
    event = _SWITCH_EVENTS.get(switch, ItemEvent.RESUME)
    # (A waiting item ignores the switch of an earlier attempt.)
    if item is ItemStatus.WAITING or not ITEM_MACHINE.allows(item, event):
        return None
    return event


@dataclass(frozen=True, slots=True)
class Item:
    """What counts of one item for the next steps. Items of a wave begin in the order of their places."""

    wave: int
    place: int
    status: ItemStatus


@dataclass(frozen=True, slots=True)
class Next:
    """The places of the items to start now, or the event for the batch. Both empty: wait."""

    start: tuple[int, ...] = ()
    event: Event | None = None


def next_steps(status: Status, items: Iterable[Item], parallelism: int) -> Next:
    """Choose what a batch does next.

    At most ``parallelism`` items run at once; a wave begins when all items of the one before have settled; after a
    failed item nothing new begins.

    >>> next_steps(Status.RUNNING, [Item(1, 1, ItemStatus.DONE), Item(2, 2, ItemStatus.WAITING)], 4)
    Next(start=(2,), event=None)
    """
    if status is not Status.RUNNING:
        return Next()
    ahead = sorted((item for item in items if item.status in AHEAD), key=lambda item: (item.wave, item.place))
    if not ahead:
        return Next(event=Event.FINISH)
    if any(item.status is ItemStatus.FAILED for item in ahead):
        return Next(event=Event.STOP)
    running = sum(item.status is ItemStatus.RUNNING for item in ahead)
    waiting = [
        item.place for item in ahead if item.wave == ahead[0].wave and item.status is ItemStatus.WAITING
    ]
    return Next(start=tuple(waiting[: max(parallelism - running, 0)]))
