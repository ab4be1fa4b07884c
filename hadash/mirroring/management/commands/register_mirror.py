"""``hadash-manage register_mirror PAIR NAME TOPIC... --source CLUSTER``: mirrors Topics that switch together."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.mirroring.creating import create_mirror
from hadash.mirroring.services import MirrorError


class Command(BaseCommand):
    help = "Mirror Topics that switch together from one cluster of a pair to the other."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pair")
        parser.add_argument("name")
        parser.add_argument("topics", nargs="+")
        parser.add_argument("--source", required=True, help="the cluster that is written to now")

    def handle(self, *args: Any, **options: Any) -> None:
        pair = Pair.objects.filter(name=options["pair"]).first()
        if pair is None:
            raise CommandError(f"There is no pair {options['pair']!r}. Register it with register_pair.")
        source = next((c for c in pair.clusters if c.name == options["source"]), None)
        if source is None:
            raise CommandError(f"{options['source']!r} is not a cluster of pair {pair.name}.")
        try:
            mirror = create_mirror(pair, options["name"], options["topics"], source)
        except (MirrorError, KafkaError, ConnectError) as error:
            raise CommandError(str(error)) from None
        record(
            None,
            "mirror registered",
            f"mirror {mirror.name} of pair {pair.name}",
            by="hadash-manage register_mirror",
            source=source.name,
            topics=mirror.topics,
        )
        self.stdout.write(f"Mirror {mirror.name} copies {', '.join(mirror.topics)} from {source.name}.")
