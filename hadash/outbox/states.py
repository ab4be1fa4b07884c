"""The states of a delivery and the moves between them. Pure. Only these moves may set a state.

A message is never sent twice automatically, except to receivers that recognise duplicates. Between handing it over
and the server's answer it is not known whether the server has accepted it. That state is stored *before* the
hand-over, so a sender that dies meanwhile leaves an ``uncertain`` delivery, and a user decides.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class State(StrEnum):
    """The states of a delivery."""

    #: It waits for its time and for a sender.
    QUEUED = "queued"
    #: A sender has claimed it; nothing of it has been handed over.
    SENDING = "sending"
    #: It is being handed over now: the server may have it.
    HANDED_OVER = "handed_over"
    #: The server has accepted it. (If a later server fails, the mail may be returned.)
    ACCEPTED = "accepted"
    #: It will be tried again: the server asked for that, or did not answer.
    DEFERRED = "deferred"
    #: The server has refused it permanently, its tries are used up, or it has expired.
    FAILED = "failed"
    #: The sender or the connection ended before the server answered; or the database was restored from a dump
    #: in which it still waits.
    UNCERTAIN = "uncertain"
    #: A server has accepted it, and a later one has returned it.
    BOUNCED = "bounced"
    #: The recipient has unsubscribed.
    CANCELLED = "cancelled"


class Event(StrEnum):
    """The events of a delivery."""

    CLAIM = "claim"
    RELEASE = "release"
    HAND_OVER = "hand over"
    ACCEPT = "accept"
    DEFER = "defer"
    FAIL = "fail"
    LOSE_TRACK = "lose track"
    SEND_AGAIN = "send again"
    CANCEL = "cancel"
    EXPIRE = "expire"
    BOUNCE = "bounce"
    SET_ASIDE = "be set aside"


#: state × event → state. An event that is not named here is refused, and the state stays.
MOVES: dict[State, dict[Event, State]] = {
    State.QUEUED: {
        Event.CLAIM: State.SENDING,
        Event.CANCEL: State.CANCELLED,
        Event.EXPIRE: State.FAILED,
        Event.SET_ASIDE: State.UNCERTAIN,
    },
    State.DEFERRED: {
        Event.CLAIM: State.SENDING,
        Event.CANCEL: State.CANCELLED,
        Event.EXPIRE: State.FAILED,
        Event.SEND_AGAIN: State.QUEUED,
        Event.SET_ASIDE: State.UNCERTAIN,
    },
    State.SENDING: {
        Event.HAND_OVER: State.HANDED_OVER,
        Event.RELEASE: State.QUEUED,
        Event.DEFER: State.DEFERRED,
        Event.FAIL: State.FAILED,
        Event.SET_ASIDE: State.UNCERTAIN,
    },
    State.HANDED_OVER: {
        Event.ACCEPT: State.ACCEPTED,
        Event.DEFER: State.DEFERRED,
        Event.FAIL: State.FAILED,
        Event.LOSE_TRACK: State.UNCERTAIN,
        Event.SET_ASIDE: State.UNCERTAIN,
    },
    State.FAILED: {Event.SEND_AGAIN: State.QUEUED},
    State.UNCERTAIN: {
        Event.SEND_AGAIN: State.QUEUED,
        Event.ACCEPT: State.ACCEPTED,
        Event.BOUNCE: State.BOUNCED,
    },
    State.ACCEPTED: {Event.BOUNCE: State.BOUNCED},
    State.BOUNCED: {Event.SEND_AGAIN: State.QUEUED},
    State.CANCELLED: {},
}

MACHINE = Machine("A delivery", MOVES, {State.QUEUED})
#: The states that a sender claims from.
DUE = MACHINE.allowing(Event.CLAIM)
#: The states that do not change automatically.
SETTLED = frozenset({State.ACCEPTED, State.FAILED, State.UNCERTAIN, State.BOUNCED, State.CANCELLED})
