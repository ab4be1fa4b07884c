"""What is known of a pair of clusters and decides what moves together: access edges, bindings, InstanceIDs and
mirrors. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.radius.closure import AccessGraph, governing_of
from hadash.radius.nodes import (
    APPID,
    INSTANCE,
    AccessEdge,
    Node,
    topic,
)
from hadash.radius.scope import Scope, ScopeKind


@dataclass(frozen=True, slots=True)
class MirrorOf:
    """A mirror and the Topics that it carries; ``source`` is the cluster that clients write to."""

    name: str
    source: str
    topics: frozenset[str]


@dataclass(frozen=True)
class Fleet:
    """A pair of clusters with its clients, bindings and mirrors.

    :param uses: observed or declared access, and access that ACLs allow to clients that were never seen.
    :param documents: the binding documents by AppID; :param instances: the registered InstanceIDs of each.
    :param default: the cluster of identities without a binding.
    """

    pair: str
    clusters: tuple[str, str]
    default: str
    uses: tuple[AccessEdge, ...]
    documents: Mapping[str, BindingDocument]
    instances: Mapping[str, frozenset[str]]
    mirrors: tuple[MirrorOf, ...]

    def cluster_of(self, node: Node) -> str:
        """The cluster of an identity: its own binding's, else that of its AppID, else the pair's default."""
        document = self.documents.get(node.appid)
        if document is None:
            return self.default
        bound: Binding | None = None
        if node.kind == INSTANCE:
            bound = document.instances.get(node.names[0])
        elif node.kind != APPID:
            identity = node.identity
            bound = document.binding_of(identity) if identity is not None else None
        if bound is None:
            bound = document.default
        return self.default if bound is None else bound.cluster


def with_asked(fleet: Fleet, scope: Scope) -> Fleet:
    """``fleet`` with the InstanceID that ``scope`` asks for, which need not be registered."""
    if scope.kind is not ScopeKind.INSTANCE:
        return fleet
    asked = fleet.instances.get(scope.appid, frozenset()) | {scope.instance_id}
    return replace(fleet, instances={**fleet.instances, scope.appid: asked})


def order_of(identity: Identity) -> tuple[str, str, tuple[str, ...], str]:
    """The sort key of an identity."""
    return identity.appid, identity.instance_id or "", identity.topics, identity.group or ""


def is_on(fleet: Fleet, cluster: str, node: Node) -> bool:
    """Whether an identity is bound to ``cluster``."""
    return fleet.cluster_of(node) == cluster


def everything_on(graph: AccessGraph, source: str, fleet: Fleet) -> list[Node]:
    """All nodes that are bound to ``source``, or mirrored from it."""
    identities = [
        node for node in graph.nodes if node.identity is not None and fleet.cluster_of(node) == source
    ]
    # Topics that nobody uses at the moment count, too: they are mirrored from there.
    return [*identities, *(topic(name) for m in fleet.mirrors if m.source == source for name in m.topics)]


def governing_node(use: AccessEdge, fleet: Fleet) -> Node:
    """The node of the identity whose binding routes ``use``."""
    registered = use.client_id in fleet.instances.get(use.appid, ())
    return governing_of(use, fleet.documents.get(use.appid), registered)


def used_on(fleet: Fleet, cluster: str, topics: Iterable[str], groups: Iterable[str]) -> list[str]:
    """The uses of these Topics or groups (observed, declared or allowed) by identities that are on ``cluster``;
    sorted texts.
    """
    names = {"group": set(groups)}
    wanted = set(topics)
    return sorted(
        {
            f"{use.who} {'declared' if use.declared else use.kind} {use.resource}"
            for use in fleet.uses
            if use.resource in names.get(use.kind, wanted)
            if fleet.cluster_of(governing_node(use, fleet)) == cluster
        }
    )


def bound_on(fleet: Fleet, cluster: str, topics: Iterable[str], groups: Iterable[str]) -> list[str]:
    """The bindings of single Topics, Topic lists and groups that keep one of these on ``cluster``; sorted texts."""
    wanted, wanted_groups = set(topics), set(groups)
    found: set[str] = set()
    for appid, document in fleet.documents.items():
        named = {(name,): binding for name, binding in document.topics.items()} | dict(document.topic_lists)
        found |= {
            str(Identity(appid, topics=names))
            for names, binding in named.items()
            if binding.cluster == cluster and wanted & set(names)
        }
        found |= {
            str(Identity(appid, group=name))
            for name, binding in document.groups.items()
            if binding.cluster == cluster and name in wanted_groups
        }
    return sorted(found)
