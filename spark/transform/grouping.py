"""Groups rows by a key, with sums, minima and maxima. Pure; over Arrow tables.

A lake has few different texts, which are repeated very often, so rows are compared by the numbers of their
texts. That is many times faster than comparing the texts, as a general engine has to.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

#: Separates the parts of a list while it is a text.
_BETWEEN = "\x1f"
#: The largest product of counts that fits into 64 bits.
_ROOM = 2**62

Numbers = NDArray[np.int64]

#: The largest 64-bit number.
_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregation of the values of equal rows. ``nothing``: its neutral element."""

    ufunc: np.ufunc
    nothing: int

    def of(self, values: Numbers, groups: NDArray[np.int32], count: int) -> Numbers:
        """Return the aggregated values by group. :param groups: for each value the number of its group, below
        ``count``.
        """
        found = np.full(count, self.nothing, np.int64)
        self.ufunc.at(found, groups, values)
        return found


SUM = Fold(np.add, 0)
FIRST = Fold(np.minimum, _MOST)
LAST = Fold(np.maximum, -_MOST)
BITS = Fold(np.bitwise_or, 0)


def encoded(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return a table whose key columns are dictionaries (lists are texts) that all chunks share."""
    for name in key:
        column = table[name]
        if pa.types.is_list(column.type):
            column = pc.binary_join(column, _BETWEEN)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table.unify_dictionaries()


def codes_of(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return for each row the number of its value (from 1; 0 for null), and the values.

    The numbers are written chunk by chunk to their final place: in the first seconds of a process allocating
    memory takes longer than all the rest.

    :param column: a column from :func:`encoded`, whose chunks have the same dictionary.
    """
    codes = np.empty(len(column), np.int32)
    begin = 0
    for chunk in column.chunks:
        indices = chunk.indices
        part = codes[begin : begin + len(chunk)]
        if indices.null_count:
            indices = pc.fill_null(indices, -1)
        np.add(indices.to_numpy(), 1, out=part, casting="unsafe")
        begin += len(chunk)
    return codes, column.chunk(0).dictionary if column.num_chunks else pa.array([], column.type.value_type)


def grouped(
    table: pa.Table, key: Sequence[str], folds: Mapping[str, Fold], buckets: int = 1
) -> list[pa.Table]:
    """Return one row for each key, with aggregated values, by bucket. The bucket depends only on the key, on
    every machine.

    :param table: the result of :func:`encoded`; null counts as 0 in the aggregated columns.
    :return: a table for each bucket, with the key as dictionaries.
    """
    if not table.num_rows:
        return [table.select([*key, *folds])] * buckets
    columns = [_Column(table[name]) for name in key]
    groups, count = _renumbered(_numbered(columns))
    # (The last assignment to a place wins: in reverse order that is the first row of each group.)
    first_of_each = np.empty(count, np.int64)
    first_of_each[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    arrays = {name: column.taken(first_of_each) for name, column in zip(key, columns, strict=True)}
    for name, fold in folds.items():
        values = fold.of(_whole_numbers(table[name]), groups, count)
        arrays[name] = pa.array(values).cast(table[name].type)
    made = pa.table(arrays)
    if buckets == 1:
        return [made]
    bucket = _buckets([column.hashes()[column.codes[first_of_each]] for column in columns], buckets)
    return [made.filter(pa.array(bucket == number)) for number in range(buckets)]


def decoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table as it is stored: with dictionaries as values, and lists as lists."""
    columns = []
    for field in schema:
        column = table[field.name]
        if pa.types.is_list(field.type):
            texts = column.cast(pa.string())
            split = pc.split_pattern(texts, _BETWEEN)
            # (An empty text is an empty list, not a list with one empty text.)
            column = pc.if_else(pc.equal(texts, ""), pa.scalar([], pa.list_(pa.string())), split)
        columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


class _Column:
    """A column of a key, with the number of its value for each row; 0 for null."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.codes, self._values = codes_of(column)
        self.count = len(self._values) + 1

    def taken(self, rows: Numbers) -> pa.DictionaryArray:
        codes = self.codes[rows]
        return pa.DictionaryArray.from_arrays(pa.array(codes - 1, mask=codes == 0), self._values)

    def hashes(self) -> Numbers:
        """Return, by number of the value, a hash that depends only on the value."""
        values = self._values.cast(pa.string()).to_pylist()
        return np.array(
            [0, *(zlib.crc32(text.encode()) if text is not None else 0 for text in values)], np.int64
        )


def _numbered(columns: Sequence[_Column]) -> Numbers:
    """Return for each row a number that is equal for rows with the same key."""
    ids, count = columns[0].codes.astype(np.int64), columns[0].count
    for column in columns[1:]:
        if column.count == 1:
            continue  # nothing but null
        if count * column.count > _ROOM:
            groups, count = _renumbered(ids)
            ids = groups.astype(np.int64)
        ids *= column.count
        ids += column.codes
        count *= column.count
    return ids


def _renumbered(ids: Numbers) -> tuple[NDArray[np.int32], int]:
    """Return dense numbers for ids, from 0 in the order of their first occurrence, and how many there are.

    Arrow's hashing takes an eighth of the time of sorting.
    """
    found = pa.array(ids).dictionary_encode()
    return found.indices.to_numpy(), len(found.dictionary)


def _buckets(hashes: Sequence[Numbers], buckets: int) -> Numbers:
    mixed = np.zeros(len(hashes[0]), np.uint64)
    for each in hashes:
        mixed = (mixed ^ each.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(32)) % np.uint64(buckets)).astype(np.int64)


def _whole_numbers(column: pa.ChunkedArray) -> Numbers:
    """Return a column as 64-bit numbers, with null as 0."""
    values = np.empty(len(column), np.int64)
    begin = 0
    for chunk in column.chunks:
        if pa.types.is_timestamp(chunk.type):
            chunk = chunk.view(pa.int64())
        if chunk.null_count:
            chunk = pc.fill_null(chunk, 0)
        values[begin : begin + len(chunk)] = chunk.to_numpy()
        begin += len(chunk)
    return values
