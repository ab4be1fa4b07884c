"""What a signed-in client needs of its connection; ``ClientConnection`` is the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hadash.gateway.brokers.nodes import Node
from hadash.gateway.session.states import Line
from hadash.gateway.waiting.replies import ReplyQueue


class ItsConnection(Protocol):
    """A connection, as its client sees it."""

    @property
    def host(self) -> str: ...

    @property
    def node(self) -> Node | None: ...

    @property
    def replies(self) -> ReplyQueue: ...

    @property
    def line(self) -> Line: ...

    @property
    def gone(self) -> bool: ...

    @property
    def slow(self) -> bool: ...

    def go_on(self) -> None: ...

    def guard(self, action: Callable[[], None]) -> None: ...

    def named(self, client_id: str) -> None: ...

    def still_there(self) -> bool: ...

    def turned_away(self, reason: str, why: str) -> None: ...

    def leave(self) -> None: ...

    def let_go(self) -> None: ...

    def close(self) -> None: ...

    def close_when_answered(self) -> None: ...
