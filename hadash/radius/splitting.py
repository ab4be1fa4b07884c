"""Split what is asked for into its smallest radii: each is closed, and no two share anything. Pure.

A node and everything that it pulls in belong together, and so do two nodes that pull in the same third one. So
the radii are the connected parts of the graph of :mod:`hadash.radius.closure`, as far as it is reached from what
was asked for. (No two plans of one split overlap as :meth:`hadash.switching.plan.Plan.overlaps` says, so they
can be carried out side by side.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from hadash.bindings.model import BindingDocument
from hadash.radius.closure import AccessGraph, Array, Dimension
from hadash.radius.fleet import Fleet, everything_on, is_on
from hadash.radius.nodes import (
    APPID,
    BOUND_GROUP,
    BOUND_TOPICS,
    GROUP,
    INSTANCE,
    TOPIC,
    AccessEdge,
    Node,
    group,
    topic,
)
from hadash.radius.scope import Scope, ScopeKind, member_key

#: Of nodes that pull in each other, a scope names the kind that people ask for first.
_RANK = {kind: rank for rank, kind in enumerate((APPID, INSTANCE, TOPIC, GROUP, BOUND_TOPICS, BOUND_GROUP))}


@dataclass(frozen=True, slots=True)
class Radius:
    """Nodes that have to move together. ``nodes`` are sorted; ``scope`` asks for all of them."""

    scope: Scope
    nodes: tuple[Node, ...]


def radii_of(
    fleet: Fleet,
    source: str,
    target: str,
    asked: Iterable[Node] | None = None,
    dimension: Dimension = Dimension.INSTANCE,
    *,
    widen: bool = False,
) -> list[Radius]:
    """The radii of ``asked`` (``None``: of everything on ``source``), fewest nodes first.

    A node that is already on ``target`` connects nothing, and is a radius of its own only if it was asked for.
    """
    graph = AccessGraph(fleet.uses, fleet.documents, fleet.instances, dimension, widen=widen)
    wanted = set(everything_on(graph, source, fleet) if asked is None else asked)
    return _Split(
        graph, fleet, target, wanted, Scope(ScopeKind.SEVERAL, dimension=dimension, widen=widen)
    ).radii()


def radii_again(scopes: Sequence[Scope], fleet: Fleet, target: str) -> Iterator[Radius]:
    """What each scope of a split moves now; all scopes have the same dimension and the same ``widen``."""
    if not scopes:
        return
    graph = AccessGraph(
        fleet.uses, fleet.documents, fleet.instances, scopes[0].dimension, widen=scopes[0].widen
    )
    for scope in scopes:
        closure = graph.close(
            scope.nodes, partial(is_on, fleet, target), there_by_default=fleet.default == target
        )
        yield Radius(scope, tuple(sorted(set(closure.members) - closure.already)))


class _Split:
    """One split. Numbers are indexes of ``nodes``: the graph's, followed by nodes asked for that it does not have."""

    def __init__(
        self, graph: AccessGraph, fleet: Fleet, target: str, asked: set[Node], likeness: Scope
    ) -> None:
        self._fleet, self._likeness = fleet, likeness
        unknown = sorted(node for node in asked if node not in graph)
        self.nodes = [*graph.nodes, *unknown]
        self._numbers = {node: number for number, node in enumerate(self.nodes)}
        self._asked = np.zeros(len(self.nodes), bool)
        self._asked[[self._numbers[node] for node in asked]] = True
        edges, there = graph.cut(partial(is_on, fleet, target), there_by_default=fleet.default == target)
        self._there = np.zeros(len(self.nodes), bool)
        if there is not None:
            self._there[: len(there)] = there
        ones, others = edges.nonzero()
        kept = ~self._there[others]  # (a node that is already there is pulled in, but connects nothing)
        self._edges = _matrix(len(self.nodes), ones[kept], others[kept])

    def radii(self) -> list[Radius]:
        inside = self._reached()
        circles, first = self._circles(inside)
        found = [self._radius(part, circles, first) for part in self._parts(inside)]
        return sorted(found, key=lambda radius: (len(radius.nodes), radius.nodes))

    def _reached(self) -> Array:
        """Everything that moves with any node that was asked for, as an array of booleans."""
        count = len(self.nodes)
        starts = np.flatnonzero(self._asked)
        inside = np.zeros(count, bool)
        if len(starts):
            ones, others = self._edges.nonzero()
            rooted = _matrix(
                count + 1, np.append(ones, np.full(len(starts), count)), np.append(others, starts)
            )
            order = breadth_first_order(rooted, count, return_predecessors=False)
            inside[order[1:]] = True
        return inside

    def _parts(self, inside: Array) -> Iterator[Array]:
        """The node numbers of each connected part."""
        ones, others = self._edges.nonzero()
        kept = inside[ones] & inside[others]
        more = np.array([*self._one_document(inside), *self._one_mirror(inside)], np.int64).reshape(-1, 2)
        joined = _matrix(
            len(self.nodes), np.append(ones[kept], more[:, 0]), np.append(others[kept], more[:, 1])
        )
        _, labels = connected_components(joined, directed=False)
        numbers = np.flatnonzero(inside)
        numbers = numbers[np.argsort(labels[numbers], kind="stable")]
        borders = np.flatnonzero(np.diff(labels[numbers])) + 1
        return iter(np.split(numbers, borders)) if len(numbers) else iter(())

    def _one_document(self, inside: Array) -> Iterator[tuple[int, int]]:
        """Join a whole AppID with its narrower bindings: a switch of one locks the document of the other."""
        for number in np.flatnonzero(inside & ~self._there):
            node = self.nodes[number]
            whole = self._numbers.get(Node(APPID, node.appid, ())) if node.appid else None
            if whole is not None and whole != number and inside[whole] and not self._there[whole]:
                yield whole, int(number)

    def _one_mirror(self, inside: Array) -> Iterator[tuple[int, int]]:
        """Join Topics that nobody uses with the others of their mirror, which could not turn round without them."""
        used = {use.resource for use in self._fleet.uses if use.kind != GROUP}
        for mirror in self._fleet.mirrors:
            numbers = [self._numbers.get(topic(name)) for name in sorted(mirror.topics)]
            carried = [number for number in numbers if number is not None and inside[number]]
            first = next((n for n in carried if self.nodes[n].names[0] in used), carried[0] if carried else 0)
            for number in carried:
                if self.nodes[number].names[0] not in used and number != first:
                    yield first, number

    def _circles(self, inside: Array) -> tuple[Array, Array]:
        """(each node's circle of nodes that pull in each other; for each circle, whether nothing else leads to it)."""
        ones, others = self._edges.nonzero()
        kept = inside[ones] & inside[others]
        ones, others = ones[kept], others[kept]
        graph = _matrix(len(self.nodes), ones, others)
        count, circles = connected_components(graph, directed=True, connection="strong")
        first = np.ones(count, bool)
        first[circles[others][circles[ones] != circles[others]]] = False
        return circles, first

    def _radius(self, part: Array, circles: Array, first: Array) -> Radius:
        """``part`` with the fewest roots from which all of it can be reached: one of each circle that nothing else
        leads to.
        """
        best: dict[int, Node] = {}
        for number in part:
            node, circle = self.nodes[number], int(circles[number])
            if first[circle] and (
                circle not in best or self._preferred(node) < self._preferred(best[circle])
            ):
                best[circle] = node
        roots = sorted(best.values(), key=self._preferred)
        return Radius(self._scope(roots), tuple(sorted(self.nodes[number] for number in part)))

    def _preferred(self, node: Node) -> tuple[bool, int, Node]:
        return not self._asked[self._numbers[node]], _RANK[node.kind], node

    def _scope(self, roots: list[Node]) -> Scope:
        identity = roots[0].identity
        if len(roots) == 1 and identity is not None and roots[0].kind in (APPID, INSTANCE):
            kind = ScopeKind.APPID if roots[0].kind == APPID else ScopeKind.INSTANCE
            return replace(
                self._likeness, kind=kind, appid=identity.appid, instance_id=identity.instance_id or ""
            )
        if all(node.kind == TOPIC for node in roots):
            names = tuple(sorted(node.names[0] for node in roots))
            return replace(self._likeness, kind=ScopeKind.TOPICS, topics=names)
        return replace(self._likeness, roots=tuple(member_key(node) for node in roots))


def _matrix(count: int, ones: Array, others: Array) -> csr_array:
    return csr_array(coo_array((np.ones(len(ones), np.int8), (ones, others)), shape=(count, count)))


class Parts:
    """The part of a fleet that concerns one radius, found through indexes instead of a search of the whole fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._by_appid: dict[str, list[AccessEdge]] = defaultdict(list)
        self._by_resource: dict[tuple[bool, str], list[AccessEdge]] = defaultdict(list)
        for use in fleet.uses:
            self._by_appid[use.appid].append(use)
            self._by_resource[use.kind == GROUP, use.resource].append(use)

    @cached_property
    def _mirrors(self) -> Mapping[str, list[int]]:
        """By Topic: the indexes of the mirrors that carry it."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, mirror in enumerate(self._fleet.mirrors):
            for name in mirror.topics:
                found[name].append(place)
        return found

    @cached_property
    def _bound(self) -> Mapping[Node, list[str]]:
        """By Topic or group: the AppIDs that have a binding for it, whether they use it or not."""
        found: dict[Node, list[str]] = defaultdict(list)
        for appid, document in self._fleet.documents.items():
            for name in {*document.topics, *(n for names in document.topic_lists for n in names)}:
                found[topic(name)].append(appid)
            for name in document.groups:
                found[group(name)].append(appid)
        return found

    def of(self, radius: Radius) -> Fleet:
        """All uses of the radius's AppIDs, all uses and bindings of its Topics and groups, and its Topics' mirrors."""
        uses: dict[AccessEdge, None] = {}
        for node in radius.nodes:
            found = (
                self._by_appid[node.appid]
                if node.appid
                else self._by_resource[node.kind == GROUP, node.names[0]]
            )
            uses.update(dict.fromkeys(found))
            # (AppIDs that are on the target with it count, too: this shows in which groups its readers are.)
            for appid in self._bound.get(node, ()):
                uses.update(dict.fromkeys(self._by_appid[appid]))
        appids = {use.appid for use in uses} | {node.appid for node in radius.nodes if node.appid}
        appids.update(appid for node in radius.nodes for appid in self._bound.get(node, ()))
        carried = [name for node in radius.nodes if node.kind == TOPIC for name in node.names]
        mirrors = sorted({place for name in carried for place in self._mirrors.get(name, ())})
        documents: dict[str, BindingDocument] = {
            a: self._fleet.documents[a] for a in appids if a in self._fleet.documents
        }
        return replace(
            self._fleet,
            uses=tuple(sorted(uses)),
            documents=documents,
            instances={a: self._fleet.instances[a] for a in appids if a in self._fleet.instances},
            mirrors=tuple(self._fleet.mirrors[place] for place in mirrors),
        )
