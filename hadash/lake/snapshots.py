"""Snapshots: how clusters, and what hadash knows of them, were at one moment.

One snapshot is a folder, ``snapshots/date=2026-11-21/time=170500000/`` (UTC, to the millisecond), with one
Parquet file for each table of
:data:`TABLES`. ``snapshot.json`` is written last and says that all of them are there: until then nobody reads
    any of it.

Of a cluster that did not answer there is a row in ``clusters`` with its ``fault``, and no row in any other table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.lake.store import Store

#: Goes up when a table or a column is added. They are only added, never changed or removed.
SCHEMA_VERSION = 2

FOLDER = "snapshots"
_SAYS_WHOLE = "snapshot.json"

_TEXT, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.bool_()
_TEXTS, _NUMBERS = pa.list_(pa.string()), pa.list_(pa.int32())
_TIME = pa.timestamp("ms", tz="UTC")
_CONFIGS = pa.map_(pa.string(), pa.string())

TABLES: Mapping[str, pa.Schema] = {
    # ``mode``: zookeeper or kraft. ``version``: of the engine, as far as it tells. ``fault``: why it did not answer.
    # ``authorizer``: false where it has none, so that everybody may do everything, whatever it says of ACLs.
    "clusters": pa.schema(
        {
            "cluster": _TEXT,
            "kafka_cluster_id": _TEXT,
            "mode": _TEXT,
            "version": _TEXT,
            "controller": _NUMBER,
            "controller_epoch": _NUMBER,
            "fault": _TEXT,
            "authorizer": _FLAG,
        }
    ),
    "brokers": pa.schema(
        {
            "cluster": _TEXT,
            "broker": _NUMBER,
            "host": _TEXT,
            "port": _NUMBER,
            "rack": _TEXT,
            "configs": _CONFIGS,
        }
    ),
    # ``configs``: those that were set on the Topic itself. Kafka's internal Topics are there, too.
    "topics": pa.schema({"cluster": _TEXT, "topic": _TEXT, "configs": _CONFIGS}),
    # ``leader``: -1 when there is none.
    "partitions": pa.schema(
        {
            "cluster": _TEXT,
            "topic": _TEXT,
            "partition": _NUMBER,
            "leader": _NUMBER,
            "replicas": _NUMBERS,
            "in_sync": _NUMBERS,
        }
    ),
    # ``by_hadash``: made by hadash to keep clients off a standby Topic.
    "acls": pa.schema(
        {
            "cluster": _TEXT,
            "resource_type": _TEXT,
            "resource": _TEXT,
            "pattern": _TEXT,
            "principal": _TEXT,
            "host": _TEXT,
            "operation": _TEXT,
            "permission": _TEXT,
            "by_hadash": _FLAG,
        }
    ),
    # Those with SCRAM credentials: others cannot be listed.
    "users": pa.schema({"cluster": _TEXT, "user": _TEXT, "mechanisms": _TEXTS}),
    # ``protocol``: the assignor that its members have agreed on.
    "groups": pa.schema(
        {"cluster": _TEXT, "group": _TEXT, "state": _TEXT, "protocol": _TEXT, "coordinator": _NUMBER}
    ),
    # ``partitions``: those that it was assigned, as topic-partition. ``topics``: those that it subscribes to
    # (of a pattern: those that it matched when the member joined); null where that is not known.
    "members": pa.schema(
        {
            "cluster": _TEXT,
            "group": _TEXT,
            "member_id": _TEXT,
            "client_id": _TEXT,
            "host": _TEXT,
            "partitions": _TEXTS,
            # since 2
            "topics": _TEXTS,
        }
    ),
    # hadash's own on the clusters, and those of its mirrors: they move nowhere, and nothing is wrong with them.
    "own_users": pa.schema({"cluster": _TEXT, "user": _TEXT}),
    # -- what hadash knows -----------------------------------------------------------------------------------------
    # ``rpo_seconds``: how late a mirror may be. ``quiesce_seconds``: for which a switch waits for consumers.
    "pairs": pa.schema(
        {
            "pair": _TEXT,
            "first": _TEXT,
            "second": _TEXT,
            "default": _TEXT,
            "dialect": _TEXT,
            "rpo_seconds": pa.float64(),
            "quiesce_seconds": pa.float64(),
        }
    ),
    "appids": pa.schema({"pair": _TEXT, "appid": _TEXT, "owner": _TEXT, "critical": pa.bool_()}),
    "instances": pa.schema({"pair": _TEXT, "appid": _TEXT, "name": _TEXT}),
    # ``name``: the InstanceID, or empty for the AppID as a whole.
    "declarations": pa.schema(
        {"pair": _TEXT, "appid": _TEXT, "name": _TEXT, "kind": _TEXT, "resource": _TEXT}
    ),
    # The binding documents as they stand in ZooKeeper.
    "documents": pa.schema({"pair": _TEXT, "appid": _TEXT, "content": _TEXT}),
    # ``state``: running, stopped, failed, unknown, turning.
    "mirrors": pa.schema(
        {
            "pair": _TEXT,
            "mirror": _TEXT,
            "source": _TEXT,
            "target": _TEXT,
            "topics": _TEXTS,
            "state": _TEXT,
            "fault": _TEXT,
        }
    ),
    # The lag of mirrors since the snapshot before: ``records`` and ``seconds`` are null where nobody could know.
    "lag": pa.schema(
        {"pair": _TEXT, "mirror": _TEXT, "at": _TIME, "records": _NUMBER, "seconds": pa.float64()}
    ),
}


@dataclass(frozen=True, slots=True, order=True)
class Snapshot:
    """One that is whole."""

    at: datetime
    place: str

    def table(self, name: str) -> str:
        return f"{self.place}/{name}.parquet"


def write(
    store: Store,
    at: datetime,
    tables: Mapping[str, Iterable[Mapping[str, Any]]],
    more: Iterable[Mapping[str, pa.Table]] = (),
) -> Snapshot:
    """A snapshot, whole or not at all. A table that is not among ``tables`` is empty.

    :param more: rows besides, which have the schemas already: millions of them are no lists.
    :raises OSError: the lake cannot be written to. :raises KeyError: there is no such table.
    :raises pyarrow.ArrowException: a value does not fit its column.
    """
    besides = list(more)
    unknown = set().union(tables, *besides) - TABLES.keys()
    if unknown:
        raise KeyError(f"There is no table {min(unknown)}.")
    at = _to_milliseconds(at)
    found = Snapshot(at, _place(at))
    rows = {}
    for name, schema in TABLES.items():
        own = pa.Table.from_pylist([_row(row, schema) for row in tables.get(name, ())], schema=schema)
        table = pa.concat_tables([own, *(each[name] for each in besides if name in each)])
        store.write_table(found.table(name), table)
        rows[name] = table.num_rows
    store.write_json(
        f"{found.place}/{_SAYS_WHOLE}", {"schema": SCHEMA_VERSION, "at": at.isoformat(), "rows": rows}
    )
    return found


def _row(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """(A map is a list of its entries to Arrow.)"""
    return {
        field.name: list(value.items()) if isinstance(value := row.get(field.name), Mapping) else value
        for field in schema
    }


def whole(store: Store, since: datetime | None = None) -> list[Snapshot]:
    """The snapshots that are whole, in order.

    :param since: of this moment and later; ``None`` for all.
    """
    found = []
    for day in _days(store):
        if since is not None and day < f"date={since.astimezone(UTC):%Y-%m-%d}":
            continue
        for name in store.folders(f"{FOLDER}/{day}"):
            at = _moment(day, name)
            place = f"{FOLDER}/{day}/{name}"
            if at is None or (since is not None and at < since):
                continue
            if store.exists(f"{place}/{_SAYS_WHOLE}"):
                found.append(Snapshot(at, place))
    return sorted(found)


def newest(store: Store) -> Snapshot | None:
    """The last one that is whole; ``None`` when there is none yet."""
    for day in reversed(_days(store)):
        for name in reversed(store.folders(f"{FOLDER}/{day}")):
            at = _moment(day, name)
            place = f"{FOLDER}/{day}/{name}"
            if at is not None and store.exists(f"{place}/{_SAYS_WHOLE}"):
                return Snapshot(at, place)
    return None


def read(store: Store, snapshot: Snapshot, name: str) -> pa.Table:
    """One table with today's columns; what an older snapshot did not have is null, or empty.

    :raises OSError: it cannot be read.
    """
    schema = TABLES[name]
    try:
        with store.open(snapshot.table(name)) as source:
            table = pq.read_table(source)
    except FileNotFoundError:
        return schema.empty_table()
    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def expire(store: Store, before: datetime) -> int:
    """Delete the snapshots of before, and what one that was not finished has left; how many folders it was.

    The newest whole one stays, however old it is.
    """
    last = newest(store)
    removed = 0
    for day in _days(store):
        for name in store.folders(f"{FOLDER}/{day}"):
            at = _moment(day, name)
            place = f"{FOLDER}/{day}/{name}"
            if at is None or at >= before or (last is not None and place == last.place):
                continue
            # First what says that it is whole, so that nobody begins to read what goes away.
            store.delete(f"{place}/{_SAYS_WHOLE}")
            store.delete_folder(place)
            removed += 1
        if not store.folders(f"{FOLDER}/{day}"):
            store.delete_folder(f"{FOLDER}/{day}")
    return removed


def _days(store: Store) -> list[str]:
    """The folders of days, in order. (What is no day is not ours.)"""
    return [name for name in store.folders(FOLDER) if re.fullmatch(r"date=\d{4}-\d\d-\d\d", name)]


def _place(at: datetime) -> str:
    """
    >>> _place(datetime(2026, 11, 21, 17, 5, 0, 250_000, UTC))
    'snapshots/date=2026-11-21/time=170500250'
    """
    return f"{FOLDER}/date={at:%Y-%m-%d}/time={at:%H%M%S}{at.microsecond // 1000:03d}"


def _moment(day: str, name: str) -> datetime | None:
    """
    >>> _moment("date=2026-11-21", "time=170500250").isoformat(), _moment("date=2026-11-21", "notes")
    ('2026-11-21T17:05:00.250000+00:00', None)
    """
    if not re.fullmatch(r"time=\d{9}", name):
        return None
    try:
        at = datetime.strptime(f"{day[5:]} {name[5:11]}", "%Y-%m-%d %H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return at + timedelta(milliseconds=int(name[11:]))


def _to_milliseconds(at: datetime) -> datetime:
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
