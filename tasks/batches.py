"""Batches: one task that moves a batch on, when something has happened to it and every few seconds."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from hadash.switching.batches import carrying
from hadash.switching.batches.models import BatchItem
from tasks import switching

log = logging.getLogger(__name__)


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
    try:
        advance.delay(key)
    except OperationalError:
        # As soon as Redis is back, it is looked at with all others.
        log.exception("batch %s could not be handed to a worker; it is looked at later", key)


def switch_ended(switch_pk: int) -> None:
    """Wake the batch of a switch that has ended, if it has one."""
    key = BatchItem.objects.filter(switch=switch_pk).values_list("batch__key", flat=True).first()
    if key is not None:
        wake(key)
