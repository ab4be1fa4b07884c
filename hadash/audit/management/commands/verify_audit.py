"""``hadash-manage verify_audit``: check that the audit log is whole."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from hadash.audit.anchors import Anchor, first_broken, first_missing, first_unanchored
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
            self._check_anchors(anchors, file, verdict.entries)

    def _check_anchors(self, place: str, file: Path | None, entries: int) -> None:
        """Check that each anchor fits its entry.

        :param entries: how many entries the log, or the export, has.
        :raises CommandError: an anchor is missing, or does not fit.
        """
        kept = _anchors(place)
        missing = first_missing(kept)
        if missing is not None:
            raise CommandError(f"The anchor {place}/{missing} is missing: a later one follows it.")
        # An export ends where the log ended at that time: later anchors do not apply to it.
        fitting = kept if file is None else [anchor for anchor in kept if anchor.number <= entries]
        broken = first_broken(fitting, exported() if file is None else _lines(file))
        if broken is not None:
            raise CommandError(
                f"Entry {broken.number} is not the one that was there at {broken.at}: the log was written again from "
                f"there or from before, or it was shortened. The anchor is {place}/{broken.name}."
            )
        if file is None:
            _check_end(place, kept)
        later = len(kept) - len(fitting)
        beyond = f" {later} more are of entries after the end of {file}." if later else ""
        self.stdout.write(f"{len(fitting)} anchors in {place}, all fit.{beyond}")


def _check_end(place: str, kept: list[Anchor]) -> None:
    """Check that the log's newest entries are anchored.

    :raises CommandError: the newest anchors are missing.
    """
    seconds = 2 * settings.AUDIT_ANCHOR_SECONDS  # one attempt may have failed
    last = max((anchor.number for anchor in kept), default=0)
    found = first_unanchored(kept, exported(last + 1), timezone.now() - timedelta(seconds=seconds))
    if found is not None:
        raise CommandError(
            f"Entry {found['number']} of {found['at']} is later than the newest anchor in {place} and older than "
            f"{seconds:g} s: the anchor of its end was removed, or was never kept (is beat running, and "
            f"can it write there?)."
        )


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
