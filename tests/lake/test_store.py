"""The lake's files appear whole or not at all, wherever it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hadash.lake.store import LakeError, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "the lake"))


def test_a_file_appears_whole(store: Store) -> None:
    store.write_table("access/date=2026-11-21/a.parquet", pa.table({"a": [1]}))
    assert list(store.files("access", deep=True)) == ["access/date=2026-11-21/a.parquet"]
    with store.open("access/date=2026-11-21/a.parquet") as source:
        assert pq.read_table(source).to_pydict() == {"a": [1]}


def test_or_not_at_all(store: Store, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space left"), store.writing("access/a.parquet") as sink:
        sink.write(b"half")
        raise OSError("no space left")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_object_store_is_sent_nothing_of_what_failed(store: Store, tmp_path: Path) -> None:
    """(Tried on a folder that is treated as one: an upload that was begun would be completed.)"""
    store.write_json("first.json", {})
    store._shows_whole = True
    with pytest.raises(OSError, match="no space left"), store.writing("a.json") as sink:
        sink.write(b"half")
        raise OSError("no space left")
    assert list(store.files("")) == ["first.json"]
    store.write_json("a.json", {"whole": True})
    assert store.read_json("a.json") == {"whole": True}
    assert sorted(path.name for path in (tmp_path / "the lake").iterdir()) == ["a.json", "first.json"]


def test_what_is_in_the_making_is_not_listed(store: Store) -> None:
    with store.writing("access/a.parquet") as sink:
        sink.write(b"half")
        assert store.files("access") == {}
    assert list(store.files("access")) == ["access/a.parquet"]


def test_a_folder_that_does_not_exist_is_empty(store: Store) -> None:
    assert (store.files("access"), store.folders("access"), store.read_json("a.json")) == ({}, [], None)
    store.delete("a.json")
    store.delete_folder("access")


def test_json_comes_back_and_is_replaced(store: Store) -> None:
    store.write_json("购物.json", {"购": 1})
    store.write_json("购物.json", {"物": 2})
    assert store.read_json("购物.json") == {"物": 2}


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/var/lib/lake/", "file:///var/lib/lake/access"),
        ("file:///var/lib/lake", "file:///var/lib/lake/access"),
        ("s3a://bucket/lake?region=eu-west-1", "s3a://bucket/lake/access"),
    ],
)
def test_spark_is_told_the_same_place(address: str, told: str) -> None:
    assert Store(address).for_spark("access") == told


def test_an_address_that_nobody_knows_is_refused() -> None:
    with pytest.raises(LakeError, match="'gopher://lake' cannot be reached"):
        Store("gopher://lake")
