"""How a running switch stops: it waits for a person, or it ends."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence, say
from hadash.switching.approvals.windows import utc
from hadash.switching.execution.stage_audit import mandate, record_stages
from hadash.switching.machines.switches import Event
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.signals import switch_ended


def pause(held: Switch) -> None:
    """Pause the switch until somebody resumes it: all checks hold, and no client has noticed anything.

    The caller has locked ``held``.
    """
    held.move(Event.PAUSE)
    held.paused_at = timezone.now()
    held.save(update_fields=["status", "paused_at"])
    until = held.paused_at + timedelta(seconds=settings.SWITCH_RESUME_SECONDS)
    log_event(
        held,
        say("All is ready. It is paused: somebody has to resume it until %(until)s.", until=utc(until)),
        held.stage,
    )


def end(held: Switch, event: Event, outcome: Sentence) -> None:
    """End a running switch, with its stages in the audit log. The caller has locked ``held``."""
    held.move(event)
    held.conclude(outcome)
    held.ended_at = timezone.now()
    held.save(update_fields=["status", "outcome", "ended_at"])
    switch_ended.send(Switch, switch=held)
    record_stages(held)
    record(None, held.status, held.subject, outcome=str(outcome), **mandate(held))
