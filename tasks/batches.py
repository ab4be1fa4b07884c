"""Tasks of batches: a batch is advanced after each event, and every few seconds."""

from __future__ import annotations

from celery import shared_task

from hadash.switching.batches import carrying
from hadash.switching.batches.decisions import BATCHES
from hadash.switching.handovers.handing_over import start_switch, wake


@shared_task(name="batches.advance", ignore_result=True)
def advance(key: str) -> None:
    """Advance one batch."""
    carrying.advance(key, start_switch)


@shared_task(name="batches.advance_all", ignore_result=True)
def advance_all() -> None:
    """Begin the batches that are due, and advance all that are under way."""
    BATCHES.begin_due(wake)
    for key in carrying.going_on():
        carrying.advance(key, start_switch)


@shared_task(name="batches.expire_requests", ignore_result=True)
def expire_requests() -> None:
    BATCHES.expire_undecided()
