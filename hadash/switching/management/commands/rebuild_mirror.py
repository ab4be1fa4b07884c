"""``hadash-manage rebuild_mirror PAIR MIRROR --confirm CLUSTER``: delete a mirror's standby Topics, and copy
them again.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.kafka.errors import ConnectError, KafkaError
from hadash.mirroring.models import Mirror
from hadash.mirroring.rebuild import NotCopies
from hadash.mirroring.services import MirrorError
from hadash.refusals import Refused
from hadash.switching.recovery.rebuilding import rebuild_standby


class Command(BaseCommand):
    help = (
        "Delete the Topics of a mirror on its standby cluster, create them again and copy them from the first "
        "record on. May be repeated after it was cut off."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pair")
        parser.add_argument("mirror")
        parser.add_argument("--confirm", required=True, help="the cluster whose Topics are deleted")
        parser.add_argument(
            "--discard-originals",
            action="store_true",
            help="delete them also if they hold records that may be no copies",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = Mirror.objects.filter(pair__name=options["pair"], name=options["mirror"])
        mirror = found.select_related("source", "pair__first", "pair__second", "pair__default").first()
        if mirror is None:
            raise CommandError(f"Pair {options['pair']!r} has no mirror {options['mirror']!r}.")
        try:
            rebuild_standby(
                mirror, options["confirm"], "hadash-manage rebuild_mirror", options["discard_originals"]
            )
        except Refused as refused:
            raise CommandError(" ".join(map(str, refused.reasons))) from None
        except NotCopies as error:
            raise CommandError(f"{error} To delete them all the same add --discard-originals.") from None
        except (MirrorError, KafkaError, ConnectError) as error:
            raise CommandError(f"{error} Run the command again when that is over.") from None
        self.stdout.write(
            f"{mirror.target.name} is rebuilt: mirror {mirror.name} copies from the first record on."
        )
