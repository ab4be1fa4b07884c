"""People accept what differs: it is known, and explained. It stays in the list, and is nothing to stop a switch for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F

from hadash.accounts.roles import ACCEPT, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.auditors.models import AuditAcceptance, AuditDifference, AuditedPartition
from hadash.auditors.selectors import audited
from hadash.mirroring.models import Mirror
from hadash.refusals import Refused
from hadash.sentences import say


@transaction.atomic
def accept(
    user: Any, mirror: Mirror, reason: str, address: str | None = None, only: Collection[int] | None = None
) -> AuditAcceptance:
    """Accept the differences of a mirror that are open now; what is found later is not accepted with them.

    :param only: keys of the differences; ``None``: all, also those that were only counted because there are so many.
    :raises PermissionDenied: ``user`` may not accept findings of the pair.
    :raises Refused: there is no reason, or nothing to accept.
    """
    _check_may(user, mirror)
    reason = reasons.given(reason, say("Say why: those who switch this mirror read it."))
    # (Auditors write the same rows: what they find meanwhile is counted afterwards.)
    rows = {row.pk: row for row in audited(mirror).select_for_update().filter(different__gt=F("accepted"))}
    open_ones = AuditDifference.objects.filter(audited__in=rows, acceptance=None)
    if only is not None:
        open_ones = open_ones.filter(pk__in=only)
    keys = dict(open_ones.values_list("pk", "audited"))
    if only is None:
        counts = {pk: row.different - row.accepted for pk, row in rows.items()}
    else:
        counts = {pk: list(keys.values()).count(pk) for pk in set(keys.values())}
    if not counts:
        raise Refused(say("There is no difference that is not accepted yet. Look at the mirror again."))
    made = AuditAcceptance.objects.create(
        pair=mirror.pair, by=user, reason=reason, counts={str(pk): count for pk, count in counts.items()}
    )
    AuditDifference.objects.filter(pk__in=keys).update(acceptance=made)
    for pk, count in counts.items():
        AuditedPartition.objects.filter(pk=pk).update(accepted=F("accepted") + count)
    record(user, "accept differences", _subject(mirror), address, count=sum(counts.values()), reason=reason)
    return made


@transaction.atomic
def withdraw(user: Any, mirror: Mirror, acceptance: int, address: str | None = None) -> None:
    """Take an acceptance back, by its key: its differences count again. Idempotent.

    :raises PermissionDenied: ``user`` may not accept findings of the pair.
    """
    _check_may(user, mirror)
    held = AuditAcceptance.objects.select_for_update().filter(pk=acceptance, pair=mirror.pair).first()
    if held is None:
        return
    for row in AuditedPartition.objects.select_for_update().filter(pk__in=held.counts):
        row.accepted = max(0, row.accepted - held.counts[str(row.pk)])
        row.save(update_fields=["accepted"])
    count = sum(held.counts.values())
    held.delete()  # (its differences stay, accepted by nobody)
    record(user, "withdraw acceptance", _subject(mirror), address, count=count, reason=held.reason)


def _check_may(user: Any, mirror: Mirror) -> None:
    if not may(user, ACCEPT, mirror.pair):
        raise PermissionDenied("You may not accept findings.")


def _subject(mirror: Mirror) -> str:
    return f"mirror {mirror.name} of pair {mirror.pair.name}"
