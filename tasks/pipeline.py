"""The jobs of the pipeline: what is due is announced by any worker, and carried out by those of the queue
``pipeline``.
"""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready

from hadash.governance.models import Run
from hadash.pipeline import running, schedules
from hadash.pipeline.running import Outcome
from hadash.switching.handovers.handing_over import start_run
from tasks.single import single

#: The queue of those who do jobs (``CELERY_TASK_ROUTES``).
QUEUE = "pipeline"


@shared_task(name="pipeline.look", ignore_result=True)
def look() -> None:
    with single("pipeline look") as won:
        if won:
            schedules.look(start_run)


@shared_task(name="pipeline.run", ignore_result=True)
def run(number: int) -> None:
    """Carry out one run. Delivered twice, the second does nothing."""
    outcome = running.carry_out(number)
    if outcome in (Outcome.FAILED, Outcome.REFUSED):
        failed = Run.objects.get(pk=number)
        if outcome is Outcome.FAILED:
            schedules.try_again(failed)
        else:
            schedules.alarm(failed)
    elif outcome is Outcome.PUBLISHED:
        look()  # others may have waited for what it has made


@worker_ready.connect
def warm_up(sender: Any, **kwargs: object) -> None:
    """Whoever does the jobs of the pipeline starts Spark at once."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        running.warm_up()
