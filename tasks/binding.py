"""Changes of bindings by hand: written by a worker, and picked up when that was lost."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from hadash.switching.by_hand import applying, deciding
from hadash.switching.by_hand.models import BindingChange
from tasks.single import single

log = logging.getLogger(__name__)


@shared_task(name="binding.apply", ignore_result=True)
def apply_change(pk: int) -> None:
    with single(f"binding change {pk}") as won:
        if won:
            applying.apply(pk)


@shared_task(name="binding.pick_up", ignore_result=True)
def pick_up_changes() -> None:
    """Go on with what is approved and not written."""
    for pk in applying.waiting():
        apply_change.delay(pk)


@shared_task(name="binding.expire", ignore_result=True)
def expire_changes() -> None:
    deciding.expire()


def start(change: BindingChange) -> None:
    """Let a worker write a change that has just been approved."""
    try:
        apply_change.delay(change.pk)
    except OperationalError:
        log.exception("change %s could not be handed to a worker; it is picked up later", change.key)
