"""What the rules of governance find about the clients that a plan moves, and which findings stop the switch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hadash.governance.client_risks import Seen
from hadash.governance.findings import Circumstances, Finding, findings
from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import client_for
from hadash.mirroring.models import MirrorOffsetSync
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.planning.appids_in_other_pairs import used_elsewhere
from hadash.switching.policy import limits_of, stopping


def findings_of(plans: Sequence[Plan], pair: Pair, asked: Cluster) -> list[list[Finding]]:
    """The findings about the clients that move, for each plan, the most severe first.

    :param asked: the cluster that is asked how many replicas Topics have. :raises KafkaError: it does not answer.
    """
    seen = _seen({appid for plan in plans for appid in plan.appids}, pair)
    used = [_moving([row for appid in plan.appids for row in seen.get(appid, ())], plan) for plan in plans]
    elsewhere = used_elsewhere(pair, {appid for plan in plans for appid in plan.appids})
    if not any(used) and not elsewhere:
        return [[] for _ in plans]
    circumstances = Circumstances(
        replicated(asked, *plans), _same_offsets(pair, plans), limits_of(pair).quiesce
    )
    return [
        findings(rows, replace(circumstances, elsewhere=_only(elsewhere, plan)))
        for rows, plan in zip(used, plans, strict=True)
    ]


def uses_of(plan: Plan, pair: Pair) -> list[Seen]:
    """The observed uses of what moves, by the clients that move."""
    return _moving([row for rows in _seen(plan.appids, pair).values() for row in rows], plan)


def replicated(asked: Cluster, *plans: Plan) -> frozenset[str]:
    """The plans' Topics that have more than one replica on ``asked``. :raises KafkaError: it does not answer."""
    found = client_for(asked.access).topics({topic for plan in plans for topic in plan.topics})
    return frozenset(name for name, info in found.items() if info.replication_factor > 1)


def _only(elsewhere: Mapping[str, tuple[str, ...]], plan: Plan) -> dict[str, tuple[str, ...]]:
    """``elsewhere`` for the AppIDs whose bindings ``plan`` writes."""
    written = {identity.appid for identity in plan.identities}
    return {appid: pairs for appid, pairs in elsewhere.items() if appid in written}


def _seen(appids: Collection[str], pair: Pair) -> dict[str, list[Seen]]:
    rows = Access.objects.filter(pair=pair, appid__in=appids, last_seen__gte=access_since())
    found: dict[str, list[Seen]] = {}
    for row in rows.only("appid", "client_id", "kind", "resource", "library", "version", "details"):
        seen = Seen(row.appid, row.client_id, row.kind, row.resource, row.library, row.version, row.details)
        found.setdefault(row.appid, []).append(seen)
    return found


def _moving(rows: Sequence[Seen], plan: Plan) -> list[Seen]:
    """The rows about what moves, of the clients that move."""
    uses = [
        row
        for row in rows
        if row.kind != Access.Kind.GROUP
        and row.resource in plan.topics
        and plan.covers_use(row.appid, row.client_id, row.kind, row.resource)
    ]
    # A client that moves with one Topic only may be a member of a group that stays. That is a blocker of its own
    # (``radius.py``); here it must not be taken for a reader without a group.
    by_topic = {(r.appid, r.client_id) for r in uses if not plan.covers(r.appid, r.client_id)}
    members = [
        row
        for row in rows
        if row.kind == Access.Kind.GROUP
        and (
            (row.resource in plan.groups and plan.covers(row.appid, row.client_id))
            or (row.appid, row.client_id) in by_topic
        )
    ]
    return [*uses, *members]


def _same_offsets(pair: Pair, plans: Sequence[Plan]) -> frozenset[str]:
    """Topics whose partitions all have the same offsets on both sides."""
    syncs = MirrorOffsetSync.objects.filter(
        mirror__pair=pair, mirror__name__in={m for plan in plans for m in plan.mirrors}
    )
    same: dict[str, bool] = {}
    for topic, source, target in syncs.values_list("topic", "source_offset", "target_offset"):
        same[topic] = same.get(topic, True) and source == target
    return frozenset(topic for topic, equal in same.items() if equal)


def stops(finding: Finding, pair: Pair, kind: Kind) -> bool:
    """Whether the finding stops a switch of this kind."""
    return kind.spec.findings_stop and finding.code.value in stopping(pair)
