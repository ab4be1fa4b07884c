"""``hadash-manage set_aside_mail``: prevents sending mail twice after PostgreSQL was restored. Runs before
workers start.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.inventory import workers
from hadash.notices import routing
from hadash.outbox import services as outbox
from hadash.reports import issues


class Command(BaseCommand):
    help = (
        "After a restore: send nothing that may have been sent after the dump was made. A person sends again what is "
        "missing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        there = [each.name for each in workers.known() if workers.is_there(each, now)]
        if there:
            raise CommandError(f"Workers are running: {', '.join(there)}. Stop them first: they send it.")
        with transaction.atomic():
            messages, reports, notices = (
                outbox.set_aside(now),
                issues.set_aside(now),
                routing.set_aside(now),
            )
            record(None, "mail set aside", "restore", messages=messages, reports=reports, notices=notices)
        self.stdout.write(
            f"{messages} messages are not known to have been sent (What was sent), {reports} reports are left out, "
            f"{notices} notices are told to nobody."
        )
