"""The states of what one person asks for, another one approves, and the program then writes. Pure.

Changes of bindings and of consumer pools have a machine of their own over them (``machines.py``): they begin
differently.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import decisions


class Status(StrEnum):
    """The states of a change."""

    AWAITING_APPROVAL = "awaiting_approval"
    #: It is being written.
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


#: status × event → status. An approved change cannot be cancelled: it may have been written already.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.AWAITING_APPROVAL: decisions(Status, Event),
    Status.APPROVED: {Event.APPLY: Status.APPLIED, Event.FAIL: Status.FAILED},
    Status.APPLIED: {},
    Status.FAILED: {},
    Status.DECLINED: {},
    Status.CANCELLED: {},
    Status.EXPIRED: {},
}
