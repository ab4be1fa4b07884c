"""Tasks of full audits: any worker looks which one is due, and a worker of the queue ``pipeline`` carries it out."""

from __future__ import annotations

from celery import current_app, shared_task
from django.conf import settings

from hadash.full_audits import cleanup, running
from tasks.single import single


@shared_task(name="full_audits.look", ignore_result=True)
def look() -> None:
    with single("look for full audits") as won:
        if won:
            running.fail_dead()
            if (number := running.next_waiting()) is not None:
                # (Without a worker that takes it, the next look sends another message.)
                current_app.send_task(
                    "full_audits.carry_out", [number], expires=settings.FULL_AUDIT_LOOK_SECONDS
                )


@shared_task(name="full_audits.carry_out", ignore_result=True)
def carry_out(number: int) -> None:
    running.carry_out(number)


@shared_task(name="full_audits.trim", ignore_result=True)
def trim() -> None:
    with single("trim full audits") as won:
        if won:
            cleanup.trim()
