"""The elements of a radius: uses, and the nodes that move. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hadash.identity.identity import Identity


@dataclass(frozen=True, slots=True, order=True)
class AccessEdge:
    """One client's use of a Topic or group. ``kind`` is produce or consume (of a Topic), group (the client is a
    member) or acl (the client was never seen, but may use the Topic).
    """

    appid: str
    client_id: str
    kind: str
    resource: str
    #: Whether a person declared the use and it was not observed.
    declared: bool = False

    @property
    def who(self) -> str:
        return f"{self.appid} › {self.client_id}" if self.client_id else self.appid


class Node(NamedTuple):
    """A node of the graph: a Topic, a group, or an identity whose binding is written. Unused fields are empty."""

    kind: str
    appid: str
    #: The name of an InstanceID, Topic or group; the names of a Topic list.
    names: tuple[str, ...]

    @property
    def identity(self) -> Identity | None:
        """``None`` for a Topic or group itself, which has no binding."""
        if self.kind == APPID:
            return Identity(self.appid)
        if self.kind == INSTANCE:
            return Identity(self.appid, self.names[0])
        if self.kind == BOUND_TOPICS:
            return Identity(self.appid, topics=self.names)
        if self.kind == BOUND_GROUP:
            return Identity(self.appid, group=self.names[0])
        return None

    def __str__(self) -> str:
        return str(self.identity or self.names[0])


#: Kinds of nodes.
APPID, INSTANCE, BOUND_TOPICS, BOUND_GROUP = "appid", "instance", "bound topics", "bound group"
TOPIC, GROUP = "topic", "group"


def topic(name: str) -> Node:
    return Node(TOPIC, "", (name,))


def group(name: str) -> Node:
    return Node(GROUP, "", (name,))


def node_of(identity: Identity) -> Node:
    """The node of an identity."""
    if identity.instance_id is not None:
        return Node(INSTANCE, identity.appid, (identity.instance_id,))
    if identity.group is not None:
        return Node(BOUND_GROUP, identity.appid, (identity.group,))
    if identity.topics:
        return Node(BOUND_TOPICS, identity.appid, identity.topics)
    return Node(APPID, identity.appid, ())
