"""Reads full audits. Nothing here changes anything."""

from __future__ import annotations

from django.db.models import QuerySet

from hadash.full_audits.models import FullAudit
from hadash.mirroring.models import Mirror


def full_audits_of(mirror: Mirror) -> QuerySet[FullAudit]:
    """Return the full audits of a mirror, the newest first."""
    return FullAudit.objects.filter(mirror=mirror).select_related(
        "mirror__pair__first", "mirror__pair__second", "asked_by", "source"
    )
