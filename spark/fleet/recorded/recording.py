"""Makes the fixture from a lake: all its reports, one on each line, and the newest snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hadash.lake import access, snapshots
from hadash.lake.batches import look_at
from hadash.lake.store import Store
from spark.fleet.recorded.harmless import Hosts, harmless

#: The counts and times of a report; all other columns identify the fact.
_COUNTS = ("requests", "records", "bytes")
_TIMES = ("first_seen", "last_seen")

#: Facts of a fixture, at most: a few hundred kB.
MOST_FACTS = 2_000

#: Rows that are kept of long tables with similar rows.
MOST_ROWS = {"lag": 200, "users": 20}

REPORTS, SNAPSHOT, ABOUT = "reports.jsonl", "snapshot.jsonl", "about.json"


class NothingToRecord(Exception):
    """The lake has no reports, or no snapshot. The message is for users."""


def record(store: Store, out: Path, about: Mapping[str, Any], most: int = MOST_FACTS) -> dict[str, int]:
    """Write the fixture into the folder ``out``; return the numbers of its rows.

    It consists of JSON lines, so that git shows the changes of a new recording by line.

    :param about: where, when and with what it was recorded.
    :param most: the largest number of facts; only the first ones are kept.
    :raises NothingToRecord: the lake has no reports, or no snapshot.
    :raises OSError: the lake cannot be read, or the folder cannot be written.
    """
    facts = merged(_reports(store))[:most]
    newest = snapshots.newest(store)
    if not facts or newest is None:
        raise NothingToRecord(f"{store.address} has no {'snapshot' if facts else 'access reports'} yet.")
    tables = {name: [_plain(row) for row in _rows(store, newest, name)] for name in snapshots.TABLES}
    hosts = Hosts()
    for table in (facts, *tables.values()):
        hosts.learn(table)
    reports = harmless(facts, hosts)
    rows = {name: harmless(table, hosts) for name, table in tables.items()}
    out.mkdir(parents=True, exist_ok=True)
    _write(out / REPORTS, reports)
    _write(out / SNAPSHOT, ({"table": name, **row} for name, table in rows.items() for row in table))
    (out / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return {"reports": len(reports), **{name: len(table) for name, table in rows.items()}}


def _rows(store: Store, snapshot: snapshots.Snapshot, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table, of long ones only the last."""
    rows: list[dict[str, Any]] = snapshots.read(store, snapshot, name).to_pylist()
    return rows[-MOST_ROWS[name] :] if name in MOST_ROWS else rows


def _reports(store: Store) -> Iterator[dict[str, Any]]:
    for day in access.days(store):
        for file in look_at(store, access.hours(store, [day])).files:
            with store.open(file.name) as source:
                table = pq.read_table(source)
            for row in table.to_pylist():
                yield {name: row.get(name) for name in access.SCHEMA.names}


def merged(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each fact, with its counts added up, and its first and last time; in order."""
    facts: dict[str, dict[str, Any]] = {}
    for report in reports:
        key = json.dumps([v for name, v in report.items() if name not in (*_COUNTS, *_TIMES)])
        fact = facts.get(key)
        if fact is None:
            facts[key] = dict(report)
            continue
        for name in _COUNTS:
            fact[name] += report[name]
        fact["first_seen"] = min(fact["first_seen"], report["first_seen"])
        fact["last_seen"] = max(fact["last_seen"], report["last_seen"])
    return [_plain(facts[key]) for key in sorted(facts)]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values, without unknown ones."""
    return {name: _value(name, value) for name, value in row.items() if value is not None}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if name == "configs":  # (a map is a list of its entries to Arrow)
        return dict(value)
    return value


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
