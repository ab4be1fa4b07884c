"""Accepts a finding until a day, with a reason, and withdraws an acceptance. The only place that does either."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import ACCEPT, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.governance.models.findings import Acceptance, Finding
from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say

#: Days for which a finding may be accepted, at most: a finding that is accepted for ever would be forgotten.
MOST_DAYS = 366


class NotAccepted(Exception):
    """A finding cannot be accepted, or its acceptance not be withdrawn. ``reasons`` are for the user."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)


def accept(user: Any, finding: Finding, until: date, reason: str, address: str | None = None) -> Acceptance:
    """Accept a finding up to and with a day (UTC), in place of an earlier acceptance of it.

    :raises PermissionDenied: ``user`` may not.
    :raises NotAccepted: the day or the reason is not valid, or the finding is resolved.
    """
    check_may(user, finding)
    today = timezone.now().date()
    faults = []
    if until < today:
        faults.append(say("This day is over. Choose today or a later one."))
    if until > today + timedelta(days=MOST_DAYS):
        faults.append(
            say("At most %(days)s days ahead: then somebody has to look at it again.", days=MOST_DAYS)
        )
    try:
        reason = reasons.given(reason, say("Say why it is accepted: others read it later."))
    except Refused as refused:
        faults += refused.reasons
    if faults:
        raise NotAccepted(*faults)
    with transaction.atomic():
        held = Finding.objects.select_for_update().filter(pk=finding.pk).first()
        if held is None or held.state != Finding.State.OPEN:
            raise NotAccepted(say("It is resolved: there is nothing to accept any more."))
        _end(held)
        made = Acceptance.objects.create(finding=held, until=until, reason=reason, accepted_by=user)
        record(user, "accept", _subject(held), address, until=until.isoformat(), reason=reason)
    return made


def withdraw(user: Any, finding: Finding, address: str | None = None) -> None:
    """Withdraw the acceptance of a finding, which counts again.

    :raises PermissionDenied: ``user`` may not.
    :raises NotAccepted: the finding is not accepted.
    """
    check_may(user, finding)
    with transaction.atomic():
        held = Finding.objects.select_for_update().get(pk=finding.pk)
        if not _end(held):
            raise NotAccepted(say("Nobody has accepted it."))
        record(user, "acceptance withdrawn", _subject(held), address)


def _end(finding: Finding) -> int:
    return finding.acceptances.filter(withdrawn_at=None).update(withdrawn_at=timezone.now())


def check_may(user: Any, finding: Finding) -> None:
    """Check that ``user`` may accept findings of the finding's pair.

    :raises PermissionDenied: ``user`` may not.
    """
    pair = Pair.objects.filter(name=finding.pair).first()
    if pair is None or not may(user, ACCEPT, pair):
        raise PermissionDenied("You may not accept findings.")


def _subject(finding: Finding) -> str:
    about = " › ".join(name for name in (finding.appid, finding.name) if name)
    return f"finding {finding.code} of pair {finding.pair}" + (f": {about}" if about else "")
