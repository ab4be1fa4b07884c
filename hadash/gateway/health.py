"""What a Gateway knows of its own state: those who learn of something set it, and its HTTP side tells it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hadash.gateway.brokers.nodes import Node


@dataclass(slots=True)
class Health:
    """The state of one Gateway, beside what its parts say of themselves."""

    #: Whether the session with ZooKeeper stands.
    zookeeper_connected: bool = True
    #: Whether each cluster answered the last time it was asked (every ``versions_seconds``); a cluster that was never
    #: asked is missing.
    reached: dict[str, bool] = field(default_factory=dict)
    #: By port: the broker in whose place nobody listens, because the port is taken or too many files are open. It is
    #: tried again every ``versions_seconds``.
    unheard: dict[int, Node] = field(default_factory=dict)
    #: Whether the Gateway is hanging up because it was told to stop.
    stopping: bool = False
