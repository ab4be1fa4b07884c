"""Representations of rows: the dictionaries that :mod:`hadash.api.serializers` describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hadash.accounts.models import ApiToken
from hadash.bindings.model import Binding, GatewayMember
from hadash.governance.findings import RULES
from hadash.inventory.models import Cluster, Pair
from hadash.mirroring.copied_twice import CopiedTwice, copied_twice
from hadash.mirroring.models import Mirror
from hadash.presentation import live, radius
from hadash.presentation.appid_rows import BoundAppID, BoundInstance
from hadash.presentation.changes import Bound
from hadash.presentation.localized import sentence
from hadash.switching.approvals import four_eyes
from hadash.switching.machines.switches import STAGES, Stage
from hadash.switching.models.drafts import RequestDraft
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.planning import overlaps
from hadash.switching.planning.risks import stops
from hadash.switching.previews import Preview
from hadash.switching.recovery import restoring, unreplicated


def switch(found: Switch) -> dict[str, Any]:
    """Return a switch as ``SwitchSerializer``, for lists."""
    return {
        "key": found.key,
        "kind": found.kind,
        "pair": found.pair.name,
        "scope": found.asked,
        "source": found.source.name,
        "target": found.target.name,
        "restores": found.restores.key if found.restores is not None else None,
        "status": found.status,
        "stage": found.stage,
        "reason": found.reason,
        "requested_by": found.requested_by.get_username(),
        "requested_at": found.requested_at,
        "decided_by": found.decided_by.get_username() if found.decided_by else None,
        "decided_at": found.decided_at,
        "start_at": found.start_at,
        "start_until": found.start_until,
        "expires_at": found.expires_at,
        "started_at": found.started_at,
        "ended_at": found.ended_at,
        "outcome": sentence(found.outcome),
        "plan_digest": found.plan_digest,
    }


def whole_switch(found: Switch) -> dict[str, Any]:
    """Return a switch as ``WholeSwitchSerializer``."""
    records = list(found.stages.all())
    return {
        **switch(found),
        "plan": found.the_plan().approved(),
        "retire_after_days": found.retire_after_days,
        "retirement": _retirement(found),
        "approvals": [
            {"by": approval.user.get_username(), "at": approval.at} for approval in four_eyes.shown(found)
        ],
        "approvals_needed": found.approvals_needed,
        "decision_note": found.decision_note,
        "pause_after_precheck": found.pause_after_precheck,
        "to_be_reviewed": found.to_be_reviewed,
        "reviewed_by": found.reviewed_by.get_username() if found.reviewed_by else None,
        "review_note": found.review_note,
        "loss": unreplicated.loss_of(found),
        "unreplicated": unreplicated_records(found.unreplicated) if hasattr(found, "unreplicated") else None,
        "scope_back": restoring.scope_back(found).to_json(),
        "restored_by": list(found.restored_by.order_by("pk").values_list("key", flat=True)),
        "abort_requested": found.abort_requested_by_id is not None,
        "blocked": live.blocked(found),
        "refused_seconds": live.refused_seconds(records),
        "stages": [
            {
                "stage": record.stage,
                "phase": STAGES[Stage(record.stage)].phase.value,
                "result": record.result,
                "started_at": record.started_at,
                "ended_at": record.ended_at,
                "seconds": record.seconds,
                "sentence": sentence(record.sentence),
            }
            for record in records
        ],
    }


def unreplicated_records(found: Unreplicated) -> dict[str, Any]:
    """Return what a lost source held as ``UnreplicatedRecordsSerializer``."""
    return {
        "status": found.status,
        "records": found.records,
        "deleted": found.deleted,
        "gone": found.gone,
        "partitions": unreplicated.shown(found),
        "reported_at": found.reported_at,
        "fault": sentence(found.fault),
        "note": found.note,
    }


def _retirement(found: Switch) -> dict[str, Any] | None:
    """Return a switch's retirement as ``RetirementSerializer``; ``None`` if it has none."""
    held = Retirement.objects.filter(switch=found).select_related("decided_by").first()
    if held is None:
        return None
    return {
        "status": held.status,
        "due_at": held.due_at,
        "postponed": held.postponed,
        "outcome": sentence(held.outcome),
        "removed": held.removed,
        "decided_by": held.decided_by.get_username() if held.decided_by is not None else None,
        "done_at": held.done_at,
    }


def proposal(preview: Preview, pair: Pair) -> dict[str, Any]:
    """Return a plan's preview as ``ProposalSerializer``."""
    found = preview.proposal
    plan = found.plan
    holder = overlaps.overlapping(plan)
    mirrors = Mirror.objects.filter(pair=pair, name__in=plan.mirrors).select_related("source")
    return {
        "kind": plan.kind.value,
        "plan": plan.approved(),
        "plan_digest": plan.digest,
        "whole": found.whole,
        "checks": preview.checks.value,
        "blockers": [sentence(reason) for reason in preview.blockers],
        "uncovered": [
            {"appid": use.appid, "client_id": use.client_id, "kind": use.kind, "resource": use.resource}
            for use in found.uncovered
        ],
        "findings": [
            {
                "code": finding.code.value,
                "severity": RULES[finding.code].severity.value,
                "stops": stops(finding, pair, plan.kind),
                "who": list(finding.who),
                "sentence": str(finding.sentence),
            }
            for finding in found.findings
        ],
        "members": [
            {
                "kind": row.kind,
                "name": row.name,
                "why": row.why,
                "already": row.already,
                "chain": row.chain,
                "mirrors": row.facts.mirrors if row.facts.is_topic else None,
                "last_seen": row.facts.last_seen,
            }
            for row in radius.rows(plan)
        ],
        "held_by": {"kind": holder.kind, "key": holder.key} if holder is not None else None,
        "expected_pause_seconds": radius.expected_pause(pair, plan.kind),
        "records_at_risk": radius.records_at_risk(mirrors),
    }


def cluster(found: Cluster) -> dict[str, Any]:
    """Return a cluster as ``ClusterSerializer``, without its credentials."""
    names = ("name", "number", "bootstrap_servers", "security_protocol", "kafka_cluster_id")
    return {
        **{name: getattr(found, name) for name in names},
        "brokers": found.brokers,
        "fault": sentence(found.fault),
        "looked_at": found.looked_at,
    }


def mirror(found: Mirror, twice: Sequence[CopiedTwice]) -> dict[str, Any]:
    """Return a mirror as ``MirrorSerializer``."""
    return {
        "name": found.name,
        "topics": found.topics,
        "source": found.source.name,
        "target": found.target.name,
        "state": str(found.state),
        "fault": sentence(found.fault),
        "lag_records": found.lag_records,
        "lag_seconds": found.lag_seconds,
        "looked_at": found.looked_at,
        "drift": found.drift or None,
        "compared_at": found.compared_at,
        "differences": found.comparison.get("differences", []),
        "gaps": found.gaps,
        "copied_twice": [
            {
                "cluster": each.cluster,
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "records": each.records,
            }
            for each in twice
        ],
    }


def mirrors(found: Sequence[Mirror]) -> list[dict[str, Any]]:
    """Return mirrors as ``MirrorSerializer``, with one query for all of them."""
    twice = copied_twice(found)
    return [mirror(each, twice[each.pk]) for each in found]


def pair(found: Any) -> dict[str, Any]:
    """Return a pair of :func:`hadash.presentation.selectors.pairs` as ``PairSerializer``."""
    return {
        "name": found.name,
        "default": found.default.name,
        "clusters": [cluster(each) for each in found.clusters],
        "mirrors": mirrors(found.the_mirrors),
        "mirror_count": found.mirror_count,
    }


def _binding(binding: Binding | None, own: bool) -> dict[str, Any] | None:
    if binding is None:
        return None
    return {"cluster": binding.cluster, "state": binding.state.value, "epoch": binding.epoch, "own": own}


def bound(found: Bound) -> dict[str, Any]:
    """Return one binding of an AppID as ``BoundSerializer``."""
    identity, binding = found.identity, found.binding
    return {
        "identity": identity.key,
        "instance_id": identity.instance_id or "",
        "topics": list(identity.topics),
        "group": identity.group or "",
        "cluster": binding.cluster,
        "state": binding.state.value,
        "epoch": binding.epoch,
        "switch": found.switch.key if found.switch is not None else None,
        "change": found.change.key if found.change is not None else None,
        "at": found.at,
    }


def _instance(found: BoundInstance) -> dict[str, Any]:
    return {
        "name": found.name,
        "registered": found.registered,
        "binding": _binding(found.binding, found.own),
        "last_seen": found.seen.last,
        "last_cluster": found.seen.cluster,
    }


def appid(found: BoundAppID) -> dict[str, Any]:
    """Return an AppID as ``AppIDSerializer``."""
    return {
        "id": found.appid.pk,
        "name": found.appid.name,
        "pair": found.appid.pair.name,
        "owner": found.appid.owner,
        "critical": found.appid.critical,
        "binding": _binding(found.binding, found.own),
        "observed": found.observed,
        "covered": found.covered,
        "instances": [_instance(each) for each in found.instances],
    }


def gateway(found: GatewayMember) -> dict[str, Any]:
    """Return a Gateway as ``GatewaySerializer``."""
    names = ("id", "address", "version", "live", "excluded", "applied")
    return {name: getattr(found, name) for name in names}


def request_draft(found: RequestDraft) -> dict[str, Any]:
    """Return a kept draft as ``DraftSerializer``."""
    return {
        "id": found.pk,
        "pair": found.pair.name,
        "appid": found.appid_id,
        "typed": found.fields,
        "saved_at": found.saved_at,
    }


def token(found: ApiToken) -> dict[str, Any]:
    """Return a token as ``TokenSerializer``."""
    names = ("name", "beginning", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    return {
        "id": found.pk,
        "pair": found.pair.name if found.pair is not None else None,
        **{name: getattr(found, name) for name in names},
    }
