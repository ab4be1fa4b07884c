"""Tasks of the outbox: a worker of the queue ``outbox`` sends the deliveries that are due."""

from __future__ import annotations

from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from hadash.notices import carrying, routing
from hadash.outbox import bounces, configured, sending, services
from hadash.reports import issues
from tasks.single import single


@shared_task(name="outbox.send", ignore_result=True)
def send() -> None:
    """Send mail that is due. Only one sender runs at a time, over all workers."""
    server = configured.mail_server()
    with single("outbox send") as won:
        if won and server is not None:
            sending.send_due(server, configured.mail_retries())
        elif won:
            services.expire(timezone.now())


@shared_task(name="outbox.post", ignore_result=True)
def post() -> None:
    """Post to webhooks and channels. Only one sender runs at a time, over all workers."""
    with single("outbox post") as won:
        if won:
            carrying.post_due(configured.post_retries())


@shared_task(name="outbox.bounces", ignore_result=True)
def note_bounces() -> None:
    """Read the mail that mail servers have returned."""
    with single("outbox bounces") as won:
        if won and settings.BOUNCES:
            bounces.read(Path(settings.BOUNCES), timezone.now())


@shared_task(name="outbox.trim", ignore_result=True)
def trim() -> None:
    """Delete old deliveries, reports and notices."""
    with single("outbox trim") as won:
        if won:
            now = timezone.now()
            services.trim(now)
            issues.trim(now)
            routing.trim(now)
