"""All states and moves of a change of a pool, as a table. Pure.

``docs/states.md`` shows it, drawn by ``docs/draw_states.py``.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Status(StrEnum):
    """The states of a change of a pool."""

    AWAITING_APPROVAL = "awaiting_approval"
    #: It is being written to ZooKeeper.
    APPROVED = "approved"
    APPLIED = "applied"
    FAILED = "failed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Event(StrEnum):
    """What can happen to a change of a pool."""

    APPROVE = "approve"
    DECLINE = "decline"
    CANCEL = "cancel"
    EXPIRE = "expire"
    APPLY = "apply"
    FAIL = "fail"


#: status × event → status. One that needs nobody's approval begins as approved. An approved one cannot be cancelled: it
#: may have been written already.
MACHINE = Machine[Status, Event](
    "A change of a pool",
    {
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
    },
    starts=(Status.AWAITING_APPROVAL, Status.APPROVED),
)
