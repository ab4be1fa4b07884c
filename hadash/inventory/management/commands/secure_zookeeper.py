"""``hadash-manage secure_zookeeper``: restricts hadash's nodes in ZooKeeper to its own user."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.audit.models import record
from hadash.bindings.access import Access
from hadash.bindings.client import connect, reaching
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.securing import secure
from hadash.inventory.installation import adopt, claimed

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage secure_zookeeper"

#: Paths that could not be changed and are listed, at most; of further ones only the number is given.
NAMED = 20


class Command(BaseCommand):
    help = "Give every node below hadash's chroot to HADASH_ZOOKEEPER_USER alone. May be repeated."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="the chroot bears the mark of another installation, which is no more: it is this one's from now on",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            access = Access.from_environment()
            if access.acl is None and not options["adopt"]:
                raise CommandError(
                    "Set HADASH_ZOOKEEPER_USER and HADASH_ZOOKEEPER_PASSWORD (or _PASSWORD_FILE) first, for "
                    "every process of hadash. "
                    "docs/own-clusters.md says in which order."
                )
            client = connect(settings.ZOOKEEPER_HOSTS, bounded=True, access=access)
        except (ValueError, StoreUnavailable) as error:
            raise CommandError(str(error)) from None
        try:
            if options["adopt"] and adopt(client):
                record(None, "chroot adopted", f"ZooKeeper {client.chroot}", by=BY)
                self.stdout.write(f"{client.chroot} is this installation's now.")
            claimed(client)
            if access.acl is not None:
                self._secure(client, access)
        except StoreUnavailable as error:
            raise CommandError(str(error)) from None
        finally:
            client.stop()
            client.close()

    def _secure(self, client: Any, access: Access) -> None:
        assert access.acl is not None
        with reaching():
            found = secure(client, access.acl)
        if found.changed:
            record(
                None,
                "chroot secured",
                f"ZooKeeper {client.chroot}",
                by=BY,
                user=access.user,
                nodes=found.changed,
            )
        self.stdout.write(
            f"{found.changed} nodes below {client.chroot} are {access.user}'s alone now; {found.already} were already."
        )
        if found.refused:
            named = ", ".join(found.refused[:NAMED])
            more = f" and {len(found.refused) - NAMED} more" if len(found.refused) > NAMED else ""
            raise CommandError(
                f"{len(found.refused)} nodes are another user's and stay so: {named}{more}. Delete them, or "
                f"change them as that user or "
                "as ZooKeeper's super user; then run this again."
            )
