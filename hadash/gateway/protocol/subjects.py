"""The Topics or groups that a request names, by which it is routed (docs/background.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hadash.gateway.protocol.api_keys import GROUP, ApiKey
from hadash.gateway.protocol.since import OffsetFetch
from hadash.gateway.protocol.wire import Request

_TOPICS: dict[ApiKey, Callable[[Any], set[str]]] = {
    ApiKey.PRODUCE: lambda message: {p.topic for p in message.partitions},
    ApiKey.FETCH: lambda message: {t.topic for t in message.topics},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda message: {t.topic for t in message.topics},
    ApiKey.LIST_OFFSETS: lambda message: {t.name for t in message.topics},
}


def topics_of(request: Request, message: Any) -> set[str]:
    """Return the Topics that a request of :data:`DATA` names; empty for other kinds."""
    read = _TOPICS.get(request.kind)
    return read(message) if read is not None else set()


def group_of(request: Request, message: Any) -> Sequence[str] | None:
    """Return the groups that a request of :data:`GROUP` names; ``None`` for other kinds."""
    if request.kind not in GROUP:
        return None
    if request.kind is ApiKey.OFFSET_FETCH and request.version >= OffsetFetch.GROUPS:
        return [group.group_id for group in message.groups]
    return (message.group_id,)
