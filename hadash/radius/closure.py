"""Everything that has to move when one node moves, and the reason for each member. Pure.

Every rule has the form "if this moves, that moves": a client that uses a Topic moves with it, and brings along
everything else that it uses. So the rules are the edges of a graph, and everything reachable in it has to move.
That is the smallest closed set, it does not depend on the order of the observations, and the path to a member
is the reason for it.

A client moves by itself when its client.id is one of its AppID's *InstanceIDs*, and otherwise with the whole
AppID. A client without an InstanceID on a Topic (or in a group) that other clients of its AppID use by their
InstanceIDs is *uncovered*: it would stay behind. It is reported, or the whole AppID moves ("widen").
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hadash.identity.client_ids import named_by
from hadash.identity.identity import Identity
from hadash.identity.resolve import Document
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

#: An array of numbers or booleans.
Array = NDArray[Any]


class Dimension(StrEnum):
    """Whether InstanceIDs move by themselves, or only whole AppIDs do."""

    INSTANCE = "instance"
    APPID = "appid"


class Closure:
    """The nodes that move, in the order of their distance from those that were asked for. Lists of names are made
    on demand: half of a large fleet may hang together.
    """

    def __init__(
        self, graph: AccessGraph, order: Array, because: Array, there: Array | None, unknown: Sequence[Node]
    ) -> None:
        self._graph = graph
        self._order = order
        self._because = because
        self._there = there
        self._unknown = tuple(unknown)
        self._inside = np.zeros(len(graph.nodes), bool)
        self._inside[order] = True

    def __contains__(self, node: Node) -> bool:
        number = self._graph.number(node)
        return node in self._unknown if number is None else bool(self._inside[number])

    def __len__(self) -> int:
        return len(self._order) + len(self._unknown)

    def nodes(self, *kinds: str) -> list[Node]:
        """The members of the given kinds, sorted."""
        nodes = self._graph.nodes
        found = [
            nodes[number]
            for kind in kinds
            for number in np.flatnonzero(self._inside[self._graph.range_of(kind)])
            + self._graph.range_of(kind).start
        ]
        return sorted([*found, *(node for node in self._unknown if node.kind in kinds)])

    def named(self, kind: str) -> list[str]:
        """The names of the members of one kind (Topics or groups), sorted."""
        return [node.names[0] for node in self.nodes(kind)]

    @cached_property
    def members(self) -> Mapping[Node, Node | None]:
        """Each member and the one that pulled it in (``None`` if it was asked for), nearest first."""
        nodes, because = self._graph.nodes, self._because
        found: dict[Node, Node | None] = dict.fromkeys(self._unknown)
        for number in self._order:
            before = because[number]
            found[nodes[number]] = nodes[before] if 0 <= before < len(nodes) else None
        return found

    @cached_property
    def already(self) -> frozenset[Node]:
        """Members that are already on the target: they pull in nothing, and nothing is written for them."""
        if self._there is None:
            return frozenset()
        return frozenset(self._graph.nodes[number] for number in self._order if self._there[number])

    @cached_property
    def uncovered(self) -> tuple[AccessEdge, ...]:
        """Uses of moving Topics and groups by clients that would stay behind."""
        found = {
            use
            for node, uses in self._graph.uncovered.items()
            if node in self
            for use in uses
            if Node(APPID, use.appid, ()) not in self
        }
        return tuple(sorted(found))

    def chain(self, member: Node) -> list[Node]:
        """The path of reasons from a node that was asked for to ``member``."""
        found = [member]
        while (before := self.members[found[-1]]) is not None:
            found.append(before)
        return found[::-1]


class AccessGraph:
    """The graph of which identities use which Topics and groups in a pair. Built once for many questions.

    :param uses: observed or declared access, and access that ACLs allow to clients that were never seen.
    :param documents: the binding documents, by AppID.
    :param instances: the registered InstanceIDs of each AppID (those that have a binding need not be among them).
    :param widen: whether an uncovered client moves its whole AppID; otherwise it is reported.
    """

    def __init__(
        self,
        uses: Iterable[AccessEdge],
        documents: Mapping[str, Document[Any]],
        instances: Mapping[str, Iterable[str]],
        dimension: Dimension = Dimension.INSTANCE,
        *,
        widen: bool = False,
    ) -> None:
        self._documents = documents
        self._instances: dict[str, set[str]] = defaultdict(set)
        self._dimension = dimension
        if dimension is Dimension.INSTANCE:
            for appid, names in instances.items():
                self._instances[appid].update(names)
        # (Where only whole AppIDs move, an InstanceID that was once moved by itself may still be on the other
        # cluster.)
        for appid, document in documents.items():
            self._instances[appid].update(document.instances)
        #: By Topic or group: its uses by clients that would stay behind.
        self.uncovered: dict[Node, list[AccessEdge]] = defaultdict(list)
        rules = _Rules()
        self._add_uses(rules, list(uses), widen)
        self._add_instances(rules)
        self._add_bound(rules)
        self._put_in_order(rules)

    def _put_in_order(self, rules: _Rules) -> None:
        """Number the nodes by their names, so that the paths found do not depend on the order of the uses."""
        first_numbers = rules.numbers
        self.nodes = sorted(first_numbers)
        self._numbers = {node: number for number, node in enumerate(self.nodes)}
        moved = np.empty(len(self.nodes), np.int64)
        for node, first in first_numbers.items():
            moved[first] = self._numbers[node]
        count = len(self.nodes)
        ones, others = (moved[np.frombuffer(ends, np.int64)] for ends in (rules.ones, rules.others))
        # (Duplicate edges are merged; the root, which leads to everything that is asked for, is added later.)
        self._edges = csr_array((np.ones(len(ones), np.int8), (ones, others)), shape=(count, count))
        self._edges.sum_duplicates()
        self._edges.data[:] = 1  # the sums of duplicates may have overflowed eight bits
        self._ranges = _ranges([node.kind for node in self.nodes])
        self._documented = [n for n, node in enumerate(self.nodes) if node.appid in self._documents]

    def __contains__(self, node: Node) -> bool:
        return node in self._numbers

    def number(self, node: Node) -> int | None:
        """The node's index in ``nodes``, which are sorted; ``None`` when the graph does not have it."""
        return self._numbers.get(node)

    def range_of(self, kind: str) -> slice:
        """The slice of ``nodes`` that holds a kind."""
        return self._ranges.get(kind, slice(0, 0))

    def close(
        self,
        asked: Iterable[Node],
        is_there: Callable[[Node], bool] | None = None,
        *,
        there_by_default: bool = False,
    ) -> Closure:
        """Return everything that moves with ``asked``.

        :param is_there: whether an identity is already on the target; called for AppIDs that have a document.
        :param there_by_default: whether identities of AppIDs without a document are.
        """
        wanted = sorted(set(asked))
        numbers = [self._numbers[node] for node in wanted if node in self._numbers]
        edges, there = self.cut(is_there, there_by_default=there_by_default)
        order, because = _reached(edges, numbers)
        return Closure(self, order, because, there, [t for t in wanted if t not in self._numbers])

    def cut(
        self, is_there: Callable[[Node], bool] | None = None, *, there_by_default: bool = False
    ) -> tuple[csr_array, Array | None]:
        """Return (the edges without those that start at nodes already on the target; which nodes these are, ``None``
        if there are none).

        Both are indexed by the nodes' numbers. Parameters as for :meth:`close`.
        """
        there = self._there(is_there, there_by_default)
        return (self._edges if there is None else _cut(self._edges, there)), there

    def _there(self, is_there: Callable[[Node], bool] | None, by_default: bool) -> Array | None:
        if is_there is None and not by_default:
            return None
        found = np.full(len(self.nodes), by_default)
        for kind in (TOPIC, GROUP):
            found[self.range_of(kind)] = False
        if is_there is not None:
            for number in self._documented:
                found[number] = is_there(self.nodes[number])
        return found if found.any() else None

    # -- the rules -----------------------------------------------------------------------------------------------

    def _add_uses(self, rules: _Rules, uses: list[AccessEdge], widen: bool) -> None:
        instances = self._instances
        covered = {
            (use.appid, use.kind == GROUP, use.resource)
            for use in uses
            if use.client_id in instances.get(use.appid, ())
        }
        for use in uses:
            resource = group(use.resource) if use.kind == GROUP else topic(use.resource)
            registered = use.client_id in instances.get(use.appid, ())
            governing = governing_of(use, self._documents.get(use.appid), registered)
            if governing.kind != APPID:
                rules.both(governing, resource)
                if registered and governing.kind != INSTANCE:
                    # Moved by itself it would get a binding, and that one outranks the Topic's.
                    rules.follows(Node(INSTANCE, use.appid, (use.client_id,)), resource)
                continue
            # A whole AppID moves with everything that any of its clients uses.
            whole = Node(APPID, use.appid, ())
            rules.follows(whole, resource)
            if not widen and (use.appid, use.kind == GROUP, use.resource) in covered:
                self.uncovered[resource].append(use)
            else:
                rules.follows(resource, whole)

    def _add_instances(self, rules: _Rules) -> None:
        """A whole AppID pulls in all of its InstanceIDs; where only whole AppIDs move, they pull it in, too."""
        for appid, names in self._instances.items():
            for name in names:
                rules.follows(Node(APPID, appid, ()), Node(INSTANCE, appid, (name,)))
                if self._dimension is Dimension.APPID:
                    rules.follows(Node(INSTANCE, appid, (name,)), Node(APPID, appid, ()))

    def _add_bound(self, rules: _Rules) -> None:
        """All Topics of a bound list move together, and a group moves with its own binding."""
        for appid, document in self._documents.items():
            for name in document.topics:
                rules.both(Node(BOUND_TOPICS, appid, (name,)), topic(name))
            for names in document.topic_lists:
                for name in names:
                    if name not in document.topics:
                        rules.both(Node(BOUND_TOPICS, appid, names), topic(name))
            for name in document.groups:
                rules.both(Node(BOUND_GROUP, appid, (name,)), group(name))


class _Rules:
    """The edges while the graph is built: nodes are numbered in the order in which they are first named."""

    def __init__(self) -> None:
        self.numbers: dict[Node, int] = {}
        self.ones, self.others = array("q"), array("q")

    def _number(self, node: Node) -> int:
        return self.numbers.setdefault(node, len(self.numbers))

    def follows(self, one: Node, other: Node) -> None:
        """When ``one`` moves, ``other`` moves."""
        self.ones.append(self._number(one))
        self.others.append(self._number(other))

    def both(self, one: Node, other: Node) -> None:
        """Neither moves without the other."""
        self.follows(one, other)
        self.follows(other, one)


def _ranges(kinds: Sequence[str]) -> dict[str, slice]:
    """The slice of each kind; ``kinds`` are sorted."""
    found: dict[str, slice] = {}
    start = 0
    for end in range(1, len(kinds) + 1):
        if end == len(kinds) or kinds[end] != kinds[start]:
            found[kinds[start]] = slice(start, end)
            start = end
    return found


def _cut(edges: csr_array, there: Array) -> csr_array:
    """``edges`` without those that start at nodes already on the target."""
    counts = np.where(there, 0, np.diff(edges.indptr))
    keep = np.repeat(~there, np.diff(edges.indptr))
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return csr_array((edges.data[keep], edges.indices[keep], indptr), shape=edges.shape)


def _reached(edges: csr_array, numbers: Sequence[int]) -> tuple[Array, Array]:
    """(the numbers of all reachable nodes, nearest first; for each number the one that leads to it)."""
    count = edges.shape[0]
    if not numbers:
        return np.empty(0, np.int64), np.full(count, -1)
    # One more node, the root, leads to everything that was asked for.
    rooted = csr_array(
        (
            np.concatenate((edges.data, np.ones(len(numbers), edges.data.dtype))),
            np.concatenate((edges.indices, np.asarray(numbers, edges.indices.dtype))),
            np.concatenate((edges.indptr, [edges.indptr[-1] + len(numbers)])),
        ),
        shape=(count + 1, count + 1),
    )
    order, because = breadth_first_order(rooted, count)
    return order[1:], because


def bound_topics(document: Document[Any], name: str) -> Node | None:
    """The bound identity of a Topic, or of a list that contains it; ``None`` if there is none."""
    if name in document.topics:
        return Node(BOUND_TOPICS, document.appid, (name,))
    for names in document.topic_lists:
        if name in names:
            return Node(BOUND_TOPICS, document.appid, names)
    return None


def governing_of(use: AccessEdge, document: Document[Any] | None, registered: bool) -> Node:
    """The identity whose binding routes a use, or would if it had one; the rules are those of
    :mod:`hadash.identity.resolve`.

    A group's own binding does not count: the group's members read by their AppID, and move with it.

    :param registered: whether the client.id is an InstanceID, even one without a binding.
    """
    instance = Node(INSTANCE, use.appid, (use.client_id,))
    if document is None:
        return instance if registered else Node(APPID, use.appid, ())
    if use.client_id in document.instances:
        return instance
    named = names_topic(use.client_id, use.appid)
    by_name = bound_topics(document, named) if named is not None else None
    if by_name is not None:
        return by_name
    by_topic = bound_topics(document, use.resource) if use.kind != GROUP else None
    if by_topic is not None:
        return by_topic
    return instance if registered else Node(APPID, use.appid, ())


def names_topic(client_id: str, appid: str) -> str | None:
    """The Topic that a client.id of the form ``HA#AppID#Topic`` names for its own AppID."""
    named = named_by(client_id)
    return named.topic if named is not None and named.appid == appid else None


def identities_of(
    closure: Closure, documents: Mapping[str, Document[Any]], is_there: Callable[[Node], bool]
) -> Iterator[Identity]:
    """Yield the identities whose bindings are written.

    A whole AppID brings along those of its InstanceIDs that have a binding of their own, so that no narrower
    binding stays behind; the other InstanceIDs have none and need none.
    """
    for member in closure.nodes(APPID, INSTANCE, BOUND_TOPICS, BOUND_GROUP):
        identity = member.identity
        assert identity is not None
        if member in closure.already:
            continue  # what it uses stays as well
        whole = Node(APPID, member.appid, ())
        if member.kind == INSTANCE and whole in closure and whole not in closure.already:
            continue
        yield identity
        document = documents.get(member.appid)
        if member.kind == APPID and document is not None:
            for name in document.instances:
                if not is_there(Node(INSTANCE, member.appid, (name,))):
                    yield Identity(member.appid, name)
