"""Copies rows from Parquet files in the lake into a table of PostgreSQL, with COPY."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
from psycopg import sql

from hadash.lake.store import Store

#: Rows in memory, at most: some megabytes.
ROWS_AT_ONCE = 50_000

_NUL = "\x00"


def copy_rows(
    cursor: psycopg.Cursor[Any],
    table: str,
    run: int,
    store: Store,
    place: str,
    tell: Callable[[int], None] = lambda rows: None,
) -> int:
    """Copy all rows of the files in a folder; return their number.

    Columns have the same names as in the table. Lists and maps have to be JSON texts.

    :param run: the value of ``run_id``.
    :param tell: called after each part with the number of rows so far.
    """
    batches = _batches(store, place)
    first = next(batches, None)
    if first is None:
        return 0
    names = sql.SQL(", ").join(map(sql.Identifier, ["run_id", *first.schema.names]))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(sql.Identifier(table), names)
    done = 0
    with cursor.copy(statement) as copy:
        for batch in chain([first], batches):
            copy.write(_csv(batch, run))
            done += batch.num_rows
            tell(done)
    return done


def _batches(store: Store, place: str) -> Iterator[pa.RecordBatch]:
    for name in store.files(place, deep=True):
        if not name.endswith(".parquet"):
            continue
        with store.open(name) as source:
            yield from pq.ParquetFile(source).iter_batches(ROWS_AT_ONCE)


def _csv(batch: pa.RecordBatch, run: int) -> bytes:
    """Return a batch as CSV for PostgreSQL: null is an empty field, and an empty text is two quotes."""
    columns = [pa.array([run] * batch.num_rows, pa.int64())]
    columns += [_as_text(column) for column in batch.columns]
    table = pa.table(columns, names=["run_id", *batch.schema.names])
    sink = io.BytesIO()
    pc_csv.write_csv(table, sink, pc_csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return sink.getvalue()


def _as_text(column: pa.Array) -> pa.Array:
    """Convert a column for PostgreSQL. (Its texts cannot contain a zero byte; a client.id may have one.)"""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.replace_substring(column, _NUL, "\ufffd")
    if pa.types.is_timestamp(column.type):
        moments = column if column.type.tz else pc.assume_timezone(column, "UTC")
        return pc.strftime(moments, "%Y-%m-%dT%H:%M:%S%z")
    return column
