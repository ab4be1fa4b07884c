"""Snapshots: the state of clusters, and of hadash's data about them, at one moment.

One snapshot is a folder, ``snapshots/date=2026-11-21/time=170500000/`` (UTC, to the millisecond), with one
Parquet file for each table of :data:`TABLES`. ``snapshot.json`` is written last; a snapshot without it is
incomplete and is not read.

A cluster that did not answer has a row in ``clusters`` with its ``fault``, and no rows in any other table.
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

#: Rises when a table or a column is added. They are only added, never changed or removed.
SCHEMA_VERSION = 2

FOLDER = "snapshots"
_SAYS_WHOLE = "snapshot.json"

_TEXT, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.bool_()
_TEXTS, _NUMBERS = pa.list_(pa.string()), pa.list_(pa.int32())
_TIME = pa.timestamp("ms", tz="UTC")
_CONFIGS = pa.map_(pa.string(), pa.string())

TABLES: Mapping[str, pa.Schema] = {
    # ``mode``: zookeeper or kraft. ``version``: of Kafka, as far as it is known. ``fault``: why it did not
    # answer.
    # ``authorizer``: false where it has none, so that it allows everything.
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
    # ``leader``: -1 when the partition has none.
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
    # Users with SCRAM credentials; others cannot be listed.
    "users": pa.schema({"cluster": _TEXT, "user": _TEXT, "mechanisms": _TEXTS}),
    # ``protocol``: the assignor that its members have agreed on.
    "groups": pa.schema(
        {"cluster": _TEXT, "group": _TEXT, "state": _TEXT, "protocol": _TEXT, "coordinator": _NUMBER}
    ),
    # ``partitions``: its assignment, as topic-partition. ``topics``: its subscription (for a pattern, the
    # Topics that matched when the member joined); null where that is not known.
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
    # The users of hadash itself and of its mirrors: rules ignore them, and they do not move.
    "own_users": pa.schema({"cluster": _TEXT, "user": _TEXT}),
    # -- hadash's own data -----------------------------------------------------------------------------------------
    # ``rpo_seconds``: the lag that a mirror may have. ``quiesce_seconds``: how long a switch waits for
    # consumers.
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
    # ``name``: the InstanceID; empty for the AppID as a whole.
    "declarations": pa.schema(
        {"pair": _TEXT, "appid": _TEXT, "name": _TEXT, "kind": _TEXT, "resource": _TEXT}
    ),
    # The binding documents from ZooKeeper.
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
    # Samples of the lag of mirrors since the previous snapshot: ``records`` and ``seconds`` are null where it
    # is not known.
    "lag": pa.schema(
        {"pair": _TEXT, "mirror": _TEXT, "at": _TIME, "records": _NUMBER, "seconds": pa.float64()}
    ),
}


@dataclass(frozen=True, slots=True, order=True)
class Snapshot:
    """A complete snapshot."""

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
    """Write a snapshot; it counts only when it is complete. A table that is not among ``tables`` is empty.

    :param more: additional rows as Arrow tables with the schemas, for millions of rows.
    :raises OSError: the lake cannot be written to.
    :raises KeyError: there is no such table.
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
    """Return a row with the columns of ``schema``. (Arrow takes a map as a list of its entries.)"""
    return {
        field.name: list(value.items()) if isinstance(value := row.get(field.name), Mapping) else value
        for field in schema
    }


def whole(store: Store, since: datetime | None = None) -> list[Snapshot]:
    """Return the complete snapshots, in order.

    :param since: only from this time on; ``None`` for all.
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
    """Return the newest complete snapshot; ``None`` when there is none yet."""
    for day in reversed(_days(store)):
        for name in reversed(store.folders(f"{FOLDER}/{day}")):
            at = _moment(day, name)
            place = f"{FOLDER}/{day}/{name}"
            if at is not None and store.exists(f"{place}/{_SAYS_WHOLE}"):
                return Snapshot(at, place)
    return None


def read(store: Store, snapshot: Snapshot, name: str) -> pa.Table:
    """Return one table with the current columns. Columns that an older snapshot lacks are null, and tables
    empty.

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
    """Delete the snapshots from before a time, complete or not; return the number of folders.

    The newest complete one stays, however old it is.
    """
    last = newest(store)
    removed = 0
    for day in _days(store):
        for name in store.folders(f"{FOLDER}/{day}"):
            at = _moment(day, name)
            place = f"{FOLDER}/{day}/{name}"
            if at is None or at >= before or (last is not None and place == last.place):
                continue
            # The marker of completeness first, so that no reader begins with a snapshot that is being deleted.
            store.delete(f"{place}/{_SAYS_WHOLE}")
            store.delete_folder(place)
            removed += 1
        if not store.folders(f"{FOLDER}/{day}"):
            store.delete_folder(f"{FOLDER}/{day}")
    return removed


def _days(store: Store) -> list[str]:
    """Return the folders of days, in order. (Others are ignored.)"""
    return [name for name in store.folders(FOLDER) if re.fullmatch(r"date=\d{4}-\d\d-\d\d", name)]


def _place(at: datetime) -> str:
    """Return the folder of a snapshot.

    >>> _place(datetime(2026, 11, 21, 17, 5, 0, 250_000, UTC))
    'snapshots/date=2026-11-21/time=170500250'
    """
    return f"{FOLDER}/date={at:%Y-%m-%d}/time={at:%H%M%S}{at.microsecond // 1000:03d}"


def _moment(day: str, name: str) -> datetime | None:
    """Return the time of a snapshot's folder; ``None`` for other folders.

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
