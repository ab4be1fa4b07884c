"""Why beat picks a stage up, and how that is counted and logged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from hadash.sentences import Sentence, say
from hadash.switching.execution.leases import is_dead
from hadash.switching.handovers.counting import count
from hadash.switching.models.handovers import Way, Work
from hadash.switching.models.switches import Switch, log_event


@dataclass(frozen=True, slots=True)
class Orphaned:
    """Why a running switch has no executor, and the seconds since the last sign of life."""

    way: Way
    seconds: float


def why(switch: Switch) -> Orphaned:
    """The reason for an orphan that is not picked up yet. Times are by the database's clock, as the lease is."""
    since = switch.started_at
    if switch.lease_until is not None:
        since = switch.lease_until - timedelta(seconds=settings.SWITCH_LEASE_SECONDS)
    now = Switch.objects.filter(pk=switch.pk).values_list(Now(), flat=True).get()
    seconds = max((now - since).total_seconds(), 0.0) if since else 0.0
    if switch.released:
        return Orphaned(Way.RETRIED, seconds)
    if not switch.executor:
        return Orphaned(Way.NEVER_TAKEN, seconds)
    return Orphaned(Way.DEAD if is_dead(switch.executor) else Way.SILENT, seconds)


def note(switch: Switch, found: Orphaned) -> None:
    """Count it, and add it to the switch's log."""
    count(Work.STAGE, found.way)
    sentence = _sentence(found)
    if sentence is not None:
        log_event(switch, sentence, switch.stage)


def _sentence(found: Orphaned) -> Sentence | None:
    seconds = f"{found.seconds:.1f}"
    match found.way:
        case Way.NEVER_TAKEN:
            return say(
                "No worker took this stage for %(seconds)s s; beat picked it up. Check that the web server "
                "and the workers reach Redis, and that a worker has a free thread.",
                seconds=seconds,
            )
        case Way.SILENT:
            return say(
                "The worker of this stage gave no sign of life for %(seconds)s s; beat picked the stage up.",
                seconds=seconds,
            )
        case Way.DEAD:
            return say("The process of the worker of this stage has ended; beat picked the stage up.")
        case _:
            return None  # the executor that released it has logged the reason
