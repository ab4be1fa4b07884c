"""Tasks of notices: a worker of the queue ``outbox`` finds events, routes notices to recipients, and queues
messages.
"""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from hadash.notices import gathering, routing, watching
from tasks.single import single


@shared_task(name="notices.watch", ignore_result=True)
def watch() -> None:
    """Look for events that only looks can find."""
    with single("notices watch") as won:
        if won:
            watching.look(timezone.now())


@shared_task(name="notices.tell", ignore_result=True)
def tell() -> None:
    """Route new notices, and queue the messages that are due."""
    with single("notices tell") as won:
        if won:
            now = timezone.now()
            routing.route_new(now)
            gathering.tell_due(now)
