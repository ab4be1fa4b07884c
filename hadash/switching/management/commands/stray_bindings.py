"""``hadash-manage stray_bindings``: list bindings of switches that PostgreSQL does not run; release their clients."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.bindings.errors import BindingError
from hadash.refusals import Refused
from hadash.switching.recovery import strays


class Command(BaseCommand):
    help = (
        "List clients that wait for a switch that nobody runs; with --return let them go on where they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--return", dest="switch", metavar="SWITCH", help="the switch's key")
        parser.add_argument("--confirm", metavar="CLUSTER", default="", help="the cluster that they wait on")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["switch"]:
                epoch = strays.give_back(options["switch"], options["confirm"])
                self.stdout.write(
                    f"They go on on {options['confirm']} (epoch {epoch}). If a mirror of theirs is paused "
                    f"now, resume its "
                    "connector; a standby that was opened is closed by the next switch there."
                )
                return
            found = strays.find()
        except (BindingError, Refused) as error:
            raise CommandError(str(error)) from None
        for stray in found:
            self.stdout.write(str(stray.sentence))
        self.stdout.write(f"{len(found)} stray bindings.")
