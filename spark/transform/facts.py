"""What was seen: reports → one row a fact and day → one row a fact. Pure; over Arrow tables.

A day's rows are made of that day's reports alone, and the facts of the rows that are new: what one more day
costs does not depend on how many there are. Both lie in buckets by their key, so that each bucket can be
worked off by itself, and none of them is an AppID that has half of everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hadash.identity.names import MAX_NAME_LENGTH, MAX_RESOURCE_LENGTH, fitting
from hadash.lake.access import GATEWAY
from spark.arrow import DAILY, FACT_KEY, FACTS, SUMS
from spark.transform.grouping import BITS, FIRST, LAST, SUM, Fold, decoded, encoded, grouped
from spark.transform.validity import reasons_of, wrong

#: Characters of names in the tables (``hadash.inventory.models.Access``).
LONGEST = {"appid": MAX_NAME_LENGTH, "client_id": MAX_NAME_LENGTH, "resource": MAX_RESOURCE_LENGTH}

#: Days that a fact remembers to have been seen on: the bits of a number, without its sign.
REMEMBERED_DAYS = 63

_DAILY_FOLDS: Mapping[str, Fold] = {
    **dict.fromkeys(SUMS, SUM),
    "first_seen": FIRST,
    "last_seen": LAST,
    "member": BITS,
}
_FACT_FOLDS: Mapping[str, Fold] = {**_DAILY_FOLDS, "days": BITS}


@dataclass(frozen=True)
class Counted:
    """Reports that were worked off: rows by bucket, and those that make no sense, with ``reason``, and how
    many of each.
    """

    buckets: Sequence[pa.Table]
    malformed: pa.Table | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)


def counted(reports: pa.Table, pairs: Mapping[str, str], came_by: datetime, buckets: int) -> Counted:
    """Reports of one day (:data:`hadash.lake.access.SCHEMA`) as one row a fact (:data:`spark.arrow.DAILY`).

    :param pairs: the pair of each cluster: reports of the first version do not say it.
    :param came_by: when the last of them was there.
    """
    table = encoded(reports, FACT_KEY)
    found = wrong(table, came_by)
    bad = np.logical_or.reduce(list(found.values()))
    aside, reasons = None, {}
    if bad.any():
        mask = pa.array(bad)
        said = reasons_of(found, table.num_rows).filter(mask)
        aside = reports.filter(mask).append_column("reason", said)
        reasons = {each["values"].as_py(): each["counts"].as_py() for each in pc.value_counts(said)}
        table = table.filter(pc.invert(mask))
    table = _with_pair(table, pairs)
    for name, instead in (("source", GATEWAY), ("client_id", "")):
        table = table.set_column(table.schema.get_field_index(name), name, _filled(table[name], instead))
    table = _fitted(table)
    is_member = table["member"].cast(pa.int64())
    table = table.set_column(table.schema.get_field_index("member"), "member", is_member)
    table = table.append_column("reports", pa.array(np.ones(table.num_rows, np.int64)))
    return Counted(
        [decoded(each, DAILY) for each in grouped(table, FACT_KEY, _DAILY_FOLDS, buckets)], aside, reasons
    )


@dataclass(frozen=True)
class Change:
    """A day whose rows come to the facts, or are taken out of them because they were made again.

    ``age``: days before the newest.
    """

    rows: pa.Table
    age: int
    taken_out: bool = False


def merged(facts: pa.Table | None, changes: Iterable[Change], days_later: int) -> pa.Table:
    """The facts (:data:`spark.arrow.FACTS`) after some days have come.

    A day that was made again, because reports came late, is taken out and comes again. It had fewer reports
    before, so when it was seen (first, last, on which days) can only have grown. What was seen on none of the
    days that are remembered is no fact any more: a client.id that is made again at each start would stay for
    ever.

    :param days_later: how much newer the newest day is now.
    """
    parts = [] if facts is None else [_later(facts, days_later)]
    parts += [_as_facts(change) for change in changes]
    together = encoded(pa.concat_tables(parts), FACT_KEY)
    (made,) = grouped(together, FACT_KEY, _FACT_FOLDS)
    if made.num_rows:
        made = made.filter(pc.not_equal(made["days"], 0))
    return decoded(made, FACTS)


def _as_facts(change: Change) -> pa.Table:
    rows = change.rows
    if change.taken_out:
        for name in SUMS:
            rows = rows.set_column(rows.schema.get_field_index(name), name, pc.negate(rows[name]))
    bit = 0 if change.taken_out or change.age >= REMEMBERED_DAYS else 1 << change.age
    return rows.append_column("days", pa.array(np.full(rows.num_rows, bit, np.int64))).cast(FACTS)


def _later(facts: pa.Table, days: int) -> pa.Table:
    """``days`` days later: the oldest fall out of what is remembered."""
    seen = facts["days"].to_numpy()
    kept = (1 << max(0, REMEMBERED_DAYS - days)) - 1
    moved = (seen & kept) << min(days, REMEMBERED_DAYS - 1) if kept else np.zeros_like(seen)
    return facts.set_column(facts.schema.get_field_index("days"), "days", pa.array(moved))


def _with_pair(table: pa.Table, pairs: Mapping[str, str]) -> pa.Table:
    """What does not say its pair gets that of its cluster."""
    if not table["pair"].null_count:
        return table
    clusters = table["cluster"].combine_chunks()
    known = pa.array([pairs.get(name) for name in clusters.dictionary.to_pylist()], pa.string())
    of_cluster = known.take(clusters.indices)
    column = pc.coalesce(table["pair"].cast(pa.string()), of_cluster).dictionary_encode()
    return table.set_column(table.schema.get_field_index("pair"), "pair", column).combine_chunks()


def _fitted(table: pa.Table) -> pa.Table:
    """With names that the tables can hold, as those that the Gateways tell directly: one client must not keep
    all others out.
    """
    for name, limit in LONGEST.items():
        column = table[name]
        texts = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
        fit = [text if text is None else fitting(text, limit) for text in texts]
        if fit != texts:
            values = pa.array(fit, pa.string())
            chunks = [pa.DictionaryArray.from_arrays(chunk.indices, values) for chunk in column.chunks]
            table = table.set_column(table.schema.get_field_index(name), name, pa.chunked_array(chunks))
    return table


def _filled(column: pa.ChunkedArray, with_what: str) -> pa.ChunkedArray:
    if not column.null_count:
        return column
    return pc.fill_null(column.cast(pa.string()), with_what).dictionary_encode()
