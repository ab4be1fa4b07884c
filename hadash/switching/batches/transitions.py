"""What happens to a batch by itself: it runs, stops at a failure, and finishes."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.sentences import Sentence
from hadash.switching.machines.batches import Event
from hadash.switching.models.batches import Batch, tell

#: Tells the workers that a batch can be advanced; called after the commit.
Wake = Callable[[Batch], None]


def run(held: Batch, wake: Wake) -> None:
    """Let an approved batch run. The caller has locked ``held``."""
    held.move(Event.RUN)
    held.started_at = held.looked_at = timezone.now()
    held.save()
    transaction.on_commit(lambda: wake(held))


def stop(held: Batch, sentence: Sentence) -> None:
    """Let nothing new start until a person decides how to continue. The caller has locked ``held``."""
    held.move(Event.STOP)
    held.outcome = sentence.to_json()
    held.save()
    tell(held, sentence)
    record(None, "stop", held.subject, outcome=str(sentence))


def finish(held: Batch, sentence: Sentence) -> None:
    """Finish a batch that has nothing left to do. The caller has locked ``held``."""
    held.move(Event.FINISH)
    held.ended_at = timezone.now()
    held.conclude(sentence)
    held.save()
    held.tell(sentence)
    record(None, "finish", held.subject, outcome=str(sentence))
