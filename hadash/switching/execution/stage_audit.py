"""Audit entries for the stages of switches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence
from hadash.switching.models.batches import BatchItem
from hadash.switching.models.switches import StageRecord, Switch


def record_stages(switch: Switch) -> None:
    """Write audit entries for the ended attempts at stages that have none yet.

    Not called while clients wait, and only after all other locks are taken: all entries of the audit log wait for
    each other. (The caller may have written one already. Attempts that another process is writing at this moment
    are left to it: the two would wait for each other.)
    """
    with transaction.atomic():
        ended = StageRecord.objects.select_for_update(skip_locked=True).filter(
            switch=switch, audited=False, result__in=StageRecord.ENDED
        )
        by = mandate(switch)
        for attempt in ended.order_by("pk"):
            record(
                None,
                f"stage {attempt.result}",
                switch.subject,
                stage=attempt.stage,
                began=attempt.started_at.isoformat(),
                ended=attempt.ended_at.isoformat() if attempt.ended_at else None,
                said=str(Sentence.from_json(attempt.sentence)),
                token=attempt.token,
                effects=attempt.effects,
                **by,
            )
            attempt.audited = True
            attempt.save(update_fields=["audited"])


def mandate(switch: Switch) -> dict[str, Any]:
    """Return on whose decision a switch acts, for its entries in the audit log: from where to where, which plan, and
    who has approved it, or the batch that it belongs to. Two queries.
    """
    item = BatchItem.objects.filter(switch=switch).select_related("batch").first()
    asked: Any = switch if item is None else item.batch
    return {
        "source": switch.source.name,
        "target": switch.target.name,
        "plan_digest": switch.plan_digest,
        "approved_by": list(asked.approvals.order_by("pk").values_list("user__username", flat=True)),
        **({} if item is None else {"batch": item.batch.key}),
    }


def record_forgotten_stages() -> None:
    """Write the entries of switches whose worker was lost before it could."""
    forgotten = StageRecord.objects.filter(
        audited=False,
        result__in=StageRecord.ENDED,
        ended_at__lt=timezone.now() - timedelta(seconds=settings.SWITCH_BEGIN_SECONDS),
    )
    for switch in Switch.objects.filter(pk__in=forgotten.values("switch")):
        record_stages(switch)
