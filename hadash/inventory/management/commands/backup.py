"""``hadash-manage backup FOLDER``: saves ZooKeeper and PostgreSQL as two files that belong together."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

#: The beginnings of the names of a backup's files, before its time (UTC).
ZOOKEEPER, POSTGRESQL = "zookeeper-", "postgresql-"
MOMENT = "%Y-%m-%dT%H%M%SZ"

#: Django's names of connection settings → libpq's environment variables. (A command line could be read by every
#: user of the machine.)
_TOLD = {
    "HOST": "PGHOST",
    "PORT": "PGPORT",
    "NAME": "PGDATABASE",
    "USER": "PGUSER",
    "PASSWORD": "PGPASSWORD",
}
_TOLD_BY_OPTIONS = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "hostaddr": "PGHOSTADDR",
}


class Command(BaseCommand):
    help = "Save ZooKeeper, then PostgreSQL, into a folder, while everything runs. Whole files or none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="made when it is not there; nobody else may read it")
        parser.add_argument(
            "--pg-dump", default="pg_dump", help="the program, of the server's version or newer"
        )
        parser.add_argument("--keep-days", type=float, help="remove backups of this folder that are older")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        now = datetime.now(UTC)
        stamp = now.strftime(MOMENT)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"{folder} cannot be made: {error.strerror}.") from None
        # ZooKeeper first: PostgreSQL then knows everything that this backup of ZooKeeper has.
        call_command("backup_zookeeper", folder / f"{ZOOKEEPER}{stamp}.json", stdout=self.stdout)
        target = folder / f"{POSTGRESQL}{stamp}.dump"
        dump(options["pg_dump"], settings.DATABASES["default"], target)
        self.stdout.write(f"PostgreSQL is in {target}.")
        if options["keep_days"] is not None:
            gone = remove_older(folder, now - timedelta(days=options["keep_days"]))
            self.stdout.write(f"{gone} files of older backups were removed.")


def dump(program: str, database: Mapping[str, Any], target: Path) -> None:
    """Write a dump of the database to ``target``.

    :raises CommandError: there is no such program, or it has failed; ``target`` does not exist then.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        done = subprocess.run(
            [program, "--format=custom", "--no-password", f"--file={part}"],
            env={**os.environ, **libpq(database)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandError(f"{program} has failed: {done.stderr.strip()}")
        part.replace(target)
    except OSError as error:
        raise CommandError(
            f"{program} cannot be run: {error.strerror}. Install PostgreSQL's client programs, or name it "
            f"with --pg-dump."
        ) from None
    finally:
        part.unlink(missing_ok=True)


def libpq(database: Mapping[str, Any]) -> dict[str, str]:
    """Return Django's connection settings as environment variables for PostgreSQL's own programs.

    >>> libpq({"HOST": "db1", "NAME": "hadash", "USER": "", "OPTIONS": {"sslmode": "verify-full"}})
    {'PGHOST': 'db1', 'PGDATABASE': 'hadash', 'PGSSLMODE': 'verify-full'}
    """
    options = database.get("OPTIONS") or {}
    said = {variable: database.get(name) for name, variable in _TOLD.items()}
    said |= {variable: options.get(name) for name, variable in _TOLD_BY_OPTIONS.items()}
    return {variable: str(value) for variable, value in said.items() if value}


def remove_older(folder: Path, before: datetime) -> int:
    """Delete files of backups made before a time, by their names; return how many. Other files are not touched."""
    gone = 0
    for prefix, suffix in ((ZOOKEEPER, ".json"), (POSTGRESQL, ".dump")):
        for path in folder.glob(f"{prefix}*{suffix}"):
            try:
                made = datetime.strptime(path.name, f"{prefix}{MOMENT}{suffix}").replace(tzinfo=UTC)
            except ValueError:
                continue
            if made < before:
                path.unlink()
                gone += 1
    return gone
