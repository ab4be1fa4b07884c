"""Snapshots in the lake: whole or not there, readable also when they are older than a column."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from hadash.lake import snapshots
from hadash.lake.snapshots import TABLES
from hadash.lake.store import Store

NOON = datetime(2026, 11, 20, 12, 0, 0, 123_456, UTC)
BROKER = {
    "cluster": "east",
    "broker": 1,
    "host": "10.0.0.1",
    "port": 9092,
    "configs": {"super.users": "User:admin"},
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "lake"))


def test_what_was_written_is_read_with_every_table(store: Store) -> None:
    written = snapshots.write(
        store, NOON, {"brokers": [BROKER], "lag": [{"pair": "main", "mirror": "m", "at": NOON}]}
    )
    assert written.at == NOON.replace(microsecond=123_000)
    found = snapshots.newest(store)
    assert found == written
    (row,) = snapshots.read(store, written, "brokers").to_pylist()
    assert (row["host"], dict(row["configs"]), row["rack"]) == (
        "10.0.0.1",
        {"super.users": "User:admin"},
        None,
    )
    for name in TABLES:
        assert snapshots.read(store, written, name).schema == TABLES[name]


def test_one_that_is_not_whole_is_not_there(store: Store) -> None:
    first = snapshots.write(store, NOON, {})
    later = snapshots.write(store, NOON + timedelta(hours=1), {"brokers": [BROKER]})
    store.delete(f"{later.place}/snapshot.json")
    assert snapshots.newest(store) == first
    assert snapshots.whole(store) == [first]


def test_a_value_that_does_not_fit_leaves_nothing_to_read(store: Store) -> None:
    with pytest.raises(pa.ArrowException):
        snapshots.write(store, NOON, {"brokers": [{"broker": "one"}]})
    with pytest.raises(KeyError, match="There is no table moods"):
        snapshots.write(store, NOON, {"moods": []})
    assert snapshots.newest(store) is None


def test_a_column_that_an_older_one_did_not_have_is_null(store: Store) -> None:
    written = snapshots.write(store, NOON, {})
    store.write_table(
        written.table("users"), pa.table({"cluster": ["east"], "user": ["shop"], "mood": ["good"]})
    )
    assert snapshots.read(store, written, "users").to_pylist() == [
        {"cluster": "east", "user": "shop", "mechanisms": None}
    ]
    store.delete(written.table("groups"))
    assert snapshots.read(store, written, "groups").num_rows == 0, (
        "a table that an older one did not have is empty"
    )


def test_those_since_a_moment(store: Store) -> None:
    kept = [snapshots.write(store, NOON + timedelta(hours=hours), {}) for hours in (-30, -2, 0)]
    assert snapshots.whole(store, NOON - timedelta(hours=24)) == kept[1:]
    assert snapshots.whole(store) == kept


def test_old_ones_go_and_the_newest_stays(store: Store) -> None:
    for days in (40, 35, 31):
        last = snapshots.write(store, NOON - timedelta(days=days), {})
    torn = snapshots.write(store, NOON - timedelta(days=33), {})
    store.delete(f"{torn.place}/snapshot.json")
    (store_folder := Path(store.address) / "snapshots" / "notes").mkdir()
    assert snapshots.expire(store, NOON - timedelta(days=30)) == 3
    assert snapshots.whole(store) == [last]
    assert store_folder.exists(), "what is not ours stays"
    assert not any("date=2026-10-11" in name for name in store.folders("snapshots"))
