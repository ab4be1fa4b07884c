"""Reports → one row for each fact and day → one row for each fact. Pure; over Arrow tables.

A day's rows are made only from that day's reports, and the facts are updated only from new rows: the cost of
one more day does not depend on the number of days. Both are in buckets by their key, so that each bucket can be
processed separately, and no bucket is as large as an AppID with half of all facts.
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

#: The lengths of names in the tables (``hadash.inventory.models.Access``).
LONGEST = {"appid": MAX_NAME_LENGTH, "client_id": MAX_NAME_LENGTH, "resource": MAX_RESOURCE_LENGTH}

#: Days that a fact's bit mask covers: the bits of a number without its sign.
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
    """Processed reports: the rows by bucket, the invalid reports with their ``reason``, and their numbers by
    reason.
    """

    buckets: Sequence[pa.Table]
    malformed: pa.Table | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)


def counted(reports: pa.Table, pairs: Mapping[str, str], came_by: datetime, buckets: int) -> Counted:
    """Return one row for each fact (:data:`spark.arrow.DAILY`) from one day's reports
    (:data:`hadash.lake.access.SCHEMA`).

    :param pairs: the pair of each cluster, for reports of the first version, which do not have it.
    :param came_by: the time by which all of them had arrived.
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
    """A day whose rows are added to the facts, or taken out of them because they were made again.

    ``age``: the number of days before the newest.
    """

    rows: pa.Table
    age: int
    taken_out: bool = False


def merged(facts: pa.Table | None, changes: Iterable[Change], days_later: int) -> pa.Table:
    """Return the facts (:data:`spark.arrow.FACTS`) after the changes.

    A day that was made again because of late reports is taken out and added again. It had fewer reports before,
    so the times when facts were seen (first, last, days) can only have grown. A fact that was seen on none of
    the covered days is dropped: otherwise client.ids that change at each start would stay for ever.

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
    """Shift the facts' bit masks by ``days`` days; the oldest days are dropped."""
    seen = facts["days"].to_numpy()
    kept = (1 << max(0, REMEMBERED_DAYS - days)) - 1
    moved = (seen & kept) << min(days, REMEMBERED_DAYS - 1) if kept else np.zeros_like(seen)
    return facts.set_column(facts.schema.get_field_index("days"), "days", pa.array(moved))


def _with_pair(table: pa.Table, pairs: Mapping[str, str]) -> pa.Table:
    """Set the pair of reports without one to that of their cluster."""
    if not table["pair"].null_count:
        return table
    clusters = table["cluster"].combine_chunks()
    known = pa.array([pairs.get(name) for name in clusters.dictionary.to_pylist()], pa.string())
    of_cluster = known.take(clusters.indices)
    column = pc.coalesce(table["pair"].cast(pa.string()), of_cluster).dictionary_encode()
    return table.set_column(table.schema.get_field_index("pair"), "pair", column).combine_chunks()


def _fitted(table: pa.Table) -> pa.Table:
    """Shorten names to the lengths of the tables, as for access that the Gateways report directly: one client's
    long name must not block all others.
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
