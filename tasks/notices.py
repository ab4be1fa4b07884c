"""Notices: what has happened is found, given to those who want it, and put into messages by a worker of the
queue ``outbox``.
"""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from hadash.notices import gathering, routing, watching
from tasks.single import single


@shared_task(name="notices.watch", ignore_result=True)
def watch() -> None:
    """Look for what nobody writes down when it happens."""
    with single("notices watch") as won:
        if won:
            watching.look(timezone.now())


@shared_task(name="notices.tell", ignore_result=True)
def tell() -> None:
    """Tell what has happened to those whose time has come."""
    with single("notices tell") as won:
        if won:
            now = timezone.now()
            routing.route_new(now)
            gathering.tell_due(now)
