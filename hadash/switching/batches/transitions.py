"""The only door to a batch's status: each of these writes what the tables of the machine allow."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence, say
from hadash.switching.batches.machine import Event, Status, move
from hadash.switching.batches.models import Batch, tell
from hadash.switching.machine import IllegalMove
from hadash.switching.refusals import Refused

#: What tells the workers that a batch can be moved on; called after the commit with its key.
Wake = Callable[[str], None]


def locked(batch: Batch) -> Batch:
    """The row, locked until the end of the transaction."""
    found = Batch.objects.select_for_update(of=("self",)).select_related("pair", "source", "target")
    return found.get(pk=batch.pk)


def moved(batch: Batch, event: Event) -> Batch:
    """The locked row with its new status, not saved yet. :raises Refused: the status does not allow it."""
    held = locked(batch)
    try:
        held.status = move(held.current, event).value
    except IllegalMove:
        raise Refused(
            say(
                "This batch is %(status)s: it cannot be changed that way any more.",
                status=held.get_status_display(),
            )
        ) from None
    return held


def run(held: Batch, wake: Wake) -> None:
    """Let an approved batch run. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.RUN).value
    held.started_at = held.looked_at = timezone.now()
    held.save()
    key = held.key
    transaction.on_commit(lambda: wake(key))


def stop(held: Batch, sentence: Sentence) -> None:
    """Nothing new starts until a person says how it goes on. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.STOP).value
    held.outcome = sentence.to_json()
    held.save()
    tell(held, sentence)
    record(None, "stop", held.subject, outcome=str(sentence))


def end(held: Batch, event: Event, sentence: Sentence) -> None:
    """The end of a batch that nobody decides on, or that has nothing left to do. ``held`` is locked by the caller."""
    held.status = move(held.current, event).value
    held.outcome, held.ended_at = sentence.to_json(), timezone.now()
    held.save()
    tell(held, sentence)
    verb = {Status.EXPIRED: "expire", Status.FINISHED: "finish"}[held.current]
    record(None, verb, held.subject, outcome=str(sentence))
