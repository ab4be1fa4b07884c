"""Full audits are kept as long as somebody may ask what was compared before a switch."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hadash.full_audits.models import FullAudit


def trim() -> int:
    """Remove full audits that ended long ago; return how many."""
    before = timezone.now() - timedelta(days=settings.FULL_AUDIT_KEPT_DAYS)
    count, _ = FullAudit.objects.filter(ended_at__lt=before).delete()
    return count
