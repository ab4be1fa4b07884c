"""``hadash-manage backup_zookeeper FILE``: saves hadash's data in ZooKeeper to one file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from kazoo.exceptions import KazooException

from hadash.bindings.errors import BindingError
from hadash.bindings.saving import NotSaved, save
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed


class Command(BaseCommand):
    help = (
        "Save bindings, journals, clusters, pairs and consumer pools from ZooKeeper to a file (JSON). It holds no "
        "secrets."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="replaced when all was read")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            saved = save(claimed(zookeeper()))
            _write(options["file"], saved.to_json())
        except (BindingError, NotSaved, OSError, KazooException) as error:
            raise CommandError(str(error) or repr(error)) from None
        self.stdout.write(
            f"{saved.documents} AppIDs with bindings as of epoch {saved.epoch} are in {options['file']}."
        )


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
