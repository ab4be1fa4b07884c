"""Reports that are due are made by a worker, and their mail is sent by the outbox."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from hadash.reports import schedules
from tasks.single import single


@shared_task(name="reports.look", ignore_result=True)
def look() -> None:
    """Announce what is due, and make what waits."""
    with single("reports look") as won:
        if won:
            now = timezone.now()
            schedules.announce_due(now)
            schedules.make_waiting(now)
