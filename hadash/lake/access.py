"""Access reports: what somebody saw of clients, a row for each fact that has changed since the last report of it.

One file a batch, ``access/date=2026-11-21/hour=17/<who reports>-<milliseconds>.parquet``, by the hour in
which it was written. The name is what makes a batch one: the same name in two folders is one batch that came
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

#: Goes up when a column is added. Columns are only added, never changed or removed: what was written before
#: stays readable as it is, with nothing in the new ones.
SCHEMA_VERSION = 3

#: The columns. Counts are what was added since the last report of the same fact.
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
        # since 3. Of a group: whether the client is a member of it, or commits there without being one.
        ("member", pa.bool_()),
    ],
    metadata={"hadash.schema": f"access/{SCHEMA_VERSION}"},
)

#: The columns that every version has.
FIRST_COLUMNS = 19

#: How something is used: a Topic is written to or read, and a group has a member.
USES = ("produce", "consume", "group")

#: Somebody asks for all Topics, as who subscribes to a pattern does: no use of any of them. Its resource is
#: :data:`ALL_TOPICS`.
LISTING = "list"
ALL_TOPICS = "*"

KINDS = (*USES, LISTING)

#: The folder of the reports in the lake.
FOLDER = "access"

#: Where a note lies for each batch that has come for a day which nobody looks at any more of itself.
LATE_FOLDER = "late"
#: The youngest days are looked at each time; of a batch that comes later than this there is a note.
LATE_AFTER = timedelta(days=1)

#: What says that it is of before this was never milliseconds since 1970: seconds, mostly.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)

#: Who says so: a Gateway (also where nothing is said: version 1), DiDi's brokers, a file.
GATEWAY, SURVIVE_USER, CSV = "gateway", "survive-user", "csv"


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """One folder: the reports that came within an hour (UTC)."""

    date: str
    hour: int

    @classmethod
    def of(cls, moment: datetime) -> Hour:
        moment = moment.astimezone(UTC)
        return cls(moment.date().isoformat(), moment.hour)

    @property
    def folder(self) -> str:
        """
        >>> Hour("2026-11-21", 7).folder
        'access/date=2026-11-21/hour=07'
        """
        return f"{FOLDER}/date={self.date}/hour={self.hour:02d}"

    @property
    def begin(self) -> datetime:
        return datetime.fromisoformat(self.date).replace(hour=self.hour, tzinfo=UTC)


def hours(store: Store, dates: Iterable[str] | None = None) -> list[Hour]:
    """The hours that have a folder, in order.

    :param dates: of these days only; ``None`` for all. What is no date or hour is not ours, and is passed over.
    """
    wanted = days(store) if dates is None else sorted(dates)
    return [
        Hour(date, int(name.removeprefix("hour=")))
        for date in wanted
        for name in store.folders(f"{FOLDER}/date={date}")
        if re.fullmatch(r"hour=([01]\d|2[0-3])", name)
    ]


def days(store: Store) -> list[str]:
    """The days that have a folder, in order."""
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
    """Rows as a table of :data:`SCHEMA`; what a row does not say is null.

    :raises pyarrow.ArrowException: a value does not fit its column.
    """
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in SCHEMA.names} for row in rows], schema=SCHEMA
    )


def write_batch(store: Store, reporter: str, rows: Iterable[Mapping[str, Any]], now: datetime) -> str:
    """One batch as a file; its name. A reader never sees half of it.

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
    """A batch that has a name already, because it may come again: then it is the same file. Its whole name.

    :param batch: who says so and what: the same for the same reports, and no others.
    :param moment: of the reports; it says in which hour they lie.
    :raises OSError: the lake cannot be written to.
    """
    hour = Hour.of(moment)
    name = f"{hour.folder}/{file_name(batch)}.parquet"
    store.write_table(name, table_of(rows))
    if moment < datetime.now(UTC) - LATE_AFTER:
        # (After the batch: whoever finds this finds that, too.)
        store.write_json(f"{LATE_FOLDER}/date={hour.date}/{file_name(batch)}.json", {"batch": name})
    return name


def late(store: Store) -> dict[str, list[str]]:
    """By day, the notes that a batch has come for it late. Whoever has counted the day removes them."""
    found = {
        date: list(store.files(f"{LATE_FOLDER}/date={date}"))
        for date in (name.removeprefix("date=") for name in store.folders(LATE_FOLDER))
        if _is_date(date)
    }
    return {date: notes for date, notes in found.items() if notes}
