"""``hadash-manage``: Django's command line."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
