"""Compacts the many small files of an hour into one: reading a month would otherwise open a hundred thousand
files.

The new file names the batches in it. As soon as it appears the old files are no longer counted
(:mod:`hadash.lake.batches`), even if they still exist: after a crash the next run deletes them.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.lake.access import SCHEMA, Hour, days, hours
from hadash.lake.batches import BATCHES_KEY, COMPACTED, ReportFile, look_at
from hadash.lake.store import Store

log = logging.getLogger(__name__)

#: Hours after the end of an hour before it is compacted: delayed reports have arrived by then.
SETTLED_HOURS = 2
#: Fewer files than this are not compacted: it would cost more than it saves.
LEAST_FILES = 4
#: Days that are checked for compaction: older ones were compacted before, and each check costs time. (After a
#: longer pause their files stay small, and only reading them is slower.)
DAYS = 7
#: Rows that are held in memory at once: some tens of MiB.
ROWS_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of compacting an hour. ``rows``: rows of the compacted file."""

    hour: Hour
    files_before: int
    rows: int


def settled(store: Store, now: datetime) -> list[Hour]:
    """Return the hours of the last :data:`DAYS` days that ended :data:`SETTLED_HOURS` ago or earlier, in order."""
    first = f"{now - timedelta(days=DAYS):%Y-%m-%d}"
    recent = [day for day in days(store) if day >= first]
    return [hour for hour in hours(store, recent) if hour.begin + timedelta(hours=1 + SETTLED_HOURS) <= now]


def compact(store: Store, hour: Hour) -> Compacted | None:
    """Compact the files of an hour into one; return ``None`` when that gains nothing.

    Files that cannot be read stay for the job that puts them aside.

    :raises OSError: the lake cannot be written to; nothing is lost.
    """
    there = store.files(hour.folder)
    if len(there) < 2 or (len(there) < LEAST_FILES and not any(COMPACTED in name for name in there)):
        return None
    # Includes the earlier hours: a batch that came twice that day counts in the first of its hours.
    found = look_at(store, (each for each in hours(store, [hour.date]) if each <= hour))
    files, again = (
        [f for f in kept if f.name.startswith(hour.folder)] for kept in (found.files, found.again)
    )
    for file in again:
        store.delete(file.name)  # its batches are in another file
    if len(files) < LEAST_FILES:
        return None
    batches = sorted({batch for file in files for batch in file.batches})
    digest = hashlib.blake2b("\n".join(batches).encode(), digest_size=8).hexdigest()
    name = f"{hour.folder}/{COMPACTED}{digest}.parquet"
    schema = SCHEMA.with_metadata({**SCHEMA.metadata, BATCHES_KEY: json.dumps(batches).encode()})
    try:
        with store.writing(name) as sink, pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for table in _in_turn(store, files, schema):
                writer.write_table(table)
    except _Torn as torn:
        log.warning("The hour %s stays as it is: %s", hour.folder, torn)
        return None
    for file in files:
        if file.name != name:
            store.delete(file.name)
    return Compacted(hour, len(files), sum(file.rows for file in files))


class _Torn(Exception):
    """A file can be read completely, but its content is broken; the message says which file."""


def _in_turn(store: Store, files: list[ReportFile], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield all rows with the current columns, in pieces of :data:`ROWS_AT_ONCE`. :raises _Torn: a file is broken."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for file in files:
        for batch in _batches(store, file, schema):
            waiting.append(batch)
            count += batch.num_rows
            if count >= ROWS_AT_ONCE:
                yield pa.Table.from_batches(waiting, schema)
                waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def _batches(store: Store, file: ReportFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        with store.open(file.name) as source:
            for batch in pq.ParquetFile(source).iter_batches(ROWS_AT_ONCE):
                yield _with_columns(batch, schema)
    except (pa.ArrowException, OSError) as error:
        if not store.is_readable(file.name):
            raise  # the lake or the network has failed, not the file
        raise _Torn(f"{file.name} cannot be read to its end: {error}") from error


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
