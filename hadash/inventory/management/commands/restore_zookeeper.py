"""``hadash-manage restore_zookeeper FILE``: restores a backup into ZooKeeper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from kazoo.exceptions import KazooException

from hadash.audit.models import record
from hadash.bindings.errors import BindingError
from hadash.bindings.saving import NotSaved, Saved, read_installation, restore
from hadash.coordinator.restoring import pools_of, stopped
from hadash.inventory import workers
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import mark, note_epoch, seen_epoch

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage restore_zookeeper"

#: What pages say of a restored pool.
WHY_STOPPED = "Restored from a backup. Look at where it reads before its members read again."


class Command(BaseCommand):
    help = (
        "Write what backup_zookeeper has saved into ZooKeeper. Gateways that run take it at once: "
        "compare_bindings says first what will differ "
        "from what switches have left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="remove what is there and differs")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            saved = Saved.from_json(options["file"].read_text())
            if saved.installation and saved.installation != mark():
                raise NotSaved(
                    "The backup is of another installation than this database. Restore PostgreSQL first; "
                    "if it was made again, "
                    "hadash-manage secure_zookeeper --adopt takes the chroot over afterwards."
                )
            _check_nobody_works()
            client = zookeeper()
            held = read_installation(client)
            if held not in ("", mark()):
                raise NotSaved(
                    f"{client.chroot} of ZooKeeper is another installation's. Is HADASH_ZOOKEEPER_CHROOT the right one?"
                )
            saved = replace(saved, nodes=stopped(saved.nodes, BY, WHY_STOPPED))
            epoch = restore(client, saved, replace=options["replace"], seen=seen_epoch())
            note_epoch(client)
        except (BindingError, NotSaved, OSError, UnicodeDecodeError, KazooException) as error:
            raise CommandError(str(error) or repr(error)) from None
        where = f"ZooKeeper {client.chroot}"
        record(
            None,
            "zookeeper restored",
            where,
            by=BY,
            file=str(options["file"]),
            saved_epoch=saved.epoch,
            epoch=epoch,
        )
        self.stdout.write(
            f"{saved.documents} AppIDs are bound as at epoch {saved.epoch}; it is epoch {epoch} now. Run "
            f"hadash-manage compare_bindings."
        )
        if pools := pools_of(saved.nodes):
            self.stdout.write(
                f"{pools} consumer pools are stopped: look at where each reads, and let its members read again "
                "(page Consumer pools)."
            )


def _check_nobody_works() -> None:
    """Check that no worker runs: it would continue a switch with data that it read before the restore.

    :raises NotSaved: one does.
    """
    now = timezone.now()
    there = [worker for worker in workers.known() if workers.is_there(worker, now)]
    if there:
        last = min((now - worker.seen_at).total_seconds() for worker in there)
        raise NotSaved(
            f"Workers are running: {', '.join(worker.name for worker in there)} (seen {last:.0f} s ago). "
            f"Stop web, workers and beat first, and coordinators and auditors with them. "
            f"One that was killed counts as gone after {settings.WORKER_SILENT_SECONDS:g} s."
        )
