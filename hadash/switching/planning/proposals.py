"""Compute a plan from current bindings, observed and declared uses, and ACLs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from hadash.bindings.errors import BindingError
from hadash.inventory import selectors
from hadash.inventory.access_edges import allowed_uses, declared_uses, topics_of
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Access, AppID, Cluster, InstanceID, Pair
from hadash.kafka.errors import KafkaError
from hadash.mirroring import standby
from hadash.mirroring.models import Mirror
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope, ScopeKind
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.planning import neighbourhood
from hadash.switching.planning.neighbourhood import TooMany, make_fleet
from hadash.switching.planning.pools import pools_of, with_pools
from hadash.switching.planning.radius import GrowingRadius, PlanProposal, build_plan
from hadash.switching.planning.readers import GrowingReaders, build_readers_plan
from hadash.switching.planning.risks import findings_of, stops
from hadash.switching.refusals import EnginesAway


def proposal_for(pair: Pair, scope: Scope, target: Cluster, kind: Kind = Kind.PLANNED) -> PlanProposal:
    """The plan that would move ``scope`` to ``target``, with its blockers.

    :raises EnginesAway: ZooKeeper or a cluster does not answer. :raises Refused: the target is not in the pair.
    """
    if target not in pair.clusters:
        raise Refused(say("Cluster %(cluster)s is not in pair %(pair)s.", cluster=target, pair=pair))
    source = pair.other(target)
    # A lost source cannot be asked for its ACLs; what the target does not allow could not be used there anyway.
    asked = target if kind.spec.source_lost else source
    draw = build_readers_plan if kind.spec.readers_only else build_plan
    try:
        fleet = fleet_for(pair, scope, source, target, asked, kind)
    except TooMany as many:
        proposal = draw(scope, source.name, target.name, many.fleet)
        return PlanProposal(replace(proposal.plan, kind=kind), (_too_many(many),), whole=False)
    proposal = draw(scope, source.name, target.name, fleet)
    proposal = replace(proposal, plan=replace(proposal.plan, kind=kind))
    (found,) = with_blockers(pair, [proposal], asked)
    return found


def _too_many(many: TooMany) -> Sentence:
    return say(
        "At least %(count)s AppIDs would move together, more than ZooKeeper takes in one transaction. Register "
        "InstanceIDs where the work list says so, or move it in parts.",
        count=many.count,
    )


def fleet_for(
    pair: Pair, scope: Scope, source: Cluster, target: Cluster, asked: Cluster, kind: Kind
) -> Fleet:
    """The part of the pair that a plan for ``scope`` depends on.

    :param asked: the cluster whose ACLs are read. :raises TooMany: more AppIDs than one plan can move.
    :raises EnginesAway: ZooKeeper or the cluster does not answer. :raises Refused: a binding document cannot be read.
    """
    try:
        if scope.kind is ScopeKind.PAIR:
            neighbourhood.whole_pair(pair, source)
            return fleet_of(pair, asked)
        first = {node.appid for node in scope.nodes if node.appid}
        growing = GrowingReaders if kind.spec.readers_only else GrowingRadius
        close = growing(scope, source.name, target.name)
        return neighbourhood.around(pair, asked, target, first, close)
    except neighbourhood.Unreadable as unreadable:
        raise _unreadable(unreadable.appids) from None
    except (BindingError, KafkaError) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


def with_blockers(pair: Pair, proposals: Iterable[PlanProposal], asked: Cluster) -> list[PlanProposal]:
    """``proposals`` with the consumer pools that move with them, and with the further blockers of these, of the pair's
    binding dialect and of the rules about clients.

    :param asked: the cluster that is asked about Topics. :raises EnginesAway: ZooKeeper or the cluster does not
        answer.
    """
    dialect, given = dialect_of(pair), list(proposals)
    if pair.generated:
        there_is_nothing = say(
            "Pair %(pair)s is generated: there are no clients and no servers behind it that could move.",
            pair=pair,
        )
        return [replace(d, blockers=(*d.blockers, there_is_nothing)) for d in given]
    try:
        pools = pools_of(pair)
        given = [with_pools(proposal, pools) for proposal in given]
        of_dialect = [dialect.blockers(d.plan.identities, d.plan.source) for d in given]
        found = findings_of([d.plan for d in given], pair, asked)
    except (BindingError, KafkaError) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    stopping = [
        [f.sentence for f in here if stops(f, pair, d.plan.kind)]
        for d, here in zip(given, found, strict=True)
    ]
    return [
        replace(d, blockers=(*d.blockers, *said, *stopped), findings=tuple(here))
        for d, said, stopped, here in zip(given, of_dialect, stopping, found, strict=True)
    ]


def plan_for(pair: Pair, scope: Scope, target: Cluster, kind: Kind = Kind.PLANNED) -> Plan:
    """The plan that moves ``scope`` to ``target``, if nothing blocks it.

    :raises Refused: with all blockers, not just the first. :raises EnginesAway: as :func:`proposal_for`.
    """
    proposal = proposal_for(pair, scope, target, kind)
    if proposal.blockers:
        raise Refused(*proposal.blockers)
    return proposal.plan


def fleet_of(pair: Pair, asked: Cluster) -> Fleet:
    """Everything that is known of a pair now. An AppID without observed or declared uses is taken to use what the
    ACLs of ``asked`` allow.

    :param asked: the cluster whose ACLs are read.
    :raises EnginesAway: ZooKeeper or the cluster does not answer. :raises Refused: a binding document cannot be read.
    """
    try:
        found = dialect_of(pair).all_documents()
        mirrors = tuple(
            MirrorOf(m.name, m.source.name, frozenset(m.topics))
            for m in Mirror.objects.filter(pair=pair).select_related("source")
        )
        uses = _observed(pair)
        uses += declared_uses(selectors.declared(pair), uses)
        topics = topics_of(uses, (topic for mirror in mirrors for topic in mirror.topics))
        if not pair.generated:  # (there every use was seen)
            uses += allowed_uses(standby.allowed_to_use(pair, asked, sorted(topics)), uses)
    except (BindingError, KafkaError) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    # (AppIDs of other pairs have documents in the same place.)
    own = {use.appid for use in uses} | set(AppID.objects.filter(pair=pair).values_list("name", flat=True))
    unreadable = sorted(appid for appid, document in found.items() if document is None and appid in own)
    if unreadable:
        raise _unreadable(unreadable)
    documents = {a: document for a, document in found.items() if document is not None and a in own}
    registered: dict[str, set[str]] = defaultdict(set)
    names = InstanceID.objects.filter(appid__pair=pair).values_list("appid__name", "name")
    for appid, name in names:
        registered[appid].add(name)
    return make_fleet(pair, uses, documents, registered, mirrors)


def _unreadable(appids: list[str]) -> Refused:
    return Refused(
        say(
            "The binding document of %(appids)s in ZooKeeper cannot be read. Repair or delete it first.",
            appids=appids,
        )
    )


def _observed(pair: Pair) -> list[AccessEdge]:
    found = Access.objects.filter(pair=pair, last_seen__gte=selectors.access_since())
    rows = found.order_by().values_list("appid", "client_id", "kind", "resource").distinct()
    return [AccessEdge(*row) for row in rows]
