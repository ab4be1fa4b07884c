"""The quotas of moving clients: read from both clusters, compared and copied. :mod:`hadash.mirroring.quotas` has the
rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hadash.bindings.model import BindingDocument
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Access, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.values import DEFAULT, Quotas
from hadash.mirroring import quotas as rules
from hadash.mirroring.quotas import Mover
from hadash.switching.plan import Plan
from hadash.switching.stages.answers import QuotaCheck, QuotasFound


def check(pair: Pair, plan: Plan, source: ClusterClient, target: ClusterClient) -> QuotaCheck:
    """Compare the clusters' quotas; reads only.

    :raises ClusterUnavailable: a cluster does not answer. :raises BindingError: ZooKeeper does not.
    """
    try:
        here, there = source.quotas(), target.quotas()
    except ClusterUnavailable:
        raise
    except KafkaError as error:
        return QuotaCheck(unknown=error.sentence)
    if not (here or there):
        return QuotaCheck()
    movers, without = movers_of(pair, plan, here, there), not_met_by(plan)
    lacking = rules.missing(here, there, movers)
    then = rules.with_quotas(there, lacking)
    differences = rules.compared(here, then, movers, without)
    staying = _there_already(pair, plan)
    slower = rules.narrower_addresses(here, there)
    counts = len(source.brokers()), len(target.brokers())
    return QuotaCheck(
        missing=tuple(rules.as_texts(lacking)),
        less=tuple(str(d) for d in differences if d.is_less),
        more=tuple(str(d) for d in differences if not d.is_less),
        narrowed=tuple(str(d) for d in rules.compared(there, then, staying) if d.is_less),
        everywhere="".join(_rates({DEFAULT: slower.pop(DEFAULT)} if DEFAULT in slower else {})),
        addresses=tuple(_rates(slower)),
        brokers=counts if counts[1] < counts[0] and rules.of_movers(then, movers, without) else None,
    )


def copy(pair: Pair, plan: Plan, source: ClusterClient, target: ClusterClient) -> list[str]:
    """Copy to the target the moving clients' quotas for which it has none in their place. Return them as texts.

    :raises KafkaError: a cluster does not answer, or hadash's account may not (ALTER_CONFIGS on the cluster).
    """
    here, there = source.quotas(), target.quotas()
    lacking = rules.missing(here, there, movers_of(pair, plan, here, there))
    target.set_quotas(lacking)
    return rules.as_texts(lacking)


def read(pair: Pair, plan: Plan, cluster: ClusterClient) -> QuotasFound:
    """The quotas in effect on a cluster that cannot be compared with another."""
    try:
        found = cluster.quotas()
    except KafkaError as error:
        return QuotasFound(unknown=error.sentence)
    return QuotasFound(found=tuple(rules.of_movers(found, movers_of(pair, plan, found), not_met_by(plan))))


def not_met_by(plan: Plan) -> frozenset[str]:
    """Keys of quotas that do not concern the moving clients."""
    return rules.WRITERS_ONLY if plan.kind.spec.readers_only else frozenset()


def movers_of(pair: Pair, plan: Plan, *quotas: Quotas) -> list[Mover]:
    """The moving clients. A binding of an AppID, of its Topics or of a group applies to clients of any name."""
    alone: dict[str, set[str]] = {}
    whole = {identity.appid for identity in plan.identities if identity.instance_id is None}
    for identity in plan.instances:
        assert identity.instance_id is not None
        alone.setdefault(identity.appid, set()).add(identity.instance_id)
    seen = _seen_clients(pair, whole)
    movers = []
    for appid in plan.appids:
        names = alone.get(appid, set())
        if appid in whole:
            names = (
                names | seen.get(appid, set()) | {n for q in quotas for n in rules.named_clients(q, appid)}
            )
        movers.append(Mover(appid, frozenset(names), appid in whole))
    return movers


def _seen_clients(pair: Pair, appids: Iterable[str]) -> Mapping[str, set[str]]:
    """The client.ids of AppIDs that were seen lately."""
    rows = Access.objects.filter(pair=pair, appid__in=list(appids), last_seen__gte=access_since())
    found: dict[str, set[str]] = {}
    for appid, client_id in rows.order_by().values_list("appid", "client_id").distinct():
        if client_id:
            found.setdefault(appid, set()).add(client_id)
    return found


def _there_already(pair: Pair, plan: Plan) -> list[Mover]:
    """Clients of the plan's AppIDs that are bound to the target already: copied quotas apply to them, too."""
    documents: Mapping[str, BindingDocument] = dialect_of(pair).documents_now(plan.appids)
    moves, found = set(plan.identities), list[Mover]()
    for appid, document in documents.items():
        default = document.default.cluster if document.default is not None else pair.default.name
        bound = {name for name, binding in document.instances.items() if binding.cluster == plan.target}
        names = bound - {i.instance_id for i in moves if i.appid == appid and i.instance_id is not None}
        parts = [*document.topics.values(), *document.topic_lists.values(), *document.groups.values()]
        others = default == plan.target or any(binding.cluster == plan.target for binding in parts)
        if names or others:
            found.append(Mover(appid, frozenset(names), others))
    return found


def _rates(slower: Mapping[str, tuple[float, float]]) -> list[str]:
    return [
        f"{ip or '*'}: {rules.CONNECTION_RATE} {'∞' if before == math.inf else f'{before:.15g}'} → {after:.15g}"
        for ip, (before, after) in slower.items()
    ]
