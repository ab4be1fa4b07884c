"""A lake in an object store is the same lake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.s3 import object_store

from hadash.lake import access, compaction, quarantine, retention, snapshots
from hadash.lake.access import write_batch
from hadash.lake.batches import look_at
from hadash.lake.store import LakeError, Store
from spark.session import for_lake

AT = datetime(2026, 11, 20, 10, 5, tzinfo=UTC)
ROW: dict[str, Any] = {"gateway": "gateway-1", "appid": "购物", "first_seen": AT, "last_seen": AT}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with object_store() as found:
        yield found


@pytest.fixture
def store(address: str, request: pytest.FixtureRequest) -> Store:
    """A folder of the bucket for each test."""
    place, _, options = address.partition("?")
    return Store(f"{place}/{request.node.name}?{options}")


def test_batches_are_written_compacted_and_counted_once(store: Store) -> None:
    for second in range(6):
        write_batch(store, "gateway-1", [ROW], AT + timedelta(seconds=second))
    (hour,) = access.hours(store)
    done = compaction.compact(store, hour)
    assert done is not None
    assert (done.files_before, done.rows) == (6, 6)
    assert len(store.files(hour.folder)) == 1
    found = look_at(store, access.hours(store))
    assert (found.rows, len(found.batches)) == (6, 6)


def test_what_fails_while_it_is_written_is_not_there(store: Store) -> None:
    with pytest.raises(RuntimeError), store.writing("half.json") as sink:
        sink.write(b"[1,")
        raise RuntimeError
    assert not store.exists("half.json")
    assert store.files("") == {}


def test_what_cannot_be_read_is_put_aside(store: Store) -> None:
    with store.writing("access/date=2026-11-20/hour=10/odd.parquet") as sink:
        sink.write(b"no parquet")
    ((name, why),) = look_at(store, access.hours(store)).broken.items()
    quarantine.put_aside(store, name, why)
    (aside,) = quarantine.files(store)
    assert (aside.name, aside.size) == (name, 10)
    assert not store.exists(name)


def test_snapshots_and_days_expire(store: Store) -> None:
    snapshots.write(store, AT, {"clusters": [{"cluster": "east", "fault": ""}]})
    snapshots.write(store, AT + timedelta(days=1), {})
    write_batch(store, "gateway-1", [ROW], AT)
    write_batch(store, "gateway-1", [ROW], AT + timedelta(days=1))
    assert snapshots.expire(store, AT + timedelta(hours=1)) == 1
    assert [each.at for each in snapshots.whole(store)] == [AT + timedelta(days=1)]
    assert retention.expire(store, AT.date() + timedelta(days=1), 1) == ["2026-11-20"]
    assert access.days(store) == ["2026-11-21"]


def test_another_process_reaches_it_by_its_url(store: Store) -> None:
    """(Tasks of Spark's make a store of their own.)"""
    store.write_json("known.json", {"购物": 1})
    assert Store(store.url).read_json("known.json") == {"购物": 1}
    assert "?" not in store.for_spark("known.json")


def test_spark_is_told_the_same(store: Store) -> None:
    told = for_lake(store, {})
    assert told["spark.hadoop.fs.s3a.endpoint"] == f"http://{store.options['endpoint_override']}"
    assert told["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert told["spark.jars.packages"].startswith("org.apache.hadoop:hadoop-aws:3.")


def test_somebodys_own_hadoop_aws_goes_first(store: Store) -> None:
    assert "spark.jars.packages" not in for_lake(store, {"spark.jars": "/opt/hadoop-aws-3.5.0.jar"})
    both = for_lake(store, {"spark.jars.packages": "org.example:more:1"})["spark.jars.packages"]
    assert both.startswith("org.example:more:1,org.apache.hadoop:hadoop-aws:")


def test_a_folder_needs_nothing_of_it(tmp_path: Any) -> None:
    assert for_lake(Store(str(tmp_path)), {}) == {}


def test_an_address_that_nobody_knows_says_what_can_be(tmp_path: Any) -> None:
    with pytest.raises(LakeError, match="A folder, s3a://… and hdfs://… can"):
        Store("gopher://lake")
