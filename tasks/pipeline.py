"""Tasks of the pipeline: any worker creates the runs that are due, and workers of the queue ``pipeline`` carry
them out.
"""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready

from hadash.governance.models.runs import Run
from hadash.pipeline import running, schedules
from hadash.pipeline.running import Outcome
from hadash.switching.handovers.handing_over import start_run
from tasks.single import single

#: The queue of the workers that run jobs (``CELERY_TASK_ROUTES``).
QUEUE = "pipeline"


@shared_task(name="pipeline.look", ignore_result=True)
def look() -> None:
    with single("pipeline look") as won:
        if won:
            schedules.look(start_run)


@shared_task(name="pipeline.run", ignore_result=True)
def run(number: int) -> None:
    """Carry out one run. A second delivery does nothing."""
    outcome = running.carry_out(number)
    if outcome in (Outcome.FAILED, Outcome.REFUSED):
        failed = Run.objects.get(pk=number)
        if outcome is Outcome.FAILED:
            schedules.try_again(failed)
        else:
            schedules.alarm(failed)
    elif outcome is Outcome.PUBLISHED:
        look()  # other jobs may have waited for its result


@worker_ready.connect
def warm_up(sender: Any, **kwargs: object) -> None:
    """Start Spark at once on workers that run jobs."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        running.warm_up()
