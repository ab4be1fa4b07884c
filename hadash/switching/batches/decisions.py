"""What others than the one who asked do with a batch: approve, decline, cancel."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import DECIDE, REQUEST, may
from hadash.audit.models import record
from hadash.sentences import say
from hadash.switching.approvals import reasons
from hadash.switching.approvals.four_eyes import note_approval, valid
from hadash.switching.approvals.policy import blackout_now
from hadash.switching.approvals.windows import refuse_in_blackout, utc
from hadash.switching.batches.machine import Event, Status
from hadash.switching.batches.models import Batch, tell
from hadash.switching.batches.plans import changed
from hadash.switching.batches.transitions import Wake, moved, run
from hadash.switching.refusals import PlanChanged, Refused

#: Radii that a refusal names.
_NAMED = 5


def approve(
    user: User,
    batch: Batch,
    digest: str,
    wake: Wake,
    address: str | None = None,
    seen: int | None = None,
    browser: str = "",
) -> Batch:
    """Approve what ``digest`` stands for. With the last approval that it needs the batch runs, or waits for its window.

    :param seen: how many approvals the person saw; ``None`` when nobody can have been misled.
    :raises PermissionDenied: ``user`` may not decide, or is the requester.
    :raises Refused: it was decided already, has expired, or would move something else now.
    """
    _may_decide(user, batch)
    if digest != batch.digest:
        raise PlanChanged(say("What would move has changed since you saw it. Look at it again."))
    others = changed(batch)
    if others:
        raise PlanChanged(
            say(
                "What would move has changed since the request, with %(names)s. Decline it and request it anew.",
                names=[str(item.scope) for item in others[:_NAMED]],
            )
        )
    with transaction.atomic():
        held = moved(batch, Event.APPROVE)
        if held.expires_at < timezone.now():
            raise Refused(say("This request has expired. Ask for the batch anew."))
        if seen is not None and seen != valid(held).count():
            raise PlanChanged(say("The approvals are not those that you have seen. Look at it again."))
        missing = note_approval(user, held, browser, plan_digest=digest)
        tell(held, say("%(user)s approved the batch.", user=user.get_username()), user)
        if missing:
            held.status = Status.AWAITING_APPROVAL.value
            tell(held, say("It needs %(missing)s more.", missing=missing))
        else:
            held.decided_by, held.decided_at = user, timezone.now()
            held.save()
            _begin(held, wake)
        record(user, "approve", held.subject, address, digest=digest, approvals_missing=missing)
    return held


def _begin(held: Batch, wake: Wake) -> None:
    """At once, or when its window comes: see ``carrying.start_due``."""
    if held.start_at is None:
        refuse_in_blackout(held.pair)
        run(held, wake)
    elif held.start_at > timezone.now():
        tell(held, say("It starts at %(at)s.", at=utc(held.start_at)))
    elif blackout_now(held.pair) is None:
        run(held, wake)


def decline(user: User, batch: Batch, reason: str, address: str | None = None) -> Batch:
    """Decline a batch. :raises Refused: without a reason, or when it was decided already."""
    _may_decide(user, batch)
    reasons.given(reason, say("Say why you decline: the requester reads it."))
    with transaction.atomic():
        held = moved(batch, Event.DECLINE)
        held.decided_by, held.decided_at, held.ended_at = user, timezone.now(), timezone.now()
        held.decision_note = reason.strip()
        held.save()
        sentence = say(
            "%(user)s declined the batch: %(reason)s", user=user.get_username(), reason=held.decision_note
        )
        tell(held, sentence, user)
        record(user, "decline", held.subject, address, reason=held.decision_note)
    return held


def _may_decide(user: User, batch: Batch) -> None:
    if not may(user, DECIDE, batch.pair):
        raise PermissionDenied("You may not decide on switches.")
    if user.pk == batch.requested_by_id:
        raise PermissionDenied("You requested this batch: somebody else has to decide on it.")


def cancel(user: User, batch: Batch, reason: str, address: str | None = None) -> Batch:
    """Take a batch back before it runs."""
    if not may(user, REQUEST, batch.pair):
        raise PermissionDenied("You may not cancel switches.")
    said = reasons.for_cancelling(reason)
    with transaction.atomic():
        held = moved(batch, Event.CANCEL)
        held.ended_at = timezone.now()
        held.outcome = say(
            "%(user)s cancelled it: %(reason)s Nothing was changed.", user=user.get_username(), reason=said
        ).to_json()
        held.save()
        tell(
            held,
            say("%(user)s cancelled the request: %(reason)s", user=user.get_username(), reason=said),
            user,
        )
        record(user, "cancel", held.subject, address, reason=said)
    return held
