"""Retirements of migrations: those whose day has come, and those whose worker was lost."""

from __future__ import annotations

from celery import shared_task

from hadash.switching.handovers.counting import count
from hadash.switching.handovers.handing_over import start_removal
from hadash.switching.models.handovers import Way, Work
from hadash.switching.retirement import removing, services


@shared_task(name="retirement.remove", ignore_result=True)
def remove(pk: int, token: int) -> None:
    """Remove the old Topics of one migration."""
    removing.remove(pk, token)


@shared_task(name="retirement.look", ignore_result=True)
def look() -> None:
    """Begin what is due, and go on with what was cut off."""
    services.begin_due(start_removal)
    for orphan in services.orphans():
        # (What was there before is the first thing that a worker writes down.)
        count(Work.RETIREMENT, Way.SILENT if "before" in orphan.facts else Way.NEVER_TAKEN)
        start_removal(orphan)
