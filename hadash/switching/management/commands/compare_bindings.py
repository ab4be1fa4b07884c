"""``hadash-manage compare_bindings``: compare ZooKeeper's bindings with the results of switches and manual changes."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hadash.bindings.errors import BindingError
from hadash.inventory.models import Pair
from hadash.switching.recovery.agreement import compare_pair


class Command(BaseCommand):
    help = (
        "After a restore: name every binding that is not where the last switch or change by hand has left "
        "it. Exit code 1 when there is one; "
        "2 when nobody can say."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        differ = 0
        for pair in Pair.objects.filter(first__generated=False).select_related("first", "second", "default"):
            try:
                found = compare_pair(pair)
            except BindingError as error:
                raise CommandError(f"Pair {pair.name}: {error}", returncode=2) from None
            for each in found:
                self.stdout.write(f"{pair.name}: {each}")
            differ += len(found)
        if differ:
            self.stdout.write(
                f"{differ} bindings differ. Where a client's records are now says which is right: look at "
                f"each before anybody writes "
                "through a Gateway, and put it right under “Bindings” (docs/production.md)."
            )
            sys.exit(1)
        self.stdout.write("Every binding is where the last switch or change has left it.")
