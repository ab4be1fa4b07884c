"""Tasks of reports: a worker makes the reports that are due, and the outbox sends their mail."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from hadash.reports import issues
from tasks.single import single


@shared_task(name="reports.look", ignore_result=True)
def look() -> None:
    """Create the issues that are due, and make those that wait."""
    with single("reports look") as won:
        if won:
            now = timezone.now()
            issues.announce_due(now)
            issues.make_waiting(now)
