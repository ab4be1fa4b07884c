"""The group members on one connection, and how far each has settled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hadash.gateway.kinds import Kind
from hadash.gateway.replies import Reply
from hadash.gateway.wire import Request


@dataclass(slots=True)
class Member:
    """A group member and how far it has settled: active, held, parked or joining."""

    group: str
    member_id: str
    state: str = "active"
    #: Seconds that the coordinator kept its last JOIN_GROUP waiting: the group's own join delay.
    join_seconds: float | None = None


@dataclass(slots=True, eq=False)
class HeldHeartbeat:
    """A HEARTBEAT whose answer is kept back, so that all members of its group are told at the same moment."""

    request: Request
    message: Any
    reply: Reply
    timer: asyncio.TimerHandle | None = None

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


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

    def clear(self) -> None:
        self._members.clear()

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

    def hold(
        self,
        request: Request,
        message: Any,
        reply: Reply,
        seconds: float,
        overdue: Callable[[HeldHeartbeat], None],
    ) -> None:
        """Keep a heartbeat's answer back; ``overdue`` is called after ``seconds`` unless it is let go before."""
        loop = asyncio.get_running_loop()
        held = HeldHeartbeat(request, message, reply)
        held.timer = loop.call_later(seconds, overdue, held)
        self.held.append(held)
        self.note(request, message, "held")

    def let_go(self, held: HeldHeartbeat) -> None:
        held.stop_timer()
        self.held.remove(held)
        self.note(held.request, held.message, "active")

    def close(self) -> None:
        """The connection ends: no timer may fire any more."""
        for held in self.held:
            held.stop_timer()
