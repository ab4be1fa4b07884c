"""Access reports: observed uses of clients, with a row for each fact that has changed since its last report.

Each batch is a file ``access/date=2026-11-21/hour=17/<reporter>-<milliseconds>.parquet``, in the folder of the
hour in which it was written. The name identifies the batch: the same name in two folders is one batch that came
twice, and is counted once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from hadash.identity.names import file_name
from hadash.lake.store import Store

#: Rises when a column is added. Columns are only added, never changed or removed: older files stay readable,
#: and their new columns are null.
SCHEMA_VERSION = 3

#: The columns. Counts are increments since the last report of the same fact.
SCHEMA = pa.schema(
    [
        ("gateway", pa.string()),
        ("appid", pa.string()),
        ("client_id", pa.string()),
        ("kind", pa.string()),
        ("resource", pa.string()),
        ("cluster", pa.string()),
        ("host", pa.string()),
        ("library", pa.string()),
        ("version", pa.string()),
        ("acks", pa.int16()),
        ("idempotent", pa.bool_()),
        ("transactional", pa.bool_()),
        ("assignors", pa.list_(pa.string())),
        ("session_timeout_ms", pa.int32()),
        ("requests", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("first_seen", pa.timestamp("ms", tz="UTC")),
        ("last_seen", pa.timestamp("ms", tz="UTC")),
        # since 2
        ("pair", pa.string()),
        ("source", pa.string()),
        # since 3. For a use of a group: true for a member, false for a client that commits without being one.
        ("member", pa.bool_()),
    ],
    metadata={"hadash.schema": f"access/{SCHEMA_VERSION}"},
)

#: The number of columns that every version has.
FIRST_COLUMNS = 19

#: The kinds of use: writing to a Topic, reading it, and being a member of a group.
USES = ("produce", "consume", "group")

#: The kind of a request for all Topics, as a pattern subscription sends it. It does not use any of them. Its
#: resource is :data:`ALL_TOPICS`.
LISTING = "list"
ALL_TOPICS = "*"

KINDS = (*USES, LISTING)

#: The folder of the reports in the lake.
FOLDER = "access"

#: The folder with a note for each batch of a day that the jobs no longer read by default.
LATE_FOLDER = "late"
#: The jobs always read the newest days; for a batch older than this there is a note.
LATE_AFTER = timedelta(days=1)

#: An earlier time is an error: mostly seconds since 1970 instead of milliseconds.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)

#: The sources of reports: a Gateway (also where the column is null: version 1), DiDi's brokers, a file.
GATEWAY, SURVIVE_USER, CSV = "gateway", "survive-user", "csv"


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """An hour (UTC), and the folder of the reports that were written in it."""

    date: str
    hour: int

    @classmethod
    def of(cls, moment: datetime) -> Hour:
        moment = moment.astimezone(UTC)
        return cls(moment.date().isoformat(), moment.hour)

    @property
    def folder(self) -> str:
        """The folder's name.

        >>> Hour("2026-11-21", 7).folder
        'access/date=2026-11-21/hour=07'
        """
        return f"{FOLDER}/date={self.date}/hour={self.hour:02d}"

    @property
    def begin(self) -> datetime:
        return datetime.fromisoformat(self.date).replace(hour=self.hour, tzinfo=UTC)


def hours(store: Store, dates: Iterable[str] | None = None) -> list[Hour]:
    """Return the hours that have a folder, in order. Folders with other names are ignored.

    :param dates: only of these days; ``None`` for all.
    """
    wanted = days(store) if dates is None else sorted(dates)
    return [
        Hour(date, int(name.removeprefix("hour=")))
        for date in wanted
        for name in store.folders(f"{FOLDER}/date={date}")
        if re.fullmatch(r"hour=([01]\d|2[0-3])", name)
    ]


def days(store: Store) -> list[str]:
    """Return the days that have a folder, in order."""
    names = [name.removeprefix("date=") for name in store.folders(FOLDER) if name.startswith("date=")]
    return [name for name in names if _is_date(name)]


def _is_date(text: str) -> bool:
    """
    >>> _is_date("2026-11-21"), _is_date("2026-11-31"), _is_date("yesterday")
    (True, False, False)
    """
    try:
        return datetime.fromisoformat(text).date().isoformat() == text
    except ValueError:
        return False


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table of :data:`SCHEMA`; missing values are null.

    :raises pyarrow.ArrowException: a value does not fit its column.
    """
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in SCHEMA.names} for row in rows], schema=SCHEMA
    )


def write_batch(store: Store, reporter: str, rows: Iterable[Mapping[str, Any]], now: datetime) -> str:
    """Write one batch as a file, atomically; return its name.

    :raises OSError: the lake cannot be written to.
    """
    table = table_of(rows)
    folder = Hour.of(now).folder
    milliseconds = int(now.timestamp() * 1000)
    while store.exists(name := f"{folder}/{file_name(reporter)}-{milliseconds}.parquet"):
        milliseconds += 1
    store.write_table(name, table)
    return name


def put_batch(store: Store, batch: str, rows: Iterable[Mapping[str, Any]], moment: datetime) -> str:
    """Write a batch that may come again under a given name, so that it is the same file then; return its full
    name.

    :param batch: identifies the reporter and the reports: the same name only for the same reports.
    :param moment: the time of the reports, which decides the folder.
    :raises OSError: the lake cannot be written to.
    """
    hour = Hour.of(moment)
    name = f"{hour.folder}/{file_name(batch)}.parquet"
    store.write_table(name, table_of(rows))
    if moment < datetime.now(UTC) - LATE_AFTER:
        # (Written after the batch, so that a reader of the note finds the batch.)
        store.write_json(f"{LATE_FOLDER}/date={hour.date}/{file_name(batch)}.json", {"batch": name})
    return name


def late(store: Store) -> dict[str, list[str]]:
    """Return the notes of late batches by day. The job that counts a day removes its notes."""
    found = {
        date: list(store.files(f"{LATE_FOLDER}/date={date}"))
        for date in (name.removeprefix("date=") for name in store.folders(LATE_FOLDER))
        if _is_date(date)
    }
    return {date: notes for date, notes in found.items() if notes}
