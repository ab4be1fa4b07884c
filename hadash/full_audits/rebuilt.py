"""Ends full audits of copies that are not there any more."""

from __future__ import annotations

from typing import Any

from hadash.full_audits import running
from hadash.full_audits.machine import Status
from hadash.full_audits.models import FullAudit
from hadash.mirroring.models import Mirror
from hadash.mirroring.signals import standby_renewed
from hadash.sentences import say


def connect() -> None:
    standby_renewed.connect(end, sender=Mirror, dispatch_uid="hadash.full_audits.rebuilt")


def end(mirror: Mirror, **_: Any) -> None:
    """Let a full audit fail that was comparing the standby of before: it would tell what is being copied as missing."""
    for audit in FullAudit.objects.filter(mirror=mirror, status=Status.RUNNING.value):
        running.fail(audit.pk, say("The standby of the mirror was rebuilt meanwhile. Ask again."))
