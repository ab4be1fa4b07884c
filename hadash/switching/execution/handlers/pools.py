"""Commands to consumer pools, which the coordinator carries out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.election import leader
from hadash.coordinator.pool_view import Assigned, PoolError, PoolView
from hadash.coordinator.states import State
from hadash.coordinator.store import PoolStore
from hadash.inventory.by_address import cluster_of
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import Cluster
from hadash.sentences import NOTHING, Explained, Sentence, say
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.plan import PoolTopic
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import PoolFound


@handles(do.ReadPools)
def read_pools(hand: HandlerContext, command: do.ReadPools) -> list[PoolFound]:
    client = zookeeper()
    nobody_decides = leader(client) is None
    switch = hand.journal.switch if hand.journal is not None else ""
    views: dict[str, PoolView | Sentence] = {}
    for name in {each.pool for each in hand.plan.pools}:
        try:
            views[name] = PoolStore(client, name).read()
        except StoreUnavailable:
            raise
        except Explained as error:
            views[name] = error.sentence
    return [
        _found(hand, each, views[each.pool], switch, nobody_decides=nobody_decides)
        for each in hand.plan.pools
    ]


def _found(
    hand: HandlerContext, asked: PoolTopic, view: PoolView | Sentence, switch: str, *, nobody_decides: bool
) -> PoolFound:
    if isinstance(view, Sentence):
        return PoolFound(asked.pool, asked.topic, None, False, False, view)
    assigned = view.topics.get(asked.topic)
    if assigned is None:
        gone = say("The pool %(pool)s does not read Topic %(topic)s.", pool=asked.pool, topic=asked.topic)
        return PoolFound(asked.pool, asked.topic, None, False, False, gone)
    hold = view.holds.get(asked.topic)
    has_members = any(assigned.document.members.values())
    is_closed = (
        hold is not None
        and hold[0].switch == switch
        and assigned.standing.state is State.CLOSING
        and not assigned.standing.to_close
        and not has_members
    )
    cluster = cluster_of(str(assigned.document.consumer["bootstrap.servers"]), hand.pair.clusters)
    return PoolFound(
        asked.pool,
        asked.topic,
        cluster.name if cluster is not None else None,
        assigned.standing.state is State.STABLE and has_members and hold is None,
        is_closed,
        _fault(view, assigned, asked, switch, nobody_decides=nobody_decides),
    )


def _fault(
    view: PoolView, assigned: Assigned, asked: PoolTopic, switch: str, *, nobody_decides: bool
) -> Sentence:
    """Why a pool cannot be moved now; NOTHING when it can."""
    hold = view.holds.get(asked.topic)
    if nobody_decides:
        return say("No coordinator decides for the pool %(pool)s: start one.", pool=asked.pool)
    if view.settings.is_stopped:
        return say(
            "All members of pool %(pool)s are stopped. Let them read again, or let it read Topic %(topic)s no longer.",
            pool=asked.pool,
            topic=asked.topic,
        )
    if hold is not None and hold[0].switch != switch:
        return hold[0].by_its_switch(asked.pool, asked.topic)
    if assigned.standing.state is State.STABLE and not any(assigned.document.members.values()):
        return say(
            "No member of pool %(pool)s reads Topic %(topic)s. Start one, or let the pool read it no longer.",
            pool=asked.pool,
            topic=asked.topic,
        )
    return NOTHING


@handles(do.ClosePools)
def close_pools(hand: HandlerContext, command: do.ClosePools) -> Sentence | None:
    assert hand.journal is not None
    client = zookeeper()
    for each in hand.plan.pools:
        try:
            PoolStore(client, each.pool).hold(each.topic, hand.journal.switch)
        except PoolError as error:
            return error.sentence
    return None


@handles(do.OpenPools)
def open_pools(hand: HandlerContext, command: do.OpenPools) -> None:
    assert hand.journal is not None
    client, cluster = zookeeper(), hand.clusters[command.cluster]
    (other,) = (each for each in hand.pair.clusters if each != cluster)
    for each in hand.plan.pools:
        store = PoolStore(client, each.pool)
        try:
            assigned = store.read().topics.get(each.topic)
        except PoolError:
            continue  # somebody has deleted the pool
        if assigned is not None:  # (otherwise somebody has let the pool read it no longer)
            store.open(
                each.topic, hand.journal.switch, connection(cluster, other, assigned.document.consumer)
            )


def connection(cluster: Cluster, other: Cluster, consumer: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a pool's consumers that make them read ``cluster``: the servers, and of the sign-in what their
    document has already, or what both clusters have differently.
    """
    of_cluster = {
        "security.protocol": cluster.security_protocol,
        "sasl.mechanism": cluster.sasl_mechanism if cluster.security_protocol.startswith("SASL") else "",
    }
    of_other = {
        "security.protocol": other.security_protocol,
        "sasl.mechanism": other.sasl_mechanism if other.security_protocol.startswith("SASL") else "",
    }
    named = {
        name: value
        for name, value in of_cluster.items()
        if value and (name in consumer or value != of_other[name])
    }
    return {"bootstrap.servers": cluster.bootstrap_servers, **named}
