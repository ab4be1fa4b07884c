"""``hadash-manage encrypt_again``: encrypts all secrets in the database with the current ``HADASH_SECRET_KEY``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hadash.audit.models import record
from hadash.inventory.secrets import encrypt_again

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage encrypt_again"


class Command(BaseCommand):
    help = (
        "After HADASH_SECRET_KEY was changed, with the old one in HADASH_SECRET_KEY_FALLBACKS: encrypt what the old "
        "one has encrypted with the new one."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = encrypt_again()
        if done.changed:
            record(None, "secrets encrypted again", "the database", by=BY, secrets=done.changed)
        self.stdout.write(
            f"{done.changed} secrets are encrypted with the new key now; {done.already} were already."
        )
        if done.lost:
            raise CommandError(
                f"{len(done.lost)} cannot be read with any of the keys: {', '.join(done.lost)}. Add the "
                f"key that they were encrypted with to "
                "HADASH_SECRET_KEY_FALLBACKS and run this again, or set them again (register_pair; the channel's page)."
            )
