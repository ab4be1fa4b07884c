"""All states and moves of a change of bindings, as a table. Pure.

``docs/bindings.md`` shows it, drawn by ``docs/draw_states.py``.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Status(StrEnum):
    """The states of a change."""

    AWAITING_APPROVAL = "awaiting_approval"
    #: A worker is writing it.
    APPROVED = "approved"
    APPLIED = "applied"
    FAILED = "failed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Event(StrEnum):
    """What can happen to a change."""

    APPROVE = "approve"
    DECLINE = "decline"
    CANCEL = "cancel"
    EXPIRE = "expire"
    APPLY = "apply"
    FAIL = "fail"


#: status × event → status. An approved change cannot be cancelled: a worker may have written it already.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.AWAITING_APPROVAL: {
        Event.APPROVE: Status.APPROVED,
        Event.DECLINE: Status.DECLINED,
        Event.CANCEL: Status.CANCELLED,
        Event.EXPIRE: Status.EXPIRED,
    },
    Status.APPROVED: {Event.APPLY: Status.APPLIED, Event.FAIL: Status.FAILED},
    Status.APPLIED: {},
    Status.FAILED: {},
    Status.DECLINED: {},
    Status.CANCELLED: {},
    Status.EXPIRED: {},
}

MACHINE = Machine("A change", MOVES, {Status.AWAITING_APPROVAL})
#: Statuses that can still change.
OPEN = MACHINE.open
