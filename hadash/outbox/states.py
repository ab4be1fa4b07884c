"""The states of a delivery and the moves between them. Pure. Nothing else may set a state.

A message is never sent twice by itself. The one moment in which nobody can tell whether a server has taken it
is between handing it over and the server's answer; it is noted *before* that moment, and a sender that dies
in it leaves a delivery that is ``uncertain``: a person decides.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class State(StrEnum):
    """Where a delivery is in its life."""

    #: Waits for its time and for a sender.
    QUEUED = "queued"
    #: A sender has claimed it; nothing of it has been handed over.
    SENDING = "sending"
    #: It is being handed over now: the server may have it.
    HANDED_OVER = "handed_over"
    #: The server has taken it. (What the servers after that one do with it is told by what comes back, if
    #: anything does.)
    ACCEPTED = "accepted"
    #: It will be tried again: the server said "later", or there was none.
    DEFERRED = "deferred"
    #: The server refuses it for good, every try is used up, or its time is over.
    FAILED = "failed"
    #: The sender ended, or the connection did, while the server was taking it; or the database was put back
    #: from a dump in which it still waits.
    UNCERTAIN = "uncertain"
    #: A server has taken it, and a later one has sent it back.
    BOUNCED = "bounced"
    #: Nobody wants it any more: the recipient has unsubscribed.
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What happens to a delivery."""

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

MACHINE = Machine("A delivery", MOVES)
#: What a sender looks for.
DUE = MACHINE.allowing(Event.CLAIM)
#: Nothing happens to these by itself any more.
SETTLED = frozenset({State.ACCEPTED, State.FAILED, State.UNCERTAIN, State.BOUNCED, State.CANCELLED})
