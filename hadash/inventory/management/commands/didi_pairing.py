"""``hadash-manage didi_pairing PAIR``: makes the clusters of a pair known to each other and to DiDi's Gateway,
or undoes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from hadash.audit.models import record
from hadash.bindings.didi.pairing import Access, pair_up, unpair
from hadash.bindings.errors import BindingError
from hadash.inventory.dialects import fleet_of
from hadash.inventory.models import Cluster, Pair


def access_of(cluster: Cluster, stores_in_place: bool) -> Access:
    """Return the access to a cluster with the mirror's account. Its password is decrypted only here."""
    return Access(
        cluster.bootstrap_servers,
        cluster.security_protocol,
        cluster.sasl_mechanism,
        cluster.mirror_username,
        cluster.mirror_password,
        private_tls=bool(cluster.tls_ca or cluster.tls_certificate) and not stores_in_place,
    )


class Command(BaseCommand):
    help = "Write (or with --remove take away) what DiDi's engines know of a pair; see docs/dialects.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pair")
        parser.add_argument("--remove", action="store_true")
        parser.add_argument(
            "--stores-in-place",
            action="store_true",
            help="For clusters with a private authority: the key stores lie on every engine, and you write ssl.* "
            "into the nodes.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        pair = Pair.objects.filter(name=options["pair"]).first()
        if pair is None:
            raise CommandError(f"There is no pair {options['pair']!r}. Register it with register_pair.")

        def nobody_else(names: Sequence[str]) -> None:
            """Do nothing: a user at a shell is not fenced."""

        try:
            # The entry comes first: a change that cannot be recorded is not made.
            with transaction.atomic():
                record(None, "unpair" if options["remove"] else "pair", f"Pair {pair} of DiDi's engine")
                if options["remove"]:
                    unpair(fleet_of(pair), nobody_else)
                else:
                    access = {c.name: access_of(c, options["stores_in_place"]) for c in pair.clusters}
                    pair_up(fleet_of(pair), access, nobody_else)
        except BindingError as error:
            raise CommandError(str(error)) from None
        done = "not paired any more" if options["remove"] else "paired"
        self.stdout.write(f"{pair.first} and {pair.second} are {done} for DiDi's engines.")
