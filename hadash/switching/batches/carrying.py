"""Advance batches: take in the results of their switches, and begin the items whose turn it is.

A worker that was woken and one that looks every few seconds do the same: read the current state, and do the next
thing once. The lock of the batch's row keeps two workers from doing it twice; an item's switch is created in the
transaction that notes it, so a worker that dies in between leaves both or neither.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from hadash.audit.models import record
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.decisions import run
from hadash.switching.approvals.windows import nothing_may_start, utc
from hadash.switching.batches import transitions
from hadash.switching.handovers.handing_over import wake
from hadash.switching.machines.batches import (
    Event,
    Item,
    ItemEvent,
    ItemStatus,
    Status,
    event_of,
    next_steps,
)
from hadash.switching.machines.switches import Status as SwitchStatus
from hadash.switching.models.batches import Batch, BatchItem, tell, tell_once
from hadash.switching.models.switches import Approval, Switch, log_event
from hadash.switching.planning.proposals import plan_for
from hadash.switching.refusals import BeingWritten, EnginesAway, PlanChanged
from hadash.switching.requests import SwitchRequest, create_row
from hadash.telemetry import ids

log = logging.getLogger(__name__)

#: Starts a running switch; called after the commit.
Start = Callable[[Switch], None]


def going_on() -> list[str]:
    """Keys of the batches that may have something to do."""
    found = Batch.objects.filter(
        Q(status__in=[Status.RUNNING.value, Status.STOPPED.value])
        | Q(status=Status.ENDED.value, items__status=ItemStatus.RUNNING.value)
    )
    return list(found.order_by("pk").values_list("key", flat=True).distinct())


def advance(key: str, start: Start) -> None:
    """Advance a batch as far as possible now. Do nothing if another worker is at it."""
    with ids.bound(batch=key):
        while _step(key, start):
            pass


def _step(key: str, start: Start) -> bool:
    """Do one thing, in one transaction. Return whether there may be another."""
    with transaction.atomic():
        rows = Batch.objects.select_for_update(of=("self",), skip_locked=True)
        batch = rows.select_related("pair", "source", "target").filter(key=key).first()
        if batch is None:
            return False
        items = {
            item.position: item
            for item in batch.items.select_related("switch").defer(
                "plan", "switch__plan", "switch__traffic", "switch__facts"
            )
        }
        for item in items.values():
            _look(batch, item)
        states = [Item(item.wave, item.position, item.current) for item in items.values()]
        steps = next_steps(batch.current, states, batch.parallelism)
        if steps.event is Event.FINISH:
            transitions.finish(batch, _verdict(list(items.values())))
        elif steps.event is Event.STOP:
            transitions.stop(batch, _failure(list(items.values())))
        elif steps.start and _may_start(batch):
            begun = _begin(batch, items[steps.start[0]], list(items.values()), start)
            _note_look(batch)
            return begun
        if batch.current is Status.RUNNING:
            _note_look(batch)
    return False


def _note_look(batch: Batch) -> None:
    Batch.objects.filter(pk=batch.pk).update(looked_at=timezone.now())


def _look(batch: Batch, item: BatchItem) -> None:
    """Update an item from the status of its switch."""
    if item.switch is None:
        return
    event = event_of(item.current, item.switch.current)
    if event is None:
        return
    item.move(event)
    item.outcome = item.switch.outcome if item.current is not ItemStatus.RUNNING else {}
    item.save(update_fields=["status", "outcome"])
    if item.current is ItemStatus.FAILED:
        tell(
            batch,
            say(
                "%(scope)s (wave %(wave)s) has not moved as it should: look at switch %(key)s.",
                scope=item.scope,
                wave=item.wave,
                key=item.switch.key,
            ),
        )


def _verdict(items: list[BatchItem]) -> Sentence:
    done = sum(item.current is ItemStatus.DONE for item in items)
    dropped = len(items) - done
    if dropped:
        return say("Moved: %(count)s. Left out: %(dropped)s.", count=done, dropped=dropped)
    return say("All of it has moved (%(count)s in all).", count=done)


def _failure(items: list[BatchItem]) -> Sentence:
    first = next(item for item in items if item.current is ItemStatus.FAILED)
    return say(
        "Stopped: %(scope)s (wave %(wave)s) failed. Nothing new starts until somebody decides how to continue.",
        scope=first.scope,
        wave=first.wave,
    )


def _may_start(batch: Batch) -> bool:
    """Whether something may begin now; if it never may, the batch is stopped."""
    now = timezone.now()
    if batch.start_until is not None and batch.start_until < now:
        transitions.stop(
            batch,
            say(
                "Stopped: its window has passed (%(until)s). Resume it outside of its window, or end it.",
                until=utc(batch.start_until),
            ),
        )
        return False
    late = settings.SWITCH_BEGIN_SECONDS
    if batch.looked_at is not None and now - batch.looked_at > timedelta(seconds=late):
        transitions.stop(
            batch,
            say(
                "Stopped: no worker has looked at it for %(seconds)s s. What people agreed to then may be "
                "true no more.",
                seconds=round((now - batch.looked_at).total_seconds()),
            ),
        )
        return False
    blackout = nothing_may_start(batch.pair)
    if blackout is not None:
        tell_once(batch, blackout)
    return blackout is None


def _begin(batch: Batch, item: BatchItem, items: list[BatchItem], start: Start) -> bool:
    """Let an item's switch run, or note why it cannot. Return False if it has to be retried later."""
    wave = [other for other in items if other.wave == item.wave]
    new = item.switch is None and not item.outcome and item.held_up_since is None
    if new and item is min(wave, key=lambda other: other.position):
        tell(batch, say("Wave %(wave)s begins (%(count)s in all).", wave=item.wave, count=len(wave)))
    try:
        with transaction.atomic():
            item.switch = _switch_of(batch, item, start)
        item.move(ItemEvent.START)
        item.outcome = {}
        item.held_up_since = None
    except (OperationalError, InterfaceError):
        raise  # without the database nothing can be noted: it is retried
    except (EnginesAway, BeingWritten) as away:
        if not _overdue(item):
            _hold_up(batch, item, away.reasons[0])
            return False
        _fail(batch, item, away.reasons[0])
    except Refused as refused:
        _fail(batch, item, refused.reasons[0])
    except Exception as error:
        log.exception("the switch of %s in batch %s could not be made", item.scope, batch.key)
        _fail(
            batch,
            item,
            say("Unexpected error (%(kind)s): %(error)s", kind=type(error).__name__, error=error),
        )
    item.save(update_fields=["status", "outcome", "switch", "held_up_since"])
    return True


def _overdue(item: BatchItem) -> bool:
    """Whether an item has been retried for as long as ``BATCH_PATIENCE_SECONDS`` allows."""
    patience = timedelta(seconds=settings.BATCH_PATIENCE_SECONDS)
    return item.held_up_since is not None and timezone.now() - item.held_up_since > patience


def _hold_up(batch: Batch, item: BatchItem, reason: Sentence) -> None:
    """Leave an item waiting that cannot begin at this moment; said once."""
    if item.held_up_since is not None:
        return
    item.held_up_since = timezone.now()
    item.save(update_fields=["held_up_since"])
    tell(batch, reason)
    tell(
        batch,
        say(
            "%(scope)s (wave %(wave)s) cannot begin at this moment. It is tried again, for at most %(seconds)s s.",
            scope=item.scope,
            wave=item.wave,
            seconds=round(settings.BATCH_PATIENCE_SECONDS),
        ),
    )


def _fail(batch: Batch, item: BatchItem, sentence: Sentence) -> None:
    item.switch, item.held_up_since = None, None
    item.move(ItemEvent.FAIL)
    item.outcome = sentence.to_json()
    tell(batch, sentence)


def _switch_of(batch: Batch, item: BatchItem, start: Start) -> Switch:
    """Create and run the item's switch, approved by the approvers of the batch.

    :raises PlanChanged: its plan is not the approved one. :raises EnginesAway, BeingWritten: it may be possible soon.
    :raises Refused: it cannot be carried out now.
    """
    plan = plan_for(batch.pair, item.scope, batch.target)
    if plan.digest != item.plan_digest:
        raise changed_since(item)
    asked = SwitchRequest(
        batch.requested_by, batch.pair, item.scope, batch.target, batch.reason, browser=batch.requested_in
    )
    switch = create_row(
        asked,
        plan,
        besides=batch,
        status=Switch.MACHINE.begin(SwitchStatus.APPROVED),
        approvals_needed=batch.approvals_needed,
        decided_by=batch.decided_by,
        decided_at=batch.decided_at,
        expires_at=timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
        # Even if all workers are busy it does not begin after the window.
        start_until=batch.start_until,
    )
    for approval in batch.approvals.all():
        Approval.objects.create(
            switch=switch, user=approval.user, digest=plan.digest, browser=approval.browser
        )
    log_event(
        switch, say("Its turn in batch %(key)s has come (wave %(wave)s).", key=batch.key, wave=item.wave)
    )
    record(None, "start", switch.subject, batch=batch.key, plan=plan.approved(), plan_digest=plan.digest)
    run(switch, start)
    return switch


def changed_since(item: BatchItem) -> PlanChanged:
    """The refusal of an item whose plan is no longer the approved one."""
    return PlanChanged(
        say(
            "What would move with %(scope)s has changed since the batch was approved. Leave it out, and ask "
            "for it again.",
            scope=item.scope,
        )
    )


def switch_ended(switch_pk: int) -> None:
    """Wake the batch of a switch that has ended, if it has one."""
    item = BatchItem.objects.filter(switch=switch_pk).select_related("batch").first()
    if item is not None:
        wake(item.batch)
