"""``hadash-manage note_bounce < MESSAGE``: for a mail server that passes returned mail to a program."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from hadash.outbox.bounces import note


class Command(BaseCommand):
    help = (
        "Note that a mail came back: reads one report of delivery (RFC 3464) from standard input. Other mail is taken "
        "and does nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        is_ours = note(sys.stdin.buffer.read(), timezone.now())
        self.stdout.write("It is noted." if is_ours else "It tells of no mail that hadash has sent.")
