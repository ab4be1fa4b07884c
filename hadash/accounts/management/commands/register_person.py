"""``hadash-manage register_person USERNAME ROLE``: register a person with one role; it asks for the password."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from hadash.accounts import passwords
from hadash.accounts.models import ExternalIdentity
from hadash.accounts.roles import ROLES, ensure_roles, ensure_user
from hadash.audit.models import record
from hadash.inventory.models import Pair


class Command(BaseCommand):
    help = "Create a person with a role, or give an existing one another role."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("role", choices=sorted(ROLES))
        parser.add_argument("--name", default="", help="full name")
        parser.add_argument(
            "--pair", default="", help="the pair on which the role holds; all pairs without it"
        )

        parser.add_argument(
            "--own-password",
            action="store_true",
            help="the person has typed the password: it need not be changed at the first sign-in",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        username, password = options["username"], ""
        identity = ExternalIdentity.objects.filter(user__username=username).first()
        if identity is not None:
            raise CommandError(
                f"{username} signs in through {identity.issuer}: the roles come from the groups there."
            )
        pair = self._pair(options["pair"])
        new = not User.objects.filter(username=username).exists()
        if new:
            password = self._ask(username)
        ensure_roles()
        with transaction.atomic():
            user = ensure_user(username, password, options["role"], options["name"], pair)
            if new and not options["own_password"]:
                passwords.note_temporary(user)
            record(
                None,
                "person registered",
                f"person {username}",
                by="hadash-manage register_person",
                role=options["role"],
                pair=options["pair"] or None,
                name=options["name"],
            )
        where = f" of pair {pair}" if pair is not None else ""
        self.stdout.write(f"{user.get_username()} is {options['role']}{where}.")

    @staticmethod
    def _pair(name: str) -> Pair | None:
        if not name:
            return None
        found = Pair.objects.filter(name=name).first()
        if found is None:
            known = ", ".join(Pair.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no pair {name}. Registered are: {known}.")
        return found

    @staticmethod
    def _ask(username: str) -> str:
        password = getpass.getpass(f"Password for {username}: ")
        if password != getpass.getpass("The same again: "):
            raise CommandError("The two passwords differ. Nothing was changed.")
        try:
            validate_password(password)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        return password
