"""Small files of an hour become one, and no batch is ever counted twice or lost, wherever that is interrupted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hadash.lake.access import LATE_FOLDER, Hour, hours
from hadash.lake.batches import look_at
from hadash.lake.compaction import compact, settled
from hadash.lake.quarantine import Unreadable, lines, put_lines_aside
from hadash.lake.retention import expire
from hadash.lake.store import Store

from .reports import NOON, put, report

HOUR = Hour.of(NOON)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def rows(store: Store) -> list[str]:
    """The client.ids of all rows that count, sorted."""
    found = []
    for file in look_at(store, hours(store)).files:
        with store.open(file.name) as source:
            found += [row["client_id"] for row in pq.read_table(source).to_pylist()]
    return sorted(found)


def test_files_become_one_with_todays_columns(store: Store) -> None:
    put(store, "a", report("1"), report("2"), version=1)
    for number in (3, 4, 5):
        put(store, f"b-{number}", report(str(number)))
    compacted = compact(store, HOUR)
    assert compacted is not None
    assert (compacted.files_before, compacted.rows) == (4, 5)
    (name,) = store.files(HOUR.folder)
    assert rows(store) == ["1", "2", "3", "4", "5"]
    with store.open(name) as source:
        table = pq.read_table(source)
    assert sorted(map(str, table.column("pair").to_pylist())) == ["None", "None", "main", "main", "main"]
    assert compact(store, HOUR) is None, "there is nothing to be gained any more"


def test_few_files_are_left_alone(store: Store) -> None:
    put(store, "a", report())
    assert compact(store, HOUR) is None


def test_what_comes_later_is_taken_in(store: Store) -> None:
    for number in range(4):
        put(store, f"a-{number}", report(f"a{number}"))
    compact(store, HOUR)
    for number in range(4):
        put(store, f"b-{number}", report(f"b{number}"))
    compact(store, HOUR)
    assert len(store.files(HOUR.folder)) == 1
    assert rows(store) == ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"]


@pytest.mark.parametrize("deleted", range(9))
def test_killed_before_any_of_the_old_files_is_gone(
    store: Store, monkeypatch: pytest.MonkeyPatch, deleted: int
) -> None:
    """Also while what was compacted before is compacted once more."""
    for number in range(4):
        put(store, f"a-{number}", report(f"a{number}"))
    compact(store, HOUR)
    for number in range(7):
        put(store, f"b-{number}", report(f"b{number}"))
    before = rows(store)
    left = deleted

    def dies(self: Store, name: str) -> None:
        nonlocal left
        if not left:
            raise SystemExit
        left -= 1
        delete(self, name)

    delete = Store.delete
    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete", dies)
        try:
            compact(store, HOUR)
        except SystemExit:
            pass
    assert rows(store) == before
    compact(store, HOUR)
    assert (rows(store), len(store.files(HOUR.folder))) == (before, 1)


def test_a_batch_that_came_again_in_a_later_hour_is_left_out_there(store: Store) -> None:
    put(store, "a-0", report("a0"))
    later = NOON + timedelta(hours=1)
    for number in range(5):
        put(store, f"a-{number}", report(f"a{number}"), at=later)
    compact(store, Hour.of(later))
    assert rows(store) == ["a0", "a1", "a2", "a3", "a4"]


def test_a_file_that_is_torn_stops_nothing(store: Store, tmp_path: Path) -> None:
    """Its footer is whole, so nobody knows before the rows are read. The job that counts them puts it aside."""
    for number in range(4):
        put(store, f"b-{number}", report(str(number)))
    torn = tmp_path / put(store, "torn", *(report(f"web-{n}", records=n) for n in range(1000)))
    content = bytearray(torn.read_bytes())
    content[4:600] = bytes(596)
    torn.write_bytes(content)
    assert compact(store, HOUR) is None
    assert len(store.files(HOUR.folder)) == 5


def test_what_cannot_be_written_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        put(store, f"a-{number}", report(f"a{number}"))
    before = store.files(HOUR.folder)

    def full(*args: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="no space left"):
        compact(store, HOUR)
    assert store.files(HOUR.folder, deep=True) == before


def test_an_hour_is_settled_some_hours_after_its_end(store: Store) -> None:
    put(store, "a", report())
    end = HOUR.begin + timedelta(hours=1)
    assert settled(store, end + timedelta(hours=1, minutes=59)) == []
    assert settled(store, end + timedelta(hours=2)) == [HOUR]


def test_what_was_put_aside_of_old_days_goes_with_them(store: Store) -> None:
    for age in (2, 3):
        day = (NOON - timedelta(days=age)).date()
        put_lines_aside(store, "batch", day, [Unreadable("nonsense", "It is none.")])
        store.write_json(f"{LATE_FOLDER}/date={day}/batch.json", {})
    put(store, "new", report())
    expire(store, NOON.date(), 3)
    assert lines(store) == ["quarantine/lines/date=2026-11-18/batch.json"]
    assert store.folders(LATE_FOLDER) == ["date=2026-11-18"]


def test_old_days_are_removed_but_never_the_newest(store: Store) -> None:
    for age in range(5):
        put(store, "a", report(), at=NOON - timedelta(days=age))
    assert expire(store, NOON.date(), 3) == ["2026-11-16", "2026-11-17"]
    assert expire(store, NOON.date() + timedelta(days=100), 1) == ["2026-11-18", "2026-11-19"]
    assert [hour.date for hour in hours(store)] == ["2026-11-20"]
