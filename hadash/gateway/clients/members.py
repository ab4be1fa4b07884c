"""The members of consumer groups, as one Gateway process sees them.

A member is not a connection: libraries join on one connection, send heartbeats on it or on another, and commit on a
third. The facts about a member (its assignors, whether it waits) belong to (group, member id), on whichever connection
its requests arrive. Several processes may see requests of one member; a caller that asks all of them takes the state
that comes first in :data:`STATES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from hadash.bindings.quiescing import STATES
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.since import LeaveGroup
from hadash.gateway.protocol.wire import Request
from hadash.gateway.rules.verdicts import Verdict
from hadash.gateway.waiting.purgatory import DelayedOperation
from hadash.gateway.waiting.replies import Reply

#: Seconds for which a member without a connection is remembered when its session timeout is not known: the default of
#: Kafka's clients. Its coordinator remembers it for as long.
SESSION_SECONDS = 45.0

#: The most members recorded for one connection. A client is a member of a group or two; a client that makes up member
#: ids must not fill the memory. Members that are not recorded count as unknown.
MAX_MEMBERS = 1000


@dataclass(slots=True)
class Waits:
    """How many requests of a member wait on one connection, by what they wait for."""

    parked: int = 0
    joining: int = 0
    held: int = 0


@dataclass(slots=True, eq=False)
class Member:
    """One member of one group. ``assignors`` and ``session_timeout_ms`` are ``None`` until a JOIN_GROUP with them has
    been seen.
    """

    appid: str
    client_id: str
    host: str
    cluster: str
    group: str
    member_id: str
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    #: Seconds that the coordinator kept its last JOIN_GROUP waiting: the group's own join delay.
    join_seconds: float | None = None
    #: The waiting requests on each of its connections.
    waits: dict[ConnectionMembers, Waits] = field(default_factory=dict)
    #: When its last connection ended, by the registry's clock; ``None`` while it has one.
    alone_since: float | None = None

    @property
    def state(self) -> str:
        """One of :data:`STATES`."""
        for state in STATES[:-1]:
            if any(getattr(each, state) for each in self.waits.values()):
                return state
        return STATES[-1]

    @property
    def connected(self) -> bool:
        return bool(self.waits)

    def outlasts(self, now: float) -> bool:
        """Whether the member's session may still last."""
        if self.alone_since is None:
            return True
        seconds = SESSION_SECONDS if self.session_timeout_ms is None else self.session_timeout_ms / 1000
        return now - self.alone_since < seconds


class GroupMembers:
    """The members of all groups whose requests came to this process.

    :param clock: returns seconds of any clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: Members by AppID, then by group and member id.
        self._members: dict[str, dict[tuple[str, str], Member]] = {}
        #: The members without a connection, in the order in which they lost it.
        self._alone: dict[Member, None] = {}

    def of(self, appid: str, group: str, member_id: str) -> Member | None:
        """Return a member; ``None`` if it is not known."""
        return self._members.get(appid, {}).get((group, member_id))

    def all(self, appid: str | None = None) -> list[Member]:
        """Return the members whose session may still last, of one AppID or of all."""
        now = self._clock()
        wanted = self._members.values() if appid is None else [self._members.get(appid, {})]
        return [member for members in wanted for member in members.values() if member.outlasts(now)]

    def carried(self, on: ConnectionMembers, group: str, member_id: str) -> Member:
        """Return the member whose request arrived on a connection; a new one if it was not known."""
        members = self._members.setdefault(on.appid, {})
        member = members.get((group, member_id))
        if member is None:
            member = Member(on.appid, on.client_id, on.host, on.cluster, group, member_id)
            members[group, member_id] = member
        member.waits.setdefault(on, Waits())
        member.alone_since = None
        self._alone.pop(member, None)
        return member

    def forget(self, member: Member) -> None:
        """Remove a member that has left its group."""
        self._alone.pop(member, None)
        members = self._members.get(member.appid, {})
        if members.get((member.group, member.member_id)) is member:
            del members[member.group, member.member_id]
        if not members:
            self._members.pop(member.appid, None)

    def closed(self, on: ConnectionMembers, members: Iterable[Member]) -> None:
        """Note that a connection has ended, and nothing waits on it any more. Its members are remembered until their
        sessions end.
        """
        now = self._clock()
        for member in members:
            member.waits.pop(on, None)
            if not member.waits and self.of(member.appid, member.group, member.member_id) is member:
                member.alone_since = now
                self._alone[member] = None
        while self._alone and not (oldest := next(iter(self._alone))).outlasts(now):
            self.forget(oldest)


class Guarding(Protocol):
    """A connection that keeps an error of one client from affecting others."""

    def guard(self, action: Callable[[], None]) -> None: ...


class Holding(Protocol):
    """The parts of a client that its held heartbeat needs."""

    @property
    def signed(self) -> SignedIn: ...

    @property
    def connection(self) -> Guarding: ...

    def judge_held(self, held: HeldHeartbeat) -> Verdict: ...

    def released(self, held: HeldHeartbeat, *, overdue: bool) -> None: ...


class HeldHeartbeat(DelayedOperation):
    """A HEARTBEAT whose answer is withheld, so that all members of its group are answered at the same moment."""

    __slots__ = ("client", "message", "reply", "request", "waits")

    def __init__(self, client: Holding, request: Request, message: Any, reply: Reply) -> None:
        super().__init__(client.signed.appid, len(request.frame))
        self.client = client
        self.request = request
        self.message = message
        self.reply = reply
        self.waits = Waits()

    def can_complete(self) -> bool:
        return self.client.judge_held(self) is not Verdict.HOLD

    def complete(self) -> None:
        self.client.connection.guard(partial(self.client.released, self, overdue=False))

    def expire(self) -> None:
        self.client.connection.guard(partial(self.client.released, self, overdue=True))


class ConnectionMembers:
    """The members whose requests arrived on one connection."""

    def __init__(self, registry: GroupMembers, appid: str, client_id: str, host: str, cluster: str) -> None:
        self.appid = appid
        self.client_id = client_id
        self.host = host
        self.cluster = cluster
        self._registry = registry
        self._carried: dict[tuple[str, str], Member] = {}
        self.held: list[HeldHeartbeat] = []

    def all(self) -> list[Member]:
        return list(self._carried.values())

    def groups(self) -> set[str]:
        """Return the groups in which this client is a member, on whichever connection it joined."""
        return {
            member.group
            for member in self._registry.all(self.appid)
            if (member.client_id, member.host) == (self.client_id, self.host)
        }

    def carries(self, group: str, member_id: str) -> Member | None:
        """Return the member of a request; ``None`` for a request that has no member id yet."""
        if not member_id:
            return None
        member = self._carried.get((group, member_id))
        if member is None and len(self._carried) >= MAX_MEMBERS:
            return None
        if member is None or self not in member.waits:
            member = self._carried[group, member_id] = self._registry.carried(self, group, member_id)
        return member

    def seen(self, request: Request, message: Any) -> Member | None:
        """Return the member that sent a request of a kind that only members send; ``None`` for others."""
        match request.kind:
            case ApiKey.HEARTBEAT | ApiKey.SYNC_GROUP:
                return self.carries(message.group_id, message.member_id)
            case ApiKey.OFFSET_COMMIT if message.generation_id_or_member_epoch >= 0:
                return self.carries(message.group_id, message.member_id)
        return None

    def joined(self, group: str, member_id: str, asked: Any, seconds: float) -> None:
        """Record a member when the coordinator has answered its JOIN_GROUP.

        :param asked: the request.
        :param seconds: how long the coordinator took.
        """
        for other in self._of_before(group, member_id):
            self.left(other)
        member = self.carries(group, member_id)
        if member is not None:
            member.assignors = assignors_of(asked)
            member.session_timeout_ms = session_timeout_ms_of(asked)
            member.join_seconds = seconds

    def _of_before(self, group: str, member_id: str) -> list[Member]:
        """Return the members under ids that the client of this connection had in the group before: its coordinator had
        forgotten them, so it joined under a new id.
        """
        return [
            member
            for (its_group, its_id), member in self._carried.items()
            if its_group == group
            and its_id != member_id
            and set(member.waits) == {self}
            and member.state == STATES[-1]
        ]

    def leave(self, request: Request, message: Any) -> None:
        """Remove the members that a LEAVE_GROUP names."""
        ids = (
            [each.member_id for each in message.members]
            if request.version >= LeaveGroup.MEMBERS
            else [message.member_id]
        )
        for member_id in ids:
            member = self._registry.of(self.appid, message.group_id, member_id)
            if member is not None:
                self.left(member)

    def left(self, member: Member) -> None:
        """Remove a member that has left its group."""
        self._carried.pop((member.group, member.member_id), None)
        self._registry.forget(member)

    def close(self) -> None:
        """Release the members, because the connection has ended."""
        self._registry.closed(self, self._carried.values())
        self._carried.clear()

    # -- requests that wait ----------------------------------------------------------------------------------

    def waits(self, request: Request, message: Any) -> Waits:
        """Return the counter for a waiting JOIN_GROUP, SYNC_GROUP or HEARTBEAT; for other kinds, and without a member
        id, a counter that is never read.
        """
        if request.kind not in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT):
            return Waits()
        member = self.carries(message.group_id, message.member_id)
        return Waits() if member is None else member.waits[self]

    def hold(self, held: HeldHeartbeat) -> None:
        """Add a held heartbeat, and count it for its member."""
        self.held.append(held)
        held.waits = self.waits(held.request, held.message)
        held.waits.held += 1

    def let_go(self, held: HeldHeartbeat) -> None:
        """Remove a held heartbeat."""
        self.held.remove(held)
        held.waits.held -= 1


def assignors_of(join: Any) -> tuple[str, ...]:
    """Return the assignors that a JOIN_GROUP offers, in its order."""
    return tuple(protocol.name for protocol in join.protocols)


def session_timeout_ms_of(join: Any) -> int:
    """Return the session timeout of a JOIN_GROUP in milliseconds."""
    return int(join.session_timeout.total_seconds() * 1000)
