"""``python -m hadash.lake``: lists the lake's content, imports reports of other sources, removes old days."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from hadash.lake import quarantine
from hadash.lake.access import days, hours
from hadash.lake.batches import look_at
from hadash.lake.importers import csv_file, survive_user
from hadash.lake.importers.imported import Imported, ImportRefused, put_imported
from hadash.lake.retention import expire
from hadash.lake.store import LakeError, Store


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Return 0 for success, 1 when a file was refused, 2 when an argument cannot be used."""
    told = _parser().parse_args(arguments)
    try:
        store = Store(told.lake)
        match told.command:
            case "import":
                return _import(store, told)
            case "expire":
                gone = expire(store, datetime.now(UTC).date(), told.days)
                print(f"Removed {len(gone)} days" + (f": {', '.join(gone)}." if gone else "."))
            case _:
                _status(store)
    except LakeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: The lake {told.lake} cannot be used: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hadash.lake", description=__doc__)
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="days, batches, what was put aside")
    removing = commands.add_parser("expire", help="remove old days; the newest stays")
    removing.add_argument("--days", type=_days, required=True, help="how many are kept, today among them")
    importing = commands.add_parser(
        "import", help="read reports of others; the same file again changes nothing"
    )
    importing.add_argument("--format", required=True, choices=("csv", "survive-user"))
    importing.add_argument("--pair", default="", help="of survive-user: the pair of the cluster")
    importing.add_argument("--cluster", default="", help="of survive-user: the cluster that has reported")
    importing.add_argument("--broker", default="", help="of survive-user: the broker that has reported")
    importing.add_argument("files", nargs="+", type=Path)
    return parser


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _import(store: Store, told: argparse.Namespace) -> int:
    if told.format == "survive-user" and not (told.pair and told.cluster and told.broker):
        print(
            "error: survive-user needs --pair, --cluster and --broker: the body does not say them.",
            file=sys.stderr,
        )
        return 2
    refused = 0
    for path in told.files:
        try:
            content = path.read_bytes()
            found = _parse(content, path, told)
        except (ImportRefused, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            refused += 1
            continue
        put_imported(store, told.format, content, found)
        aside = f", {len(found.unreadable)} put aside" if found.unreadable else ""
        print(f"{path}: {len(found.rows)} reports{aside}")
    return 1 if refused else 0


def _parse(content: bytes, path: Path, told: argparse.Namespace) -> Imported:
    if told.format == "csv":
        return csv_file.parse(content, path.name)
    return survive_user.parse(content, told.pair, told.cluster, told.broker)


def _status(store: Store) -> None:
    for day in days(store):
        found = look_at(store, hours(store, [day]))
        more = [f"{len(found.again)} came twice"] if found.again else []
        more += [f"{len(found.broken)} cannot be read"] if found.broken else []
        told = f" ({', '.join(more)})" if more else ""
        print(f"{day}: {len(found.batches)} batches in {len(found.files)} files, {found.rows} reports{told}")
    for file in quarantine.files(store):
        print(f"put aside: {file.name} ({file.size} bytes): {file.reason}")
    for name in quarantine.lines(store):
        lines = store.read_json(name)
        print(
            f"put aside: {len(lines)} parts of {Path(name).stem}, such as {json.dumps(lines[0], ensure_ascii=False)}"
        )
    rows = len(store.folders(quarantine.ROWS))
    if rows:
        print(f"put aside: reports of {rows} days that make no sense, in {quarantine.ROWS}")


if __name__ == "__main__":
    sys.exit(main())
