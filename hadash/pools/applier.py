"""Write an approved change of a pool to ZooKeeper. It may be killed anywhere and called again: it is idempotent."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.bindings.errors import StoreUnavailable
from hadash.changes import Event, Status
from hadash.coordinator.store import PoolStore
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.pools.actions import Action, write
from hadash.pools.models import PoolChange
from hadash.pools.moving import refuse_what_goes_on, refuse_while_moving
from hadash.sentences import Explained, Sentence, say
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy

log = logging.getLogger(__name__)

#: Seconds that a change may take to be written by the process in which it was decided, before another one does it.
WRITE_SECONDS = 5.0


def apply(change: PoolChange) -> None:
    """Write a change, if it is approved and nobody has; while ZooKeeper is away, or a switch moves the Topic, it stays
    approved.

    The row is locked meanwhile: two processes do not write it beside each other.
    """
    with transaction.atomic():
        held = change.locked()
        if held.current is not Status.APPROVED:
            return
        if held.expires_at < timezone.now():
            _end(held, Event.FAIL, say("It could not be written in time. Ask again."), "pool not changed")
            return
        by = held.requested_by.get_username()
        if held.change.action is Action.ADD_TOPIC:
            overlaps.lock()  # (a switch that is requested from now on finds what is written)
        try:
            store = PoolStore(claimed(zookeeper()), held.pool)
            refuse_while_moving(held.change)
            if held.change.action is Action.RELEASE:
                refuse_what_goes_on(held.change, store.read())
            write(held.change, store, by, held.reason)
        except (Busy, StoreUnavailable) as error:
            log.warning("change of pool %s is tried again: %s", held.pool, error)
            held.conclude(say("%(error)s It is tried again.", error=error))
            held.save(update_fields=["outcome"])
            return
        except Explained as error:
            _end(held, Event.FAIL, error.sentence, "pool not changed")
            return
        _end(held, Event.APPLY, say("Written to ZooKeeper."), "pool changed")


def _end(held: PoolChange, event: Event, outcome: Sentence, verb: str) -> None:
    held.move(event)
    held.ended_at = timezone.now()
    held.conclude(outcome)
    held.save()
    record(None, verb, held.subject, outcome=str(outcome), **held.values())


def apply_waiting() -> int:
    """Write the changes whose process was lost before it did, or that ZooKeeper did not take; return how many."""
    late = timezone.now() - timedelta(seconds=WRITE_SECONDS)
    approved = PoolChange.objects.filter(status=Status.APPROVED.value)
    waiting = [row for row in approved.order_by("pk") if (row.decided_at or row.requested_at) < late]
    for row in waiting:
        apply(row)
    return len(waiting)
