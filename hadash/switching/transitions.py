"""The only door to a switch's status: each of these writes what the tables of :mod:`hadash.switching.machine` allow."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence, say
from hadash.switching.approvals.windows import utc
from hadash.switching.execution.stage_audit import record_stages
from hadash.switching.machine import (
    Event,
    IllegalMove,
    Status,
    move,
)
from hadash.switching.models import Switch, log_event
from hadash.switching.refusals import Refused
from hadash.switching.retirement.services import switch_ended


def moved(switch: Switch, event: Event) -> Switch:
    """The locked row with its new status, not saved yet. :raises Refused: the status does not allow it."""
    held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
    held.status = _after(held, event).value
    return held


def refuse_impossible(switch: Switch, event: Event) -> None:
    """Say so at once, before anything is worked out that would say something else. :raises Refused: the status does not allow it."""
    _after(Switch.objects.only("status").get(pk=switch.pk), event)


def _after(held: Switch, event: Event) -> Status:
    try:
        return move(held.current, event)
    except IllegalMove:
        raise Refused(
            say(
                "This switch is %(status)s: it cannot be changed that way any more.",
                status=held.get_status_display(),
            )
        ) from None


def pause(held: Switch) -> None:
    """Wait for a person's go: all checks hold, and no client has noticed anything. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.PAUSE).value
    held.paused_at = timezone.now()
    held.save(update_fields=["status", "paused_at"])
    until = held.paused_at + timedelta(seconds=settings.SWITCH_GO_SECONDS)
    log_event(
        held, say("All is ready. It waits for somebody's go until %(until)s.", until=utc(until)), held.stage
    )


def end(held: Switch, event: Event, outcome: Sentence) -> None:
    """End a running switch, with its stages in the audit log. ``held`` is locked by the caller."""
    held.status = move(held.current, event).value
    held.outcome = outcome.to_json()
    held.ended_at = timezone.now()
    held.save(update_fields=["status", "outcome", "ended_at"])
    switch_ended(held)
    record_stages(held)
    record(None, held.status, held.subject, outcome=str(outcome))
