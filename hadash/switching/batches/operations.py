"""What people do with a running or stopped batch: stop it, let it continue, end it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import FORCE, OPERATE, may, may_steer
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.batches.carrying import changed_since
from hadash.switching.batches.transitions import Wake
from hadash.switching.machines.batches import ITEM_MACHINE, Event, ItemEvent, ItemStatus
from hadash.switching.models.batches import Batch, BatchItem, tell
from hadash.switching.planning.proposals import plan_for


def may_stop(user: User, batch: Batch) -> bool:
    """Whether ``user`` can stop the batch now, as pages offer it."""
    return batch.allows(Event.STOP) and may_steer(user, batch.pair)


def may_resume(user: User, batch: Batch) -> bool:
    """Whether ``user`` can resume the batch now, as pages offer it."""
    return batch.allows(Event.RESUME) and may(user, OPERATE, batch.pair)


def stop(user: User, batch: Batch, address: str | None = None) -> Batch:
    """Let nothing new start. Switches that were started end by themselves.

    :raises PermissionDenied: ``user`` may neither request nor decide on switches. :raises Refused: it does not run
        (any more).
    """
    if not may_steer(user, batch.pair):
        raise PermissionDenied("You may not stop batches.")
    with transaction.atomic():
        held = batch.locked_and_moved(Event.STOP)
        sentence = say(
            "%(user)s stopped it. What was started ends; nothing new starts.", user=user.get_username()
        )
        held.outcome = sentence.to_json()
        held.save()
        tell(held, sentence, user)
        record(user, "stop", held.subject, address)
    return held


def resume(
    user: User, batch: Batch, wake: Wake, without: bool, reason: str = "", address: str | None = None
) -> Batch:
    """Let a stopped batch continue: failed items are retried as approved, or left out.

    :param without: whether failed items are left out, for ``reason``.
    :raises PermissionDenied: ``user`` may not operate switches.
    :raises PlanChanged: the plan of a failed item has changed. :raises Refused: the batch is not stopped, its window
        has passed, one of its switches needs a person first, or there is no reason.
    """
    if not may(user, OPERATE, batch.pair):
        raise PermissionDenied("You may not resume batches.")
    failed = list(batch.items.filter(status=ItemStatus.FAILED.value).select_related("switch"))
    if failed and without:
        reason = reasons.given(reason, say("Say why they are left out: others read it later."))
    _refuse_unsettled(failed)
    if not without:
        for item in failed:
            if plan_for(batch.pair, item.scope, batch.target).digest != item.plan_digest:
                raise changed_since(item)
    with transaction.atomic():
        held = batch.locked_and_moved(Event.RESUME)
        if held.start_until is not None and held.start_until < timezone.now():
            raise Refused(
                say(
                    "Its window has passed, and others approved it for then. End it, and ask for the rest again."
                )
            )
        failed = list(held.items.filter(status=ItemStatus.FAILED.value).select_related("switch"))
        _refuse_unsettled(failed)
        for item in failed:
            _settle(item, user, without, reason)
        held.items.update(held_up_since=None)  # items that were held up get the full time again
        held.outcome = {}
        held.looked_at = timezone.now()
        held.save()
        names = [str(item.scope) for item in failed]
        if not failed:
            sentence = say("%(user)s resumed it.", user=user.get_username())
        elif without:
            sentence = say(
                "%(user)s resumed it without %(names)s: %(reason)s",
                user=user.get_username(),
                names=names,
                reason=reason,
            )
        else:
            sentence = say(
                "%(user)s resumed it, with %(names)s again.", user=user.get_username(), names=names
            )
        tell(held, sentence, user)
        record(user, "resume", held.subject, address, without=without, items=names, reason=reason)
        transaction.on_commit(lambda: wake(held))
    return held


def _refuse_unsettled(failed: list[BatchItem]) -> None:
    """:raises Refused: a switch has not ended, and its clients may be waiting."""
    reasons = [
        say(
            "Switch %(key)s of %(scope)s is %(status)s. Let its stage run again, or close it, first.",
            key=item.switch.key,
            scope=item.scope,
            status=item.switch.get_status_display(),
        )
        for item in failed
        if item.switch is not None and item.switch.open
    ]
    if reasons:
        raise Refused(*reasons)


def _settle(item: BatchItem, user: User, without: bool, reason: str) -> None:
    if without:
        item.move(ItemEvent.DROP)
        sentence = say("%(user)s left it out: %(reason)s", user=user.get_username(), reason=reason)
        item.outcome = sentence.to_json()
    else:
        item.move(ItemEvent.AGAIN)
        item.switch = None
    item.save(update_fields=["status", "outcome", "switch"])


def is_ended_by(user: User, batch: Batch) -> bool:
    """Whether ``user`` may end batches of the pair early."""
    return may(user, OPERATE, batch.pair) or may(user, FORCE, batch.pair)


def may_end(user: User, batch: Batch) -> bool:
    """Whether ``user`` can end the batch now, as pages offer it."""
    return batch.allows(Event.END) and is_ended_by(user, batch)


def end(user: User, batch: Batch, reason: str, address: str | None = None) -> Batch:
    """Abandon the rest of a stopped batch: what has moved stays moved, started switches end, the others stay where
    they are.

    People who may force switches may do it, too: the radii that it holds block everybody, and the source may be
    lost.

    :raises PermissionDenied: ``user`` may neither operate nor force switches. :raises Refused: there is no reason,
        or the batch is running.
    """
    if not is_ended_by(user, batch):
        raise PermissionDenied("You may not end batches.")
    reason = reasons.given(reason, say("Say why you end it: others read it later."))
    with transaction.atomic():
        held = batch.locked_and_moved(Event.END)
        sentence = say(
            "%(user)s ended it before all had moved: %(reason)s",
            user=user.get_username(),
            reason=reason,
        )
        held.ended_at = timezone.now()
        held.conclude(sentence)
        held.save()
        held.items.filter(status=ItemStatus.WAITING.value).update(
            status=ITEM_MACHINE.after(ItemStatus.WAITING, ItemEvent.DROP).value, outcome=sentence.to_json()
        )
        tell(held, sentence, user)
        record(user, "end", held.subject, address, reason=reason)
    return held
