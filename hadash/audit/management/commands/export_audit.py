"""``hadash-manage export_audit``: write the audit log as JSON Lines."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from hadash.audit.models import exported


class Command(BaseCommand):
    help = (
        "Write the audit log as JSON Lines, oldest entry first; verify_audit --file checks it again anywhere."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--from", dest="first", type=int, default=1, metavar="NUMBER", help="begin with this entry"
        )

    def handle(self, *args: Any, first: int, **options: Any) -> None:
        for entry in exported(first):
            self.stdout.write(json.dumps(entry, ensure_ascii=False))
