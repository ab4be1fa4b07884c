"""Retirements of migrations: those whose day has come, and those whose worker was lost."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from hadash.switching.retirement import removing, services
from hadash.switching.retirement.models import Retirement

log = logging.getLogger(__name__)


@shared_task(name="retirement.remove", ignore_result=True)
def remove(pk: int, token: int) -> None:
    """Remove the old Topics of one migration."""
    removing.remove(pk, token)


@shared_task(name="retirement.look", ignore_result=True)
def look() -> None:
    """Begin what is due, and go on with what was cut off."""
    services.begin_due(start)
    for orphan in services.orphans():
        start(orphan)


def start(retirement: Retirement) -> None:
    """Hand a running retirement to a worker. The first one that takes it uses its token up."""
    try:
        remove.delay(retirement.pk, retirement.token)
    except OperationalError:
        # It is running: when its lease is over, it is found without a worker.
        log.exception("retirement %s could not be handed to a worker; it is picked up later", retirement.pk)
