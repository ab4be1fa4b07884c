"""What people do with full audits: ask for one, and cancel it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from hadash.accounts.roles import ACCEPT, may
from hadash.audit.models import record
from hadash.full_audits.machine import Event
from hadash.full_audits.models import FullAudit
from hadash.mirroring.models import Mirror
from hadash.refusals import Refused
from hadash.sentences import say


def request(user: Any, mirror: Mirror, topic: str, address: str | None = None) -> FullAudit:
    """Have a whole Topic compared, as soon as a worker is free.

    :raises PermissionDenied: ``user`` may not.
    :raises Refused: the mirror does not copy the Topic, there is no Spark, or the Topic waits or is compared already.
    """
    _check_may(user, mirror)
    if topic not in mirror.topics:
        raise Refused(
            say("Mirror %(mirror)s does not copy Topic %(topic)s.", mirror=mirror.name, topic=topic or "?")
        )
    if mirror.source.generated:
        raise Refused(say("The clusters of this pair are generated: they hold no records."))
    if not settings.LAKE:
        raise Refused(say("There is no lake: set HADASH_LAKE for the web and for the workers."))
    try:
        with transaction.atomic():
            made = FullAudit.objects.create(mirror=mirror, topic=topic, asked_by=user)
            record(user, "ask for full audit", _subject(made), address, number=made.pk)
    except IntegrityError:
        raise Refused(
            say("Topic %(topic)s is being compared already, or waits for it.", topic=topic)
        ) from None
    return made


@transaction.atomic
def cancel(user: Any, audit: FullAudit, address: str | None = None) -> FullAudit:
    """End a full audit that waits or runs. What it has compared is lost.

    :raises PermissionDenied: ``user`` may not. :raises Refused: it has ended.
    """
    _check_may(user, audit.mirror)
    held = audit.locked_and_moved(Event.CANCEL)
    held.ended_at = timezone.now()
    held.save(update_fields=["status", "ended_at"])
    record(user, "cancel full audit", _subject(held), address, number=held.pk)
    return held


def may_request(user: Any, mirror: Mirror) -> bool:
    """Whether ``user`` may have Topics of a mirror compared, and cancel that."""
    return may(user, ACCEPT, mirror.pair)


def _check_may(user: Any, mirror: Mirror) -> None:
    if not may_request(user, mirror):
        raise PermissionDenied("You may not have Topics compared.")


def _subject(audit: FullAudit) -> str:
    return f"Topic {audit.topic} of mirror {audit.mirror.name}, pair {audit.mirror.pair.name}"
