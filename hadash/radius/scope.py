"""What a person asks to move, and how the members of a radius are written. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hadash.identity.identity import Identity, parse
from hadash.radius.closure import Dimension
from hadash.radius.nodes import GROUP, TOPIC, Node, group, node_of, topic

#: The most nodes that the text of a scope names.
SHOWN_ROOTS = 3


class ScopeKind(StrEnum):
    """The kinds of things that a person can ask to move."""

    APPID = "appid"
    INSTANCE = "instance"
    TOPICS = "topics"
    #: Everything that is on one cluster of the pair.
    PAIR = "pair"
    #: Several nodes that have to move together: a radius that cannot be reached from any single one of them.
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class Scope:
    """What was asked for, and how its closure is found: enough to ask the same question again."""

    kind: ScopeKind
    appid: str = ""
    instance_id: str = ""
    topics: tuple[str, ...] = ()
    dimension: Dimension = Dimension.INSTANCE
    #: Whether clients without an InstanceID move their whole AppID; otherwise they block the switch.
    widen: bool = False
    #: The nodes of a scope of kind SEVERAL, each as :func:`member_key` writes it.
    roots: tuple[str, ...] = ()

    @classmethod
    def of(cls, identity: Identity, *, widen: bool = False) -> Scope:
        """The scope of an AppID, or of one of its InstanceIDs."""
        kind = ScopeKind.APPID if identity.instance_id is None else ScopeKind.INSTANCE
        return cls(kind, identity.appid, identity.instance_id or "", widen=widen)

    @property
    def identity(self) -> Identity | None:
        """``None`` when Topics, several nodes or the whole pair were asked for."""
        return Identity(self.appid, self.instance_id or None) if self.appid else None

    @property
    def nodes(self) -> list[Node]:
        """The nodes where the closure begins; those of a whole pair depend on the bindings, and are not listed
        here.
        """
        if self.identity is not None:
            return [node_of(self.identity)]
        if self.roots:
            return [node_named(key) for key in self.roots]
        return [topic(name) for name in self.topics]

    def __str__(self) -> str:
        """
        >>> str(Scope(ScopeKind.TOPICS, topics=("orders", "returns")))
        'Topic orders, returns'
        >>> str(Scope(ScopeKind.SEVERAL, roots=("appid:shop", "instance:crm+sync", "topic:orders", "appid:web")))
        'shop, crm › sync, orders +1'
        """
        if self.kind is ScopeKind.PAIR:
            return "everything"
        if self.roots:
            more = f" +{len(self.roots) - SHOWN_ROOTS}" if len(self.roots) > SHOWN_ROOTS else ""
            return ", ".join(str(node) for node in self.nodes[:SHOWN_ROOTS]) + more
        return str(self.identity) if self.identity is not None else f"Topic {', '.join(self.topics)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "appid": self.appid,
            "instance_id": self.instance_id,
            "topics": list(self.topics),
            "dimension": self.dimension.value,
            "widen": self.widen,
            "roots": list(self.roots),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Scope:
        return cls(
            ScopeKind(value["kind"]),
            value["appid"],
            value["instance_id"],
            tuple(value["topics"]),
            Dimension(value["dimension"]),
            value["widen"],
            tuple(value["roots"]),
        )


@dataclass(frozen=True, slots=True)
class Member:
    """A node that moves, and the one that pulls it in; ``because`` is empty if the node was asked for.

    Both are texts of :func:`member_key`. ``use`` says how the two are connected: produce, consume, group, declared,
    acl, or empty when one is part of the other.
    """

    key: str
    because: str = ""
    use: str = ""
    #: The node is already on the target: nothing is written for it.
    already: bool = False


def member_key(node: Node) -> str:
    """A node as a plan writes it: its kind, and an identity's key or a name.

    >>> member_key(topic("orders"))
    'topic:orders'
    """
    identity = node.identity
    return f"{node.kind}:{identity.key if identity is not None else node.names[0]}"


def node_named(key: str) -> Node:
    """The node that :func:`member_key` wrote.

    :raises ValueError: the text names none.

    >>> node_named("instance:shop+web") == node_of(Identity("shop", "web"))
    True
    """
    kind, _, name = key.partition(":")
    if kind in (TOPIC, GROUP) and name:
        return topic(name) if kind == TOPIC else group(name)
    node = node_of(parse(name))
    if node.kind != kind:
        raise ValueError(f"{key!r} names nothing that moves.")
    return node
