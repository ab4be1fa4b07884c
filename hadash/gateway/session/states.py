"""The states of a client's session as tables. Pure; drawn into ``docs/states.md``.

A session has three lives that do not follow from one another, so there are three small tables, not one large
one. What the network has told us: the :data:`LINE`. What we do for whoever is at its other end: the
:data:`SERVICE`. And once that is somebody who has signed in, the :data:`CLIENT`, which can outlive the line:
its writes are followed until the broker has answered them.

What is not in a table changes nothing. These events come from a network, whenever they like: a client hangs up
on a connection that has ended, and is told to leave while it leaves.
"""

from __future__ import annotations

from enum import StrEnum

from hadash.machines import Machine


class Line(StrEnum):
    """The connection as the network knows it."""

    HANDSHAKE = "handshake"  # accepted; TLS is still agreed upon, and nothing can be said
    OPEN = "open"
    HALF_CLOSED = "half-closed"  # the client has hung up: nothing more comes; it may still read
    LOST = "lost"  # the transport has ended


class Heard(StrEnum):
    """What the network tells."""

    CONNECTED = "connected"
    CLIENT_LEFT = "client left"
    LOST = "lost"


#: Both of its ends are gone as soon as the client is: nothing that is handled comes after that.
LINE = Machine[Line, Heard](
    "a line",
    {
        Line.HANDSHAKE: {Heard.CONNECTED: Line.OPEN, Heard.LOST: Line.LOST},
        Line.OPEN: {Heard.CLIENT_LEFT: Line.HALF_CLOSED, Heard.LOST: Line.LOST},
        Line.HALF_CLOSED: {Heard.LOST: Line.LOST},
        Line.LOST: {},
    },
)

#: The client has hung up.
GONE = frozenset({Line.HALF_CLOSED, Line.LOST})


class Service(StrEnum):
    """What the Gateway does for a connection."""

    WAITING = "waiting"  # for the first request
    SIGNING_IN = "signing in"
    SERVED = "served"  # its requests are handled, one after the other
    FINISHING = "finishing"  # nothing more is handled; hung up on when every earlier request has its answer
    LEAVING = "leaving"  # nothing more is handled; hung up on when its broker has answered what it wrote
    HUNG_UP = "hung up"  # what it was answered still goes out, and it is given time to read that
    CUT = "cut"  # ended at once


class Act(StrEnum):
    """What the Gateway does next."""

    SIGN_IN = "sign in"
    SERVE = "serve"
    FINISH = "finish"
    LEAVE = "leave"
    HANG_UP = "hang up"
    CUT = "cut"


#: A connection that is leaving does not finish earlier: what it wrote must have its answer first.
SERVICE = Machine[Service, Act](
    "a connection",
    {
        Service.WAITING: {
            Act.SIGN_IN: Service.SIGNING_IN,
            Act.HANG_UP: Service.HUNG_UP,
            Act.CUT: Service.CUT,
        },
        Service.SIGNING_IN: {
            Act.SERVE: Service.SERVED,
            Act.HANG_UP: Service.HUNG_UP,
            Act.CUT: Service.CUT,
        },
        Service.SERVED: {
            Act.FINISH: Service.FINISHING,
            Act.LEAVE: Service.LEAVING,
            Act.HANG_UP: Service.HUNG_UP,
            Act.CUT: Service.CUT,
        },
        Service.FINISHING: {
            Act.LEAVE: Service.LEAVING,
            Act.HANG_UP: Service.HUNG_UP,
            Act.CUT: Service.CUT,
        },
        Service.LEAVING: {Act.HANG_UP: Service.HUNG_UP, Act.CUT: Service.CUT},
        Service.HUNG_UP: {Act.CUT: Service.CUT},
        Service.CUT: {},
    },
)

#: Nothing more of it is handled.
CLOSING = frozenset({Service.FINISHING, Service.LEAVING, Service.HUNG_UP, Service.CUT})


class Turn(StrEnum):
    """Whose turn it is: connections are handled a few requests at a time, one connection after the other."""

    NONE = "none"  # nothing waits to be handled, or something holds it up
    QUEUED = "queued"  # its turn comes
    NOW = "now"


class ClientState(StrEnum):
    """A signed-in client."""

    NEW = "new"  # nothing of it was handled: it may still say its client.id
    SERVED = "served"
    RENAMED = "renamed"  # it has said its client.id, and another one is served in its place
    LEAVING = "leaving"  # nothing more of it is passed on; what it wrote is followed
    ENDED = "ended"  # nothing of it is under way


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
)


class HeldUpBy(StrEnum):
    """Why a client's next request is not handled yet."""

    NOTHING = ""
    BINDING = "binding"  # the one before is parked: it waits for a change of its binding
    WRITES = "writes"  # the cluster must answer earlier writes first
    BROKER = "broker"  # its broker lags behind in taking what was sent
    ANSWERS = "answers"  # too many earlier requests have no answer yet
