"""Audit entries for the stages of switches."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence
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
            )
            attempt.audited = True
            attempt.save(update_fields=["audited"])


def record_forgotten_stages() -> None:
    """Write the entries of switches whose worker was lost before it could."""
    forgotten = StageRecord.objects.filter(
        audited=False,
        result__in=StageRecord.ENDED,
        ended_at__lt=timezone.now() - timedelta(seconds=settings.SWITCH_BEGIN_SECONDS),
    )
    for switch in Switch.objects.filter(pk__in=forgotten.values("switch")):
        record_stages(switch)
