"""The states of a client's session as tables. Pure; drawn into ``docs/states.md``.

A session has three independent aspects, so there are three small tables instead of one large one: the :data:`LINE` is
what the network has reported; the :data:`SERVICE` is what the Gateway does for the connection; and the :data:`CLIENT`
is the signed-in client, which can outlive the line: its writes are followed until the broker has answered them.

An event that a table does not have changes nothing. Events come from a network, in any order: a client hangs up on a
connection that has ended, and is told to leave while it leaves.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Line(StrEnum):
    """The connection as the network knows it."""

    HANDSHAKE = "handshake"  # accepted; the TLS handshake is not complete, and nothing can be sent
    OPEN = "open"
    HALF_CLOSED = "half-closed"  # the client has hung up: nothing more arrives, but it may still read
    LOST = "lost"  # the transport has ended


class Heard(StrEnum):
    """What the network reports."""

    CONNECTED = "connected"
    CLIENT_LEFT = "client left"
    LOST = "lost"


#: A line is gone as soon as the client has hung up: nothing that is handled arrives after that.
LINE = Machine[Line, Heard](
    "a line",
    {
        Line.HANDSHAKE: {Heard.CONNECTED: Line.OPEN, Heard.LOST: Line.LOST},
        Line.OPEN: {Heard.CLIENT_LEFT: Line.HALF_CLOSED, Heard.LOST: Line.LOST},
        Line.HALF_CLOSED: {Heard.LOST: Line.LOST},
        Line.LOST: {},
    },
    {Line.HANDSHAKE},
)

#: The states in which the client has hung up.
GONE = frozenset({Line.HALF_CLOSED, Line.LOST})


class Service(StrEnum):
    """What the Gateway does for a connection."""

    WAITING = "waiting"  # for the first request
    SIGNING_IN = "signing in"
    SERVED = "served"  # its requests are handled, one by one
    FINISHING = "finishing"  # nothing more is handled; hung up on when every earlier request is answered
    LEAVING = "leaving"  # nothing more is handled; hung up on when the broker has answered its writes
    HUNG_UP = "hung up"  # answers still go out, and the client gets time to read them
    CUT = "cut"  # ended at once


class Event(StrEnum):
    """What happens to a connection: what the Gateway does with it next."""

    SIGN_IN = "sign in"
    SERVE = "serve"
    FINISH = "finish"
    LEAVE = "leave"
    HANG_UP = "hang up"
    CUT = "cut"


#: A connection that is leaving does not finish earlier: its writes must be answered first.
SERVICE = Machine[Service, Event](
    "a connection",
    {
        Service.WAITING: {
            Event.SIGN_IN: Service.SIGNING_IN,
            Event.HANG_UP: Service.HUNG_UP,
            Event.CUT: Service.CUT,
        },
        Service.SIGNING_IN: {
            Event.SERVE: Service.SERVED,
            Event.HANG_UP: Service.HUNG_UP,
            Event.CUT: Service.CUT,
        },
        Service.SERVED: {
            Event.FINISH: Service.FINISHING,
            Event.LEAVE: Service.LEAVING,
            Event.HANG_UP: Service.HUNG_UP,
            Event.CUT: Service.CUT,
        },
        Service.FINISHING: {
            Event.LEAVE: Service.LEAVING,
            Event.HANG_UP: Service.HUNG_UP,
            Event.CUT: Service.CUT,
        },
        Service.LEAVING: {Event.HANG_UP: Service.HUNG_UP, Event.CUT: Service.CUT},
        Service.HUNG_UP: {Event.CUT: Service.CUT},
        Service.CUT: {},
    },
    {Service.WAITING},
)

#: The states in which nothing more is handled.
CLOSING = frozenset({Service.FINISHING, Service.LEAVING, Service.HUNG_UP, Service.CUT})


class Turn(StrEnum):
    """The turn of a connection: requests are handled a few at a time, one connection after another."""

    NONE = "none"  # no request waits, or something holds the requests up
    QUEUED = "queued"  # its turn will come
    NOW = "now"


class ClientState(StrEnum):
    """The states of a signed-in client."""

    NEW = "new"  # no request was handled yet: the client may still name its client.id
    SERVED = "served"
    RENAMED = "renamed"  # it has named its client.id, and another client object serves it
    LEAVING = "leaving"  # nothing more is passed on; its writes are followed
    ENDED = "ended"  # nothing is under way


class Step(StrEnum):
    """What happens to a signed-in client."""

    BEGIN = "begin"
    RENAME = "rename"
    LEAVE = "leave"
    END = "end"


CLIENT = Machine[ClientState, Step](
    "a client",
    {
        ClientState.NEW: {
            Step.BEGIN: ClientState.SERVED,
            Step.RENAME: ClientState.RENAMED,
            Step.LEAVE: ClientState.LEAVING,
        },
        ClientState.SERVED: {Step.LEAVE: ClientState.LEAVING},
        ClientState.RENAMED: {},
        ClientState.LEAVING: {Step.END: ClientState.ENDED},
        ClientState.ENDED: {},
    },
    {ClientState.NEW},
)


class HeldUpBy(StrEnum):
    """Why a client's next request is not handled yet."""

    NOTHING = ""
    BINDING = "binding"  # an earlier request is parked: it waits for a change of its binding
    WRITES = "writes"  # the cluster must answer earlier writes first
    BROKER = "broker"  # the broker is slow to take what was sent
    ANSWERS = "answers"  # too many earlier requests are unanswered
