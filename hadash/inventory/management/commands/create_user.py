"""``hadash-manage create_user PAIR APPID``: creates a Kafka user with the same SCRAM password on both clusters."""

from __future__ import annotations

import getpass
import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.inventory.models import Pair
from hadash.inventory.services import NotRegistered
from hadash.inventory.users import MECHANISMS, create_user
from hadash.kafka.errors import KafkaError

#: Random bytes of a generated password.
SECRET_BYTES = 24

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage create_user"


class Command(BaseCommand):
    help = (
        "Create a Kafka user (an AppID) with one SCRAM password on both clusters of a pair; asks for it, "
        "or makes one up."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pair")
        parser.add_argument("appid")
        parser.add_argument(
            "--cluster", default="both", help="the only one of the pair, or both (the default)"
        )
        parser.add_argument(
            "--mechanism",
            action="append",
            choices=MECHANISMS,
            help="again for more; SCRAM-SHA-512 without it",
        )
        parser.add_argument(
            "--generate", action="store_true", help="make a password up, and print it once on standard output"
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="also where the user has a password: clients that use the old one cannot connect again with it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        pair = Pair.objects.select_related("first", "second").filter(name=options["pair"]).first()
        if pair is None:
            known = ", ".join(Pair.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no pair {options['pair']}. Registered are: {known}.")
        clusters = [c for c in pair.clusters if options["cluster"] in ("both", c.name)]
        if not clusters:
            names = " and ".join(c.name for c in pair.clusters)
            raise CommandError(f"Pair {pair} has no cluster {options['cluster']}: there are {names}.")
        appid, made_up = options["appid"], options["generate"]
        try:
            secret = create_user(
                pair,
                appid,
                clusters,
                options["mechanism"] or ["SCRAM-SHA-512"],
                (lambda: secrets.token_urlsafe(SECRET_BYTES)) if made_up else (lambda: self._ask(appid)),
                replace=options["replace"],
                by=BY,
            )
        except (NotRegistered, KafkaError) as error:
            raise CommandError(str(error)) from None
        where = " and ".join(c.name for c in clusters)
        self.stderr.write(f"{appid} can sign in to {where}. Its rights (ACLs) are a matter of their own.")
        if made_up:
            self.stdout.write(secret)

    @staticmethod
    def _ask(appid: str) -> str:
        password = getpass.getpass(f"Password for {appid}: ")
        if not password:
            raise CommandError("A password is needed. Nothing was changed.")
        if password != getpass.getpass("The same again: "):
            raise CommandError("The two passwords differ. Nothing was changed.")
        return password
