"""Each batch counts once, and what cannot be read says why."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hadash.lake import quarantine
from hadash.lake.access import SCHEMA, Hour, days, hours, table_of, write_batch
from hadash.lake.batches import look_at
from hadash.lake.store import Store

from .reports import NOON, first_version, put, report


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def test_a_batch_is_named_after_who_reports_and_lies_in_its_hour(store: Store) -> None:
    name = write_batch(store, "gw/1", [report()], NOON)
    assert name == f"access/date=2026-11-20/hour=12/gw%2F1-{int(NOON.timestamp() * 1000)}.parquet"
    assert write_batch(store, "gw/1", [report()], NOON) != name, "two batches of one millisecond are two"
    with store.open(name) as source:
        schema = pq.read_schema(source)
    assert (schema.names, schema.metadata[b"hadash.schema"]) == (SCHEMA.names, b"access/3")


def test_folders_that_are_no_hours_are_not_ours(store: Store) -> None:
    put(store, "a", report())
    for folder in ("access/date=2026-11-20/hour=99", "access/date=2026-13-40/hour=01", "access/lost+found"):
        store.write_json(f"{folder}/a.json", {})
    assert (days(store), hours(store)) == (["2026-11-20"], [Hour("2026-11-20", 12)])


def test_the_same_name_in_two_hours_is_one_batch(store: Store) -> None:
    first = put(store, "gateway-1-1", report())
    again = put(store, "gateway-1-1", report(), at=NOON + timedelta(hours=1))
    found = look_at(store, hours(store))
    assert ([file.name for file in found.files], [file.name for file in found.again]) == ([first], [again])


def test_reports_of_both_versions_can_be_read(store: Store) -> None:
    put(store, "old", report(), version=1)
    put(store, "new", report())
    assert look_at(store, hours(store)).rows == 2


class Away(Store):
    """A lake that is cut off in the middle of a file, which no folder can be made to do."""

    def open(self, name: str) -> pa.NativeFile:
        raise OSError(5, "Input/output error")


def test_a_file_that_cannot_be_read_because_the_lake_is_away_is_not_broken(store: Store) -> None:
    put(store, "a", report())
    found = hours(store)
    with pytest.raises(OSError, match="The lake cannot be read"):
        look_at(Away(store.address), found)
    assert look_at(store, found).rows == 1


def test_columns_of_a_later_version_do_no_harm(store: Store) -> None:
    table = table_of([report()])
    store.write_table(f"{Hour.of(NOON).folder}/a.parquet", table.append_column("mood", pa.array(["good"])))
    assert look_at(store, hours(store)).broken == {}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (table_of([report()]).drop(["cluster"]), "It has no column cluster."),
        (
            table_of([report()]).set_column(14, "requests", pa.array(["many"])),
            "Its column requests is string, and not int64.",
        ),
        (
            first_version(table_of([report()])).append_column("pair", pa.array([1])),
            "Its column pair is int64, and not string.",
        ),
    ],
)
def test_other_tables_are_broken(store: Store, table: pa.Table, why: str) -> None:
    name = f"{Hour.of(NOON).folder}/a.parquet"
    store.write_table(name, table)
    assert look_at(store, hours(store)).broken == {name: why}


def test_so_is_what_is_no_parquet(store: Store) -> None:
    name = f"{Hour.of(NOON).folder}/a.parquet"
    store.write_json(name, {"a": "mistake"})
    (why,) = look_at(store, hours(store)).broken.values()
    assert why.startswith("It is no whole Parquet file: ")


def test_what_is_put_aside_keeps_its_reason(store: Store) -> None:
    name = put(store, "a", report())
    quarantine.put_aside(store, name, "It is too blue.")
    assert look_at(store, hours(store)).files == []
    (aside,) = quarantine.files(store)
    assert (aside.name, aside.reason) == (name, "It is too blue.")
    quarantine.put_aside(store, name, "It is gone already.")
    assert len(quarantine.files(store)) == 1
