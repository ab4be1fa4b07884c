"""What becomes of a request to change bindings by hand: approved, declined, cancelled, expired."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import DECIDE, REQUEST, may
from hadash.audit.models import record
from hadash.inventory.models import AppID
from hadash.sentences import Sentence, say
from hadash.switching.approvals import reasons
from hadash.switching.approvals.four_eyes import note_approval, valid
from hadash.switching.binding_changes.machine import Event, Status, move
from hadash.switching.binding_changes.models import BindingChange
from hadash.switching.binding_changes.requests import look
from hadash.switching.machine import IllegalMove
from hadash.switching.planning import overlaps
from hadash.switching.refusals import PlanChanged, Refused


def moved(change: BindingChange, event: Event) -> BindingChange:
    """The locked row with its new status, not saved yet. :raises Refused: the status does not allow it."""
    held = BindingChange.objects.select_for_update(of=("self",)).get(pk=change.pk)
    try:
        held.status = move(held.current, event).value
    except IllegalMove:
        raise Refused(
            say(
                "This change is %(status)s: it cannot be changed that way any more.",
                status=held.get_status_display(),
            )
        ) from None
    return held


def approve(
    user: User,
    change: BindingChange,
    digest: str,
    start: Callable[[BindingChange], None],
    address: str | None = None,
    seen: int | None = None,
    browser: str = "",
) -> BindingChange:
    """Approve the change with ``digest``. With the last approval that it needs a worker writes it.

    :param seen: how many approvals the person saw; ``None`` when nobody can have been misled.
    :param start: called after the commit with the approved change; the tasks pass what enqueues it.
    :raises PermissionDenied: ``user`` may not decide, or is the requester.
    :raises PlanChanged: what is bound or used is not as it was. :raises Busy: a switch holds part of it.
    :raises Refused: it was decided already, or has expired.
    """
    _may_decide(user, change)
    if digest != change.digest:
        raise PlanChanged(say("What would be written has changed since you saw it. Look at it again."))
    if change.current is Status.AWAITING_APPROVAL:  # else the table has the better answer
        _look_again(change)
    with transaction.atomic():
        overlaps.lock()
        held = moved(change, Event.APPROVE)
        if held.expires_at < timezone.now():
            raise Refused(say("This request has expired. Ask for it anew."))
        if seen is not None and seen != valid(held).count():
            raise PlanChanged(say("The approvals are not those that you have seen. Look at it again."))
        overlaps.refuse_overlap(held.radius)
        missing = note_approval(user, held, browser, digest=digest)
        if not missing:
            held.decided_by, held.decided_at = user, timezone.now()
            held.save()
            transaction.on_commit(lambda: start(held))
        else:
            held.status = Status.AWAITING_APPROVAL.value
        record(user, "approve", held.subject, address, digest=digest, approvals_missing=missing)
    return held


def _look_again(change: BindingChange) -> None:
    """:raises PlanChanged: the same change would do something else by now, or cannot be made any more."""
    appid = AppID.objects.select_related("pair__default").filter(pair=change.pair, name=change.appid).first()
    if appid is None:
        raise PlanChanged(say("AppID %(appid)s does not exist any more. Decline it.", appid=change.appid))
    found = look(appid, change.wanted)
    if found.blockers or found.edits != change.the_edits:
        raise PlanChanged(
            say("What is bound or used has changed since the request. Look at it again."), *found.blockers
        )


def decline(user: User, change: BindingChange, reason: str, address: str | None = None) -> BindingChange:
    """Decline a request. :raises Refused: without a reason, or when it was decided already."""
    _may_decide(user, change)
    reasons.given(reason, say("Say why you decline: the requester reads it."))
    with transaction.atomic():
        held = moved(change, Event.DECLINE)
        held.decided_by, held.decided_at = user, timezone.now()
        held.decision_note = reason.strip()
        end(held)
        record(user, "decline", held.subject, address, reason=held.decision_note)
    return held


def cancel(user: User, change: BindingChange, reason: str, address: str | None = None) -> BindingChange:
    """Take a request back before it is approved."""
    if not may(user, REQUEST, change.pair):
        raise PermissionDenied("You may not cancel changes of bindings.")
    said = reasons.for_cancelling(reason)
    with transaction.atomic():
        held = moved(change, Event.CANCEL)
        end(
            held,
            say(
                "%(user)s cancelled it: %(reason)s Nothing was changed.",
                user=user.get_username(),
                reason=said,
            ),
        )
        record(user, "cancel", held.subject, address, reason=said)
    return held


def expire() -> int:
    """End the requests that nobody decided on in time; how many."""
    count = 0
    late = BindingChange.objects.filter(status=Status.AWAITING_APPROVAL.value, expires_at__lt=timezone.now())
    for change in late:
        with transaction.atomic():
            try:
                held = moved(change, Event.EXPIRE)
            except Refused:
                continue  # somebody decided in this moment
            end(held, say("Nobody decided in time: the request has expired."))
            record(None, "expire", held.subject)
            count += 1
    return count


def end(held: BindingChange, *outcome: Sentence) -> None:
    """Save a locked row with its last status, and what came of it."""
    held.ended_at = timezone.now()
    held.outcome = [sentence.to_json() for sentence in outcome]
    held.save()


def _may_decide(user: User, change: BindingChange) -> None:
    if not may(user, DECIDE, change.pair):
        raise PermissionDenied("You may not decide on changes of bindings.")
    if user.pk == change.requested_by_id:
        raise PermissionDenied("You requested this change: somebody else has to decide on it.")
