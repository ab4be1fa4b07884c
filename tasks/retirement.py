"""Tasks that retire the old Topics of migrations: those that are due, and those whose worker was lost."""

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
    """Begin the retirements that are due, and continue interrupted ones."""
    services.begin_due(start_removal)
    for orphan in services.orphans():
        # (``before`` is the first fact that a worker stores.)
        count(Work.RETIREMENT, Way.SILENT if "before" in orphan.facts else Way.NEVER_TAKEN)
        start_removal(orphan)
