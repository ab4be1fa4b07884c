"""Forgets what was compared of copies that are not there any more."""

from __future__ import annotations

from typing import Any

from hadash.auditors.models import AuditedPartition
from hadash.mirroring.models import Mirror
from hadash.mirroring.signals import standby_renewed


def connect() -> None:
    standby_renewed.connect(forget, sender=Mirror, dispatch_uid="hadash.auditors.cleanup")


def forget(mirror: Mirror, **_: Any) -> None:
    """Forget all that is known of a mirror's partitions: their comparison begins from the start."""
    AuditedPartition.objects.filter(pair=mirror.pair_id, topic__in=mirror.topics).delete()
