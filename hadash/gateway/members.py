"""The group members on one connection, and how far each has settled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hadash.gateway.breaker import Verdict
from hadash.gateway.kinds import Kind
from hadash.gateway.purgatory import DelayedOperation
from hadash.gateway.replies import Reply
from hadash.gateway.wire import Request

if TYPE_CHECKING:
    from hadash.gateway.client import Client


@dataclass(slots=True)
class Member:
    """A group member and how far it has settled: active, held, parked or joining."""

    group: str
    member_id: str
    state: str = "active"
    #: Seconds that the coordinator kept its last JOIN_GROUP waiting: the group's own join delay.
    join_seconds: float | None = None


class HeldHeartbeat(DelayedOperation):
    """A HEARTBEAT whose answer is kept back, so that all members of its group are told at the same moment."""

    __slots__ = ("client", "message", "reply", "request")

    def __init__(self, client: Client, request: Request, message: Any, reply: Reply) -> None:
        super().__init__(client.signed.appid, len(request.frame))
        self.client = client
        self.request = request
        self.message = message
        self.reply = reply

    def can_complete(self) -> bool:
        return self.client.judge_held(self) is not Verdict.HOLD

    def complete(self) -> None:
        self.client.connection.guard(partial(self.client.released, self, overdue=False))

    def expire(self) -> None:
        self.client.connection.guard(partial(self.client.released, self, overdue=True))


class Members:
    """By group. A connection carries one member of a group at most."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self.held: list[HeldHeartbeat] = []

    def all(self) -> list[Member]:
        return list(self._members.values())

    def joined(self, group: str, member_id: str, join_seconds: float) -> None:
        self._members[group] = Member(group, member_id, join_seconds=join_seconds)

    def left(self, group: str) -> None:
        self._members.pop(group, None)

    def note(self, request: Request, message: Any, state: str) -> None:
        """What a member's request says of it; other kinds say nothing."""
        if request.kind not in (Kind.HEARTBEAT, Kind.JOIN_GROUP):
            return
        member = self._members.get(message.group_id)
        if member is None:
            member = self._members[message.group_id] = Member(message.group_id, message.member_id)
        if message.member_id:
            member.member_id = message.member_id
        member.state = state

    # -- heartbeats that are held -----------------------------------------------------------------------------

    def hold(self, held: HeldHeartbeat) -> None:
        self.held.append(held)
        self.note(held.request, held.message, "held")

    def let_go(self, held: HeldHeartbeat) -> None:
        self.held.remove(held)
        self.note(held.request, held.message, "active")
