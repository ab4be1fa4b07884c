"""What moves in a read split, and what blocks it. Pure; the counterpart of ``radius.py``.

Only consumers move, so a Topic pulls in nobody: its other users stay where they are. The members of a group have to
move together, because a group cannot live in two clusters. So the radius is the closure over groups alone: complete,
smallest and explained, for the same reasons as that of any other switch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from hadash.radius.closure import AccessGraph, Closure, Dimension, governing_of, identities_of
from hadash.radius.fleet import Fleet, is_on, order_of, with_asked
from hadash.radius.nodes import APPID, BOUND_TOPICS, GROUP, INSTANCE, AccessEdge, Node, topic
from hadash.radius.scope import Member, Scope, ScopeKind, member_key
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import (
    PlanProposal,
    Touched,
    listed,
    members_of,
    nothing,
    of_no_side,
    too_large,
    uncovered_clients,
)


def build_readers_plan(scope: Scope, source: str, target: str, fleet: Fleet) -> PlanProposal:
    """The plan that moves the readers in ``scope`` from ``source`` to ``target``, with its blockers."""
    if scope.kind is ScopeKind.PAIR:
        plan = Plan(fleet.pair, scope, source, target, (), (), (), (), kind=Kind.READ_SPLIT)
        return PlanProposal(
            plan,
            (
                say(
                    "A read split moves an AppID, an InstanceID, or the readers of Topics. Ask for one of these."
                ),
            ),
        )
    fleet = with_asked(fleet, scope)
    # Bindings of whole Topics would pull in the writers. Readers by such a binding are blockers, see below.
    bare = _without_topics(fleet, scope)
    there = partial(is_on, fleet, target)
    closure = _closed(scope, target, fleet, bare)
    moving = _uses_of(closure, bare)
    read = sorted({u.resource for u in moving if u.kind == "consume"})
    carrying = sorted(m.name for m in fleet.mirrors if m.topics & set(read))
    plan = Plan(
        pair=fleet.pair,
        scope=scope,
        source=source,
        target=target,
        identities=tuple(sorted(set(identities_of(closure, bare.documents, there)), key=order_of)),
        topics=tuple(read),
        groups=tuple(closure.named(GROUP)),
        mirrors=tuple(carrying),
        members=(*members_of(closure, fleet), *_read(closure, bare, moving)),
        kind=Kind.READ_SPLIT,
    )
    reasons = [
        *nothing(plan, closure),
        *uncovered_clients(closure.uncovered),
        *_writers(moving),
        *_unknown(scope, fleet, moving),
        *_bound_by_topic(moving, fleet),
        *of_no_side(closure, fleet, source, target),
        *too_large(plan, fleet),
        *_unmirrored(read, fleet),
    ]
    return PlanProposal(plan, tuple(reasons), closure.uncovered)


@dataclass(frozen=True)
class GrowingReaders:
    """What moves with a read split of ``scope`` in the fleet read so far: the members of the same groups."""

    scope: Scope
    source: str
    target: str

    def __call__(self, fleet: Fleet, _part: Fleet) -> Touched:
        scope, fleet = self.scope, with_asked(fleet, self.scope)
        closure = _closed(scope, self.target, fleet, _without_topics(fleet, scope))
        read = frozenset(use.resource for use in fleet.uses if use.kind == "consume")
        return Touched(frozenset(scope.topics), frozenset(closure.named(GROUP)), read)


def _closed(scope: Scope, target: str, fleet: Fleet, bare: Fleet) -> Closure:
    """The closure of ``scope``. :param bare: the same fleet without bindings of Topics."""
    asked = set(scope.topics)
    uses = [u for u in fleet.uses if u.kind == GROUP or (u.kind == "consume" and u.resource in asked)]
    graph = AccessGraph(uses, bare.documents, bare.instances, scope.dimension, widen=scope.widen)
    there = partial(is_on, fleet, target)
    return graph.close(scope.nodes, there, there_by_default=fleet.default == target)


def _without_topics(fleet: Fleet, scope: Scope) -> Fleet:
    """``fleet`` without bindings of Topics and, if only whole AppIDs move, without registered InstanceIDs."""
    documents = {
        appid: replace(document, topics={}, topic_lists={}) for appid, document in fleet.documents.items()
    }
    by_instance = scope.dimension is Dimension.INSTANCE
    return replace(fleet, documents=documents, instances=fleet.instances if by_instance else {})


def _uses_of(closure: Closure, fleet: Fleet) -> list[AccessEdge]:
    """All uses of the clients that move, of any Topic, sorted."""
    appids = {node.appid for node in closure.nodes(APPID, INSTANCE)}
    return sorted(
        use
        for use in {use for use in fleet.uses if use.appid in appids}
        if (who := _who(use, fleet)) in closure and who not in closure.already
    )


def _read(closure: Closure, fleet: Fleet, moving: Iterable[AccessEdge]) -> list[Member]:
    """The Topics that are in the plan because a client that moves reads them."""
    found: dict[str, Member] = {}
    for use in moving:
        if use.kind == "consume" and topic(use.resource) not in closure:
            because = member_key(_who(use, fleet))
            told = "declared" if use.declared else use.kind
            found.setdefault(use.resource, Member(member_key(topic(use.resource)), because, told))
    return list(found.values())


def _who(use: AccessEdge, fleet: Fleet) -> Node:
    """The identity that governs a use."""
    registered = use.client_id in fleet.instances.get(use.appid, ())
    return governing_of(use, fleet.documents.get(use.appid), registered)


# -- blockers ------------------------------------------------------------------------------------------------------


def _writers(moving: Iterable[AccessEdge]) -> list[Sentence]:
    return listed(
        [
            say(
                "%(who)s also writes (to Topic %(topic)s), and a read split moves only who reads. Ask for the reading "
                "InstanceIDs by themselves, or for a planned switch.",
                who=use.who,
                topic=use.resource,
            )
            for use in moving
            if use.kind == "produce"
        ]
    )


def _unknown(scope: Scope, fleet: Fleet, moving: list[AccessEdge]) -> list[Sentence]:
    """Blockers: AppIDs that may read what is asked for and were never seen or declared. They may write as well."""
    asked = {use for use in fleet.uses if use.kind == "acl" and use.resource in scope.topics}
    return listed(
        [
            say(
                "%(who)s may use Topic %(topic)s and was never seen, so nobody knows whether it reads or writes. "
                "Declare what it does.",
                who=use.who,
                topic=use.resource,
            )
            for use in sorted(asked | {use for use in moving if use.kind == "acl"})
        ]
    )


def _bound_by_topic(moving: Iterable[AccessEdge], fleet: Fleet) -> list[Sentence]:
    """Blockers: readers by a binding of the Topic. The binding that a read split writes would not move them."""
    found = {
        (str(_who(use, fleet)), use)
        for use in moving
        if use.kind == "consume" and _who(use, fleet).kind == BOUND_TOPICS
    }
    return listed(
        [
            say(
                "%(who)s reads Topic %(topic)s by a binding of its own (%(binding)s), which a read split "
                "does not move. "
                "Remove that binding first.",
                who=use.who,
                topic=use.resource,
                binding=binding,
            )
            for binding, use in sorted(found)
        ]
    )


def _unmirrored(read: Iterable[str], fleet: Fleet) -> list[Sentence]:
    """The blocker that no mirror carries a Topic. Either direction will do: one side is written, the other read."""
    lacking = sorted(set(read) - {name for mirror in fleet.mirrors for name in mirror.topics})
    return [say("No mirror carries %(topics)s. Create one first.", topics=lacking)] if lacking else []
