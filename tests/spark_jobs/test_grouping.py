"""Rows with the same key become one, whatever the key is made of, and a key's bucket is always the same."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark.transform import grouping
from spark.transform.grouping import BITS, FIRST, LAST, SUM, decoded, encoded, grouped

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("acks", pa.int16()),
        ("yes", pa.bool_()),
        ("assignors", pa.list_(pa.string())),
        ("sum", pa.int64()),
        ("first", pa.timestamp("ms", tz="UTC")),
        ("bits", pa.int64()),
    ]
)
KEY = ("name", "acks", "yes", "assignors")
FOLDS = {"sum": SUM, "first": FIRST, "bits": BITS}

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(("", "a", "购物", None)),
            "acks": st.sampled_from((-1, 0, 1, None)),
            "yes": st.sampled_from((True, False, None)),
            "assignors": st.sampled_from((None, [], ["range"], ["range", "sticky"])),
            "sum": st.integers(-(2**40), 2**40),
            "first": st.integers(0, 10**12),
            "bits": st.integers(0, 2**62),
        }
    ),
    max_size=20,
)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(tuple(row[n]) if isinstance(row[n], list) else row[n] for n in KEY)


def values_of(table: pa.Table) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    folded = table.set_column(5, "first", table["first"].cast(pa.int64()))
    return {key_of(row): (row["sum"], row["first"], row["bits"]) for row in folded.to_pylist()}


def by_hand(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[key_of(row)].append(row)
    found = {}
    for key, mine in groups.items():
        bits = 0
        for row in mine:
            bits |= row["bits"]
        found[key] = (sum(r["sum"] for r in mine), min(r["first"] for r in mine), bits)
    return found


@pytest.mark.parametrize("room", [2**62, 4])
@given(ROWS)
def test_each_key_has_one_row(room: int, rows: list[dict[str, Any]]) -> None:
    """Also when the products of the counts do not fit into a number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "_ROOM", room)
        (made,) = grouped(encoded(table_of(rows), KEY), KEY, FOLDS)
    assert made.num_rows == len(by_hand(rows))
    assert values_of(decoded(made, SCHEMA)) == by_hand(rows)


@given(ROWS, ROWS)
def test_buckets_share_the_keys_out_and_each_key_stays_in_its_own(
    rows: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    bucket_of: dict[tuple[Any, ...], int] = {}
    for part in (rows, others):
        buckets = [decoded(t, SCHEMA) for t in grouped(encoded(table_of(part), KEY), KEY, FOLDS, 4)]
        together: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for number, table in enumerate(buckets):
            for key, values in values_of(table).items():
                assert bucket_of.setdefault(key, number) == number
                together[key] = values
        assert together == by_hand(part)


def test_the_last_of_several() -> None:
    table = encoded(table_of([{"name": "a", "sum": n} for n in (3, 9, 4)]), KEY)
    (made,) = grouped(table, KEY, {"sum": LAST})
    assert made["sum"].to_pylist() == [9]
