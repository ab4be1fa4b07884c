"""Consumer pools that read Topics on one cluster of a pair: their members move with the Topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from kazoo.client import KazooClient

from hadash.auditors.pool import BEGIN as OF_AUDITORS
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.pool_view import pools
from hadash.coordinator.store import PoolStore
from hadash.inventory.by_address import cluster_of
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import Pair
from hadash.sentences import Explained, Sentence, say
from hadash.switching.plan import Plan, PoolTopic
from hadash.switching.planning.radius import PlanProposal, listed


@dataclass(frozen=True, slots=True)
class PoolsFound:
    """What pools read.

    :param by_cluster: cluster → Topic → what reads it there. :param unreadable: pools of which nobody knows what they
        read, with the reason.
    """

    by_cluster: Mapping[str, Mapping[str, tuple[PoolTopic, ...]]]
    unreadable: Mapping[str, Sentence]


#: Pool → what was read of it: what has not changed is not read again.
_stores: dict[tuple[KazooClient, str], PoolStore] = {}


def pools_of(pair: Pair) -> PoolsFound:
    """What consumer pools read on the clusters of a pair. (Auditors follow the mirrors by themselves.)

    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    client = zookeeper()
    found: dict[str, dict[str, list[PoolTopic]]] = {cluster.name: {} for cluster in pair.clusters}
    unreadable: dict[str, Sentence] = {}
    # (A pool may read thousands of Topics, mostly with the same servers.)
    cluster_at = cache(lambda servers: cluster_of(servers, pair.clusters))
    names = [name for name in pools(client) if not name.startswith(OF_AUDITORS)]
    for gone in [key for key in list(_stores) if key[1] not in names]:
        _stores.pop(gone, None)
    for name in names:
        store = _stores.setdefault((client, name), PoolStore(client, name))
        try:
            view = store.read()
        except StoreUnavailable:
            raise
        except Explained as error:
            unreadable[name] = error.sentence
            continue
        unreadable |= {f"{name} › {topic}": error.sentence for topic, error in view.unreadable.items()}
        for topic, assigned in view.topics.items():
            consumer = assigned.document.consumer
            cluster = cluster_at(str(consumer["bootstrap.servers"]))
            if cluster is not None:
                each = PoolTopic(name, topic, str(consumer["group.id"]))
                found[cluster.name].setdefault(topic, []).append(each)
    by_cluster = {
        cluster: {topic: tuple(sorted(each)) for topic, each in of_topics.items()}
        for cluster, of_topics in found.items()
    }
    return PoolsFound(by_cluster, unreadable)


def with_pools(proposal: PlanProposal, found: PoolsFound) -> PlanProposal:
    """A proposal with the pools that read what it moves, and the reasons against it that come from them. Pure.

    Readers of a split stay where they are, pools among them. So do pools when the source is lost: their members cannot
    commit there any more.
    """
    plan = proposal.plan
    if plan.kind.spec.readers_only or not plan.topics:
        return proposal
    on_source = found.by_cluster.get(plan.source, {})
    moving = tuple(sorted(each for topic in plan.topics for each in on_source.get(topic, ())))
    against = [*_unreadable(found), *(_lost(plan, moving) if plan.kind.spec.source_lost else ())]
    if plan.kind.spec.source_lost or not moving:
        return replace(proposal, blockers=(*proposal.blockers, *listed(against)))
    groups = tuple(sorted({*plan.groups, *(each.group for each in moving)}))
    return replace(
        proposal,
        plan=replace(plan, pools=moving, groups=groups),
        blockers=(*proposal.blockers, *listed(against)),
    )


def _unreadable(found: PoolsFound) -> Iterator[Sentence]:
    for name, why in sorted(found.unreadable.items()):
        yield say("It is not known what the pool %(pool)s reads: %(why)s", pool=name, why=why)


def _lost(plan: Plan, moving: Iterable[PoolTopic]) -> Iterator[Sentence]:
    for each in moving:
        yield say(
            "The pool %(pool)s reads Topic %(topic)s on %(cluster)s, and cannot commit there any more. Let it read the "
            "Topic no longer; add it again on %(target)s after the switch.",
            pool=each.pool,
            topic=each.topic,
            cluster=plan.source,
            target=plan.target,
        )
