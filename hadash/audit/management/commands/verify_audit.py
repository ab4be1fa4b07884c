"""``manage.py verify_audit``: whether the audit log is whole."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from hadash.audit.anchors import Anchor, first_broken
from hadash.audit.anchors import anchors as all_anchors
from hadash.audit.chain import verify
from hadash.audit.models import exported
from hadash.lake.store import LakeError, Store


class Command(BaseCommand):
    help = "Check that no entry of the audit log was changed, removed or put in. Exit code 1 if one was."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--expect",
            default="",
            metavar="DIGEST",
            help="a digest that was noted earlier (the audit page shows the newest): its entry must still be there",
        )
        parser.add_argument(
            "--file", type=Path, help="check an export (JSON Lines, from the first entry on) instead"
        )

        parser.add_argument(
            "--anchors",
            default=settings.AUDIT_ANCHORS,
            metavar="PLACE",
            help="where signed digests are kept (the default is HADASH_AUDIT_ANCHORS): each must fit its entry",
        )

    def handle(self, *args: Any, expect: str, file: Path | None, anchors: str, **options: Any) -> None:
        verdict = verify(exported() if file is None else _lines(file), expect)
        if verdict.fault:
            raise CommandError(f"{verdict.fault} The {verdict.entries} entries before it are whole.")
        self.stdout.write(f"{verdict.entries} entries, all whole. The last digest is {verdict.last}.")
        if anchors:
            kept = _anchors(anchors)
            broken = first_broken(kept, exported() if file is None else _lines(file))
            if broken is not None:
                raise CommandError(
                    f"Entry {broken.number} is not the one that was there at {broken.at}: the log was written again from "
                    f"there or from before, or it was shortened. The anchor is {anchors}/{broken.name}."
                )
            self.stdout.write(f"{len(kept)} anchors in {anchors}, all fit.")


def _anchors(place: str) -> list[Anchor]:
    try:
        return list(all_anchors(Store(place)))
    except (LakeError, OSError, ValueError) as error:
        raise CommandError(f"The anchors cannot be read: {error}") from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = json.loads(line)
                except ValueError:
                    entry = None
                if not isinstance(entry, dict):
                    raise CommandError(f"Line {number} of {path} is no entry of an exported audit log.")
                yield entry
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read ({error}).") from None
