"""What others than the one who asked do with a request, and what is said about it: approve, decline, comment, cancel, review."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import DECIDE, REQUEST, may
from hadash.audit.models import record, stored
from hadash.sentences import say
from hadash.switching.approvals import reasons
from hadash.switching.approvals.four_eyes import note_approval, used_by_another, valid
from hadash.switching.approvals.policy import blackout_now
from hadash.switching.approvals.windows import refuse_in_blackout, run, utc
from hadash.switching.machine import IN_BLACKOUTS, Event, Status
from hadash.switching.models import Switch, log_event
from hadash.switching.planning.proposals import plan_for
from hadash.switching.refusals import PlanChanged, Refused
from hadash.switching.transitions import moved, refuse_impossible

#: Characters of a comment: a page, not a book.
MAX_COMMENT = 2000


def approve(
    user: User,
    switch: Switch,
    digest: str,
    start: Callable[[Switch], None],
    address: str | None = None,
    seen: int | None = None,
    browser: str = "",
) -> Switch:
    """Approve the plan with ``digest``. With the last approval that it needs the switch runs, or waits for its window.

    :param seen: how many approvals the person saw; ``None`` when nobody can have been misled.
    :param start: called after the commit with the running switch; the tasks pass what enqueues its first stage.
    :raises PermissionDenied: ``user`` may not decide, or is the requester.
    :raises Refused: it was decided already, has expired, or the plan has changed since it was shown.
    """
    _may_decide(user, switch)
    refuse_impossible(switch, Event.APPROVE)
    if digest != switch.plan_digest:
        raise PlanChanged(say("The plan has changed since you saw it. Look at it again."))
    current = plan_for(switch.pair, switch.scope, switch.target, switch.the_kind)
    if current.digest != switch.plan_digest:
        raise PlanChanged(
            say(
                "What would move has changed since the request (now: %(topics)s). Decline it and request it anew.",
                topics=current.topics,
            )
        )
    with transaction.atomic():
        held = moved(switch, Event.APPROVE)
        if held.expires_at < timezone.now():
            raise Refused(say("This request has expired. Ask for the switch anew."))
        if seen is not None and seen != valid(held).count():
            raise PlanChanged(say("The approvals are not those that you have seen. Look at it again."))
        missing = _add_approval(user, held, digest, browser)
        if missing:
            held.status = Status.AWAITING_APPROVAL.value
        else:
            held.decided_by, held.decided_at = user, timezone.now()
            held.save()
            if held.start_at is None:
                if held.the_kind not in IN_BLACKOUTS:
                    refuse_in_blackout(held.pair)
                run(held, start)
            elif held.start_at <= timezone.now() and blackout_now(held.pair) is None:
                run(held, start)  # else it starts by itself when it may: see start_due
        record(
            user,
            "approve",
            held.subject,
            address,
            plan_digest=digest,
            approvals_missing=missing,
            retire_after_days=held.retire_after_days,
        )
    return held


def _add_approval(user: User, held: Switch, digest: str, browser: str) -> int:
    """Note one approval; how many are still missing. :raises Refused: see :func:`note_approval`."""
    missing = note_approval(user, held, browser, plan_digest=digest)
    log_event(held, say("%(user)s approved the switch.", user=user.get_username()), actor=user)
    if missing:
        log_event(held, say("It needs %(missing)s more.", missing=missing))
    elif held.start_at is not None and held.start_at > timezone.now():
        log_event(held, say("It starts at %(at)s.", at=utc(held.start_at)))
    return missing


def decline(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """Decline a request. :raises Refused: without a reason, or when it was decided already."""
    _may_decide(user, switch)
    said = reasons.given(reason, say("Say why you decline: the requester reads it."))
    with transaction.atomic():
        held = moved(switch, Event.DECLINE)
        held.decided_by, held.decided_at, held.ended_at = user, timezone.now(), timezone.now()
        held.decision_note = said
        held.save()
        log_event(
            held,
            say(
                "%(user)s declined the switch: %(reason)s",
                user=user.get_username(),
                reason=held.decision_note,
            ),
            actor=user,
        )
        record(user, "decline", held.subject, address, reason=held.decision_note)
    return held


def _may_decide(user: User, switch: Switch) -> None:
    if not may(user, DECIDE, switch.pair):
        raise PermissionDenied("You may not decide on switches.")
    if user.pk == switch.requested_by_id:
        raise PermissionDenied("You requested this switch: somebody else has to decide on it.")


def cancel(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """Take a request back before it runs. :raises Refused: without a reason, or when it runs already."""
    if not may(user, REQUEST, switch.pair):
        raise PermissionDenied("You may not cancel switches.")
    said = reasons.for_cancelling(reason)
    with transaction.atomic():
        held = moved(switch, Event.CANCEL)
        held.ended_at = timezone.now()
        who = user.get_username()
        held.outcome = say(
            "%(user)s cancelled it: %(reason)s Nothing was changed.", user=who, reason=said
        ).to_json()
        held.save()
        log_event(held, say("%(user)s cancelled the request: %(reason)s", user=who, reason=said), actor=user)
        record(user, "cancel", held.subject, address, reason=said)
    return held


def comment(user: User, switch: Switch, text: str, address: str | None = None) -> None:
    """Say something about a switch, for all who look at it.

    :raises PermissionDenied: ``user`` has no part in switches. :raises Refused: nothing is said, or too much.
    """
    if not (may(user, REQUEST, switch.pair) or may(user, DECIDE, switch.pair)):
        raise PermissionDenied("You may not comment on switches.")
    said = str(stored(text)).strip()
    if not said:
        raise Refused(say("Type what you want to say."))
    if len(said) > MAX_COMMENT:
        raise Refused(
            say("That is %(length)s characters; at most %(most)s fit.", length=len(said), most=MAX_COMMENT)
        )
    with transaction.atomic():
        log_event(switch, say("“%(text)s”", text=said), actor=user)
        record(user, "comment", switch.subject, address, text=said)


def review(user: User, switch: Switch, note: str, address: str | None = None, browser: str = "") -> Switch:
    """Say afterwards what is to be said of an emergency.

    :raises PermissionDenied: ``user`` may not decide, or is the one who ran it.
    :raises Refused: without a word, in the browser in which somebody else asked for it, or when there is nothing to review
        (any more).
    """
    _may_decide(user, switch)
    if not note.strip():
        raise Refused(say("Say what you found: whoever looks at this later reads it."))
    with transaction.atomic():
        held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
        if not held.to_be_reviewed:
            raise Refused(say("This switch is not to be reviewed."))
        if used_by_another(user, held, browser):
            raise Refused(
                say(
                    "This browser was used to request it, with another account. Review it in a browser of your own."
                )
            )
        held.reviewed_by, held.reviewed_at, held.review_note = user, timezone.now(), note.strip()
        held.save(update_fields=["reviewed_by", "reviewed_at", "review_note"])
        sentence = say("%(user)s reviewed it: %(note)s", user=user.get_username(), note=held.review_note)
        log_event(held, sentence, actor=user)
        record(user, "review", held.subject, address, note=held.review_note)
    return held
