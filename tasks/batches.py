"""Batches: one task that moves a batch on, when something has happened to it and every few seconds."""

from __future__ import annotations

from celery import shared_task

from hadash.switching.batches import carrying
from hadash.switching.batches.models import BatchItem
from hadash.switching.handovers.models import Work
from tasks import switching
from tasks.handing_over import hand_over


@shared_task(name="batches.advance", ignore_result=True)
def advance(key: str) -> None:
    """Move one batch on."""
    carrying.advance(key, switching.start)


@shared_task(name="batches.advance_all", ignore_result=True)
def advance_all() -> None:
    """Move on whatever was not, and let begin what is due."""
    carrying.start_due(wake)
    for key in carrying.going_on():
        carrying.advance(key, switching.start)


@shared_task(name="batches.expire_requests", ignore_result=True)
def expire_requests() -> None:
    carrying.expire_requests()


def wake(key: str) -> None:
    """Have a worker move the batch on now."""
    hand_over(Work.BATCH, advance, key)


def switch_ended(switch_pk: int) -> None:
    """Wake the batch of a switch that has ended, if it has one."""
    key = BatchItem.objects.filter(switch=switch_pk).values_list("batch__key", flat=True).first()
    if key is not None:
        wake(key)
