"""``hadash-manage create_token PERSON --name WHAT_FOR``: issue an API token, and print it once."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.accounts import tokens
from hadash.accounts.roles import SCOPES
from hadash.inventory.models import Pair

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage create_token"


class Command(BaseCommand):
    help = "Issue an API token to a person. It is printed once, alone on standard output, and cannot be read again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", help="the user name")
        parser.add_argument("--name", required=True, help="what it is for")
        parser.add_argument(
            "--days", type=int, default=settings.TOKEN_DAYS, help="until it expires (default: %(default)s)"
        )
        parser.add_argument(
            "--scope",
            action="append",
            choices=sorted(SCOPES),
            help="what it may do of what the person may, besides reading; again for more; without it all",
        )
        parser.add_argument("--pair", default="", help="the only pair that it is for; all pairs without it")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["person"]).first()
        if user is None:
            raise CommandError(
                f"There is no person {options['person']}. Register one with hadash-manage register_person."
            )
        if not user.is_active:
            raise CommandError(
                f"{user.get_username()} may not sign in, and a token would not be let in either."
            )
        pair = Pair.objects.filter(name=options["pair"]).first()
        if options["pair"] and pair is None:
            raise CommandError(f"There is no pair {options['pair']}.")
        try:
            token, secret = tokens.issue(
                user, options["name"], options["scope"] or SCOPES, options["days"], pair, by=BY
            )
        except tokens.TokenRefused as refused:
            raise CommandError(str(refused.sentence)) from None
        self.stderr.write(
            f"Token {token.name} of {user.get_username()}, until {token.expires_at:%Y-%m-%d}, "
            f"for {', '.join(token.scopes)}. Set HADASH_TOKEN to it:"
        )
        self.stdout.write(secret)
