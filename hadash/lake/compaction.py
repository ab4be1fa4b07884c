"""Many small files of an hour become one: whoever reads a month would otherwise open a hundred thousand.

The new file names the batches that are in it, so from the moment it appears the old ones are not counted any more
(:mod:`hadash.lake.batches`), whether or not they are still there: killed at any point, the next run takes them away.
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

#: Hours after the end of an hour before it is compacted: what was held up for some minutes is in it by then.
SETTLED_HOURS = 2
#: Fewer files than this are left as they are: it would cost more than it saves.
LEAST_FILES = 4
#: Days that are looked through: what is older was compacted when it came, and looking costs the same each
#: time. (After a longer pause it stays as it is, which only makes it slower to read.)
DAYS = 7
#: Rows that are held in memory at once: some tens of MiB.
ROWS_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """What has become of an hour."""

    hour: Hour
    files_before: int
    rows: int


def settled(store: Store, now: datetime) -> list[Hour]:
    """The hours of the last :data:`DAYS` into which hardly anything comes any more, in order."""
    first = f"{now - timedelta(days=DAYS):%Y-%m-%d}"
    recent = [day for day in days(store) if day >= first]
    return [hour for hour in hours(store, recent) if hour.begin + timedelta(hours=1 + SETTLED_HOURS) <= now]


def compact(store: Store, hour: Hour) -> Compacted | None:
    """Make one file of those of an hour; ``None`` when nothing is gained by it.

    What cannot be read stays where it is, for the job that puts it aside.

    :raises OSError: the lake cannot be written to; nothing is lost.
    """
    there = store.files(hour.folder)
    if len(there) < 2 or (len(there) < LEAST_FILES and not any(COMPACTED in name for name in there)):
        return None
    # With the hours before it: a batch that came twice that day counts in the first.
    found = look_at(store, (each for each in hours(store, [hour.date]) if each <= hour))
    files, again = (
        [f for f in kept if f.name.startswith(hour.folder)] for kept in (found.files, found.again)
    )
    for file in again:
        store.delete(file.name)  # its batches are in another one
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
    """A file whose bytes are all there, and make no sense: the message says which."""


def _in_turn(store: Store, files: list[ReportFile], schema: pa.Schema) -> Iterator[pa.Table]:
    """All rows with today's columns, in pieces of :data:`ROWS_AT_ONCE`. :raises _Torn: not all of them can be read."""
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
            raise  # the lake's fault, or the network's
        raise _Torn(f"{file.name} cannot be read to its end: {error}") from error


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
