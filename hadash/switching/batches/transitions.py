"""What happens to a batch by itself: it runs, stops at what has failed, and finishes."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence
from hadash.switching.machines.batches import Event
from hadash.switching.models.batches import Batch, tell

#: What tells the workers that a batch can be moved on; called after the commit.
Wake = Callable[[Batch], None]


def run(held: Batch, wake: Wake) -> None:
    """Let an approved batch run. ``held`` is locked by the caller."""
    held.move(Event.RUN)
    held.started_at = held.looked_at = timezone.now()
    held.save()
    transaction.on_commit(lambda: wake(held))


def stop(held: Batch, sentence: Sentence) -> None:
    """Nothing new starts until a person says how it goes on. ``held`` is locked by the caller."""
    held.move(Event.STOP)
    held.outcome = sentence.to_json()
    held.save()
    tell(held, sentence)
    record(None, "stop", held.subject, outcome=str(sentence))


def finish(held: Batch, sentence: Sentence) -> None:
    """There is nothing left to do. ``held`` is locked by the caller."""
    held.move(Event.FINISH)
    held.ended_at = timezone.now()
    held.conclude(sentence)
    held.save()
    held.tell(sentence)
    record(None, "finish", held.subject, outcome=str(sentence))
