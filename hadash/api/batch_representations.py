"""Representations of batches: the dictionaries that :mod:`hadash.api.serializers.batches` describes."""

from __future__ import annotations

from typing import Any

from hadash.presentation import batches, selectors
from hadash.presentation.batches import Progress
from hadash.presentation.localized import sentence
from hadash.switching.approvals import four_eyes
from hadash.switching.batches.plans import LEFT_OUT, BatchPlan
from hadash.switching.models.batches import Batch, BatchEvent, BatchItem


def proposal(found: BatchPlan) -> dict[str, Any]:
    """Return a batch's plan as ``BatchProposalSerializer``."""
    return {
        "source": found.source.name,
        "target": found.wanted.target.name,
        "digest": found.digest,
        "parallelism": found.wanted.parallelism,
        "waves": found.waves,
        "against": len(found.against),
        "radii": [
            {
                "wave": row.wave,
                "scope": row.plan.scope.to_json(),
                "what": str(row.plan.scope),
                "plan_digest": row.plan.digest,
                "topics": len(row.plan.topics),
                "bindings": len(row.plan.identities),
                "clients": row.clients,
                "records_at_risk": row.lag,
                "blockers": [sentence(reason) for reason in row.blockers],
            }
            for row in found.rows
        ],
    }


def batch(found: Batch, waves: list[Progress]) -> dict[str, Any]:
    """Return a batch as ``BatchSerializer``, for lists."""
    progress = batches.whole(waves)
    names = ("key", "status", "reason", "parallelism", "digest", "requested_at", "decided_at", "start_at")
    times = ("start_until", "expires_at", "started_at", "ended_at")
    return {
        **{name: getattr(found, name) for name in (*names, *times)},
        "pair": found.pair.name,
        "source": found.source.name,
        "target": found.target.name,
        "radii": progress.total,
        "counts": progress.told,
        "requested_by": found.requested_by.get_username(),
        "decided_by": found.decided_by.get_username() if found.decided_by else None,
        "outcome": sentence(found.outcome),
    }


def whole_batch(found: Batch) -> dict[str, Any]:
    """Return a batch as ``WholeBatchSerializer``."""
    waves = batches.progress_of([found]).get(found.pk, [])
    return {
        **batch(found, waves),
        "approvals": [
            {"by": approval.user.get_username(), "at": approval.at} for approval in four_eyes.shown(found)
        ],
        "approvals_needed": found.approvals_needed,
        "decision_note": found.decision_note,
        "waves": [{"wave": wave.wave, "counts": wave.told} for wave in waves],
        "left_out": [str(left.scope) for left in found.items.filter(wave=LEFT_OUT).only("asked")],
    }


def item(found: BatchItem) -> dict[str, Any]:
    """Return an item of a batch as ``BatchItemSerializer``."""
    names = ("wave", "position", "status", "clients", "plan_digest")
    return {
        **{name: getattr(found, name) for name in names},
        "scope": found.asked,
        "what": str(found.scope),
        "switch": found.switch.key if found.switch is not None else None,
        "outcome": sentence(found.outcome),
    }


def line(found: BatchEvent) -> dict[str, Any]:
    """Return a line of a batch's log as ``BatchLineSerializer``."""
    return {
        "id": found.pk,
        "at": found.at,
        "actor": selectors.name_of(found.actor),
        "sentence": sentence(found.sentence),
    }
