"""From what was asked for to the plan of a switch and its blockers. Pure.

A plan is made even if it cannot be carried out, so that a person sees what would move and every blocker, not just
the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from hadash.bindings.model import Binding, BindingState
from hadash.bindings.sizing import fits
from hadash.governance.findings import Finding
from hadash.radius.closure import AccessGraph, Closure, Dimension, identities_of
from hadash.radius.fleet import (
    Fleet,
    MirrorOf,
    everything_on,
    governing_node,
    is_on,
    order_of,
    with_asked,
)
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
from hadash.radius.scope import Member, Scope, ScopeKind, member_key
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Stage
from hadash.switching.plan import Plan

#: The most characters in a switch's key; each binding that it writes holds it.
KEY_LENGTH = 20

#: The most sentences of one kind that are listed; of further ones the last says how many there are.
MAX_REASONS = 20


@dataclass(frozen=True, slots=True)
class Touched:
    """What would move. All other users of ``topics`` and ``groups`` belong to the question, and so do the mirrors of
    ``mirrored``.
    """

    topics: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    mirrored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PlanProposal:
    """A plan, and the reasons why it cannot be carried out."""

    plan: Plan
    blockers: tuple[Sentence, ...] = ()
    #: Uses by clients without an InstanceID that would stay behind: a widened plan moves their AppIDs, too.
    uncovered: tuple[AccessEdge, ...] = ()
    #: What the rules say about the clients; findings that stop the switch are among the blockers.
    findings: tuple[Finding, ...] = ()
    #: Whether the plan has everything that would move. If not, it has what is nearest to what was asked for, and
    #: cannot be carried out.
    whole: bool = True


class GrowingRadius:
    """What moves with ``scope`` in a fleet that is read part by part. Each AppID is completely in one part, and each
    rule is about one AppID. So each part has its own graph, built once, and what moves in one part is asked for in
    all others.
    """

    def __init__(self, scope: Scope, source: str, target: str) -> None:
        self._scope, self._source, self._target = scope, source, target
        self._parts: list[tuple[AccessGraph, Fleet]] = []
        self._moving: set[Node] = set()

    def __call__(self, _fleet: Fleet, part: Fleet) -> Touched:
        """Add ``part``, and return what moves in all parts so far."""
        self._parts.append((graph_of(self._scope, part), part))
        before = -1
        while before != len(self._moving):
            before = len(self._moving)
            for graph, own in self._parts:
                closure = _closed(graph, self._scope, self._source, self._target, own, self._moving)
                self._moving.update(closure.nodes(TOPIC, GROUP))
        topics = frozenset(node.names[0] for node in self._moving if node.kind == TOPIC)
        groups = frozenset(node.names[0] for node in self._moving if node.kind == GROUP)
        return Touched(topics, groups, topics)


def build_plan(scope: Scope, source: str, target: str, fleet: Fleet) -> PlanProposal:
    """The plan that moves ``scope`` from ``source`` to ``target``, with its blockers."""
    graph = graph_of(scope, fleet)
    return build_plan_in(graph, scope, source, target, fleet)


def graph_of(scope: Scope, fleet: Fleet) -> AccessGraph:
    """The graph for the closure of ``scope``. All scopes of the same dimension and ``widen`` share one, unless a scope
    asks for an InstanceID that is not registered.
    """
    instances = with_asked(fleet, scope).instances
    return AccessGraph(fleet.uses, fleet.documents, instances, scope.dimension, widen=scope.widen)


def build_plan_in(graph: AccessGraph, scope: Scope, source: str, target: str, fleet: Fleet) -> PlanProposal:
    """Like :func:`build_plan`, in an existing graph."""
    is_there = partial(is_on, fleet, target)
    closure = _closed(graph, scope, source, target, fleet)
    topics, groups = closure.named(TOPIC), closure.named(GROUP)
    carrying, blockers = _mirrors(set(topics), source, fleet.mirrors)
    plan = Plan(
        pair=fleet.pair,
        scope=scope,
        source=source,
        target=target,
        identities=tuple(sorted(set(identities_of(closure, fleet.documents, is_there)), key=order_of)),
        topics=tuple(topics),
        groups=tuple(groups),
        mirrors=tuple(sorted(carrying)),
        members=tuple(members_of(closure, fleet)),
    )
    reasons = [
        *nothing(plan, closure),
        *uncovered_clients(closure.uncovered),
        *_divided(closure, _as_they_move(fleet, scope), source, target),
        *_left_readers(closure, fleet),
        *too_large(plan, fleet),
        *blockers,
    ]
    return PlanProposal(plan, tuple(reasons), closure.uncovered)


def _closed(
    graph: AccessGraph, scope: Scope, source: str, target: str, fleet: Fleet, besides: Iterable[Node] = ()
) -> Closure:
    """The closure of ``scope``. :param besides: other nodes that move as well."""
    is_there = partial(is_on, fleet, target)
    asked = [*_asked(graph, scope, source, fleet), *besides]
    return graph.close(asked, is_there, there_by_default=fleet.default == target)


def _as_they_move(fleet: Fleet, scope: Scope) -> Fleet:
    """``fleet`` without registered InstanceIDs if only whole AppIDs move: the graph does not know them, and their uses
    are those of the AppID.
    """
    return replace(fleet, instances={}) if scope.dimension is Dimension.APPID else fleet


def _asked(graph: AccessGraph, scope: Scope, source: str, fleet: Fleet) -> list[Node]:
    return everything_on(graph, source, fleet) if scope.kind is ScopeKind.PAIR else scope.nodes


def members_of(closure: Closure, fleet: Fleet) -> Iterable[Member]:
    """Each member, with the one that pulled it in."""
    kinds = _kinds_of_use(fleet.uses)
    for node, because in closure.members.items():
        if because is None:
            yield Member(member_key(node), already=node in closure.already)
        else:
            use = kinds(because, node)
            yield Member(member_key(node), member_key(because), use, node in closure.already)


def _kinds_of_use(uses: Iterable[AccessEdge]) -> Callable[[Node, Node], str]:
    """A function for the use that connects two members: the most informative of the uses between them."""
    rank = ("produce", "consume", "group", "declared", "acl")
    found: dict[tuple[str, str | None, str], str] = {}
    for use in uses:
        told = "declared" if use.declared else use.kind
        for client_id in (use.client_id, None):
            key = (use.appid, client_id, ("g:" if use.kind == GROUP else "t:") + use.resource)
            if key not in found or rank.index(told) < rank.index(found[key]):
                found[key] = told

    def between(one: Node, other: Node) -> str:
        identity, resource = (one, other) if one.appid else (other, one)
        if resource.appid:
            return ""
        client_id = identity.names[0] if identity.kind == INSTANCE else None
        prefix = "g:" if resource.kind == GROUP else "t:"
        return found.get((identity.appid, client_id, prefix + resource.names[0]), "")

    return between


# -- blockers ------------------------------------------------------------------------------------------------------


def nothing(plan: Plan, closure: Closure) -> list[Sentence]:
    """The blocker that nothing would move."""
    if plan.topics and plan.identities:
        return []
    if not plan.identities and closure.already:
        return [say("%(who)s is bound to %(cluster)s already.", who=plan.scope, cluster=plan.target)]
    if plan.kind.spec.readers_only:
        return [
            say("Nobody is known to read through a Gateway what was asked for: there are no readers to move.")
        ]
    if plan.scope.kind is not ScopeKind.APPID and plan.scope.kind is not ScopeKind.INSTANCE:
        return [say("Nobody is known to use it through a Gateway: there is nothing to move.")]
    if closure.already:
        return [
            say(
                "All that %(scope)s has used through a Gateway is bound to %(cluster)s already: there is "
                "nothing to move.",
                scope=plan.scope,
                cluster=plan.target,
            )
        ]
    return [
        say(
            "%(scope)s has not used any Topic through a Gateway: there is nothing to move. "
            "Start its clients at the Gateway first.",
            scope=plan.scope,
        )
    ]


def uncovered_clients(uses: tuple[AccessEdge, ...]) -> list[Sentence]:
    """Blockers: clients that would stay because they have no InstanceID."""
    sentences = {
        "produce": "%(who)s writes to Topic %(what)s, has no InstanceID, and would stay.",
        "group": "%(who)s is a member of group %(what)s, has no InstanceID, and would stay.",
    }
    otherwise = "%(who)s reads Topic %(what)s, has no InstanceID, and would stay."
    declared = (
        "%(who)s is declared to use %(what)s without an InstanceID, and would stay. "
        "Declare for which InstanceID."
    )
    return listed(
        [
            say(declared if u.declared else sentences.get(u.kind, otherwise), who=u.who, what=u.resource)
            for u in uses
        ]
    )


def _divided(closure: Closure, fleet: Fleet, source: str, target: str) -> list[Sentence]:
    """Blockers: writers that are already on the target while their Topic moves only now; and identities on neither
    side.

    A writer that was only declared has written nothing there, and will be where its Topic is.
    """
    moving = set(closure.named(TOPIC))
    writers = [
        use
        for use in fleet.uses
        if use.kind == "produce" and not use.declared and use.resource in moving
        if governing_node(use, fleet) in closure.already
    ]
    reasons = [
        say(
            "%(who)s is on %(cluster)s already and writes to Topic %(topic)s, which moves only now. Switch it "
            "back first.",
            who=use.who,
            cluster=target,
            topic=use.resource,
        )
        for use in sorted(set(writers))
    ]
    return listed([*reasons, *of_no_side(closure, fleet, source, target)])


def of_no_side(closure: Closure, fleet: Fleet, source: str, target: str) -> list[Sentence]:
    """Blockers: moving identities that are bound to neither side."""
    reasons = []
    for node in closure.nodes(APPID, INSTANCE, BOUND_TOPICS, BOUND_GROUP):
        cluster = fleet.cluster_of(node)
        if cluster not in (source, target):
            reasons.append(
                say(
                    "%(who)s is bound to %(cluster)s, which is no cluster of this pair. Repair its binding first.",
                    who=str(node),
                    cluster=cluster,
                )
            )
    return reasons


def _left_readers(closure: Closure, fleet: Fleet) -> list[Sentence]:
    """Blockers: groups that stay while a Topic that they read moves by itself, without translated offsets."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for use in fleet.uses:
        if use.kind == GROUP:
            groups[use.appid, use.client_id].add(use.resource)
    left = {
        (name, use.resource)
        for use in fleet.uses
        if use.kind == "consume" and topic(use.resource) in closure
        if governing_node(use, fleet).kind == BOUND_TOPICS
        for name in groups[use.appid, use.client_id]
        if group(name) not in closure
    }
    return listed(
        [
            say(
                "Group %(group)s reads Topic %(topic)s, which would move without it: its offsets would not fit. "
                "Move its AppID, or remove the Topic's own binding first.",
                group=name,
                topic=read,
            )
            for name, read in sorted(left)
        ]
    )


def too_large(plan: Plan, fleet: Fleet) -> list[Sentence]:
    """The blocker that the bindings are too large: all change in one transaction, and ZooKeeper takes one megabyte."""
    cluster = max(plan.source, plan.target, key=len)
    longest = Binding(cluster, BindingState.FORWARD, switch="0" * KEY_LENGTH, stage=Stage.FORWARD.value)
    if fits(plan.identities, fleet.documents, longest):
        return []
    return [
        say(
            "This changes %(count)s bindings at once, more than ZooKeeper takes in one transaction. Move it in parts.",
            count=len(plan.identities),
        )
    ]


def listed(reasons: list[Sentence]) -> list[Sentence]:
    """Shorten a list of reasons of one kind to what people read."""
    if len(reasons) <= MAX_REASONS:
        return reasons
    return [
        *reasons[:MAX_REASONS],
        say("… and %(count)s more of this kind.", count=len(reasons) - MAX_REASONS),
    ]


def _mirrors(topics: set[str], source: str, mirrors: Iterable[MirrorOf]) -> tuple[set[str], list[Sentence]]:
    """(names of the mirrors that carry the Topics, blockers)."""
    carrying: set[str] = set()
    carried: set[str] = set()
    reasons: list[Sentence] = []
    for mirror in mirrors:
        shared = mirror.topics & topics
        if not shared:
            continue
        carrying.add(mirror.name)
        carried |= shared
        if mirror.source != source:
            reasons.append(
                say(
                    "Mirror %(mirror)s copies from %(actual)s, but the switch would start on %(source)s.",
                    mirror=mirror.name,
                    actual=mirror.source,
                    source=source,
                )
            )
        left_behind = mirror.topics - topics
        if left_behind:
            reasons.append(
                say(
                    "Mirror %(mirror)s also carries %(topics)s, which would not move. Mirror them separately.",
                    mirror=mirror.name,
                    topics=sorted(left_behind),
                )
            )
    if topics - carried:
        reasons.append(
            say("No mirror carries %(topics)s. Create one first.", topics=sorted(topics - carried))
        )
    return carrying, listed(reasons)
