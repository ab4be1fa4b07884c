"""What the rules of governance say about the clients that a plan moves, and which of it stops the switch."""

from __future__ import annotations

from hadash.governance.findings import Circumstances, Finding, Seen, findings
from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import client_for
from hadash.mirroring.models import Anchor
from hadash.switching.machine import Kind
from hadash.switching.plan import Plan
from hadash.switching.policy import limits_of, stopping

#: Kinds that are told of findings and not stopped by them: they change nothing, or cannot wait.
TOLD_ONLY = frozenset({Kind.REHEARSAL, Kind.EMERGENCY, Kind.FORCED})


def findings_of(plan: Plan, pair: Pair, asked: Cluster) -> list[Finding]:
    """What is found about the clients that move, the gravest first.

    :param asked: the cluster that is asked how many replicas Topics have. :raises KafkaError: it does not answer.
    """
    rows = Access.objects.filter(pair=pair, appid__in=plan.appids, last_seen__gte=access_since())
    topics, groups = set(plan.topics), set(plan.groups)
    seen = [
        Seen(row.appid, row.client_id, row.kind, row.resource, row.library, row.version, row.details)
        for row in rows
        if plan.covers(row.appid, row.client_id)
        and row.resource in (groups if row.kind == Access.Kind.GROUP else topics)
    ]
    if not seen:
        return []
    replicas = client_for(asked.access).topics(plan.topics)
    circumstances = Circumstances(
        replicated=frozenset(name for name, info in replicas.items() if info.replication_factor > 1),
        same_offsets=_same_offsets(pair, plan),
        settle_seconds=limits_of(pair).settle,
    )
    return findings(seen, circumstances)


def _same_offsets(pair: Pair, plan: Plan) -> frozenset[str]:
    """Topics of which every partition has the same offsets on both sides."""
    anchors = Anchor.objects.filter(mirror__pair=pair, mirror__name__in=plan.mirrors)
    same: dict[str, bool] = {}
    for topic, source, target in anchors.values_list("topic", "source_offset", "target_offset"):
        same[topic] = same.get(topic, True) and source == target
    return frozenset(topic for topic, equal in same.items() if equal)


def stops(finding: Finding, pair: Pair, kind: Kind) -> bool:
    """Whether a switch of this kind is refused because of it."""
    return kind not in TOLD_ONLY and finding.code.value in stopping(pair)
