"""A lake in an object store, or in HDFS, is the same lake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from support.hdfs import hadoop
from support.s3 import object_store

from hadash.lake import access, compaction, quarantine, retention, snapshots
from hadash.lake.access import write_batch
from hadash.lake.batches import look_at
from hadash.lake.hdfs import TIMEOUT_SECONDS
from hadash.lake.store import LakeError, Store
from spark.session import for_lake

AT = datetime(2026, 11, 20, 10, 5, tzinfo=UTC)
ROW: dict[str, Any] = {"gateway": "gateway-1", "appid": "购物", "first_seen": AT, "last_seen": AT}


@pytest.fixture(scope="module", params=["s3a", pytest.param("hdfs", marks=pytest.mark.long)])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with object_store() if request.param == "s3a" else hadoop(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture
def store(address: str, request: pytest.FixtureRequest) -> Store:
    """A folder of it for each test."""
    place, _, options = address.partition("?")
    return Store(f"{place}/{request.node.name.partition('[')[0]}?{options}")


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


def test_what_is_there_is_replaced_in_one_step(store: Store) -> None:
    store.write_json("manifest.json", {"version": 1})
    store.write_json("manifest.json", {"version": 2})
    assert store.read_json("manifest.json") == {"version": 2}
    assert list(store.files("")) == ["manifest.json"]


def test_what_is_not_there_is_empty_and_gone_already(store: Store) -> None:
    assert store.files("nothing") == {}
    assert store.folders("nothing") == []
    assert store.read_json("nothing.json") is None
    store.delete("nothing.json")
    store.delete_folder("nothing")


@pytest.fixture
def bucket() -> Store:
    """An address; nobody is asked."""
    return Store("s3a://lake/hadash?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1")


def test_spark_is_told_the_same(bucket: Store) -> None:
    told = for_lake(bucket, {})
    assert told["spark.hadoop.fs.s3a.endpoint"] == f"http://{bucket.options['endpoint_override']}"
    assert told["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert told["spark.jars.packages"].startswith("org.apache.hadoop:hadoop-aws:3.")


def test_somebodys_own_hadoop_aws_goes_first(bucket: Store) -> None:
    assert "spark.jars.packages" not in for_lake(bucket, {"spark.jars": "/opt/hadoop-aws-3.5.0.jar"})
    both = for_lake(bucket, {"spark.jars.packages": "org.example:more:1"})["spark.jars.packages"]
    assert both.startswith("org.example:more:1,org.apache.hadoop:hadoop-aws:")


def test_a_folder_needs_nothing_of_it(tmp_path: Any) -> None:
    assert for_lake(Store(str(tmp_path)), {}) == {}


def test_an_address_that_nobody_knows_says_what_can_be(tmp_path: Any) -> None:
    with pytest.raises(LakeError, match="A folder, s3a://… and hdfs://… can"):
        Store("gopher://lake")


class TestNameNodes:
    """What HDFS says when a NameNode is not the one that is active, with servers of the test's own."""

    @pytest.fixture
    def answers(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """By host and port: (status, what it says), or an error that is raised."""
        found: dict[str, Any] = {}

        def request(session: Any, method: str, url: str, **asked: Any) -> requests.Response:
            assert asked["timeout"] == TIMEOUT_SECONDS
            said = found[url.split("/")[2]]
            if isinstance(said, Exception):
                raise said
            answer = requests.Response()
            answer.status_code = said[0]
            answer._content = json.dumps(said[1]).encode()
            return answer

        monkeypatch.setattr(requests.Session, "request", request)
        return found

    STANDBY = (
        403,
        {
            "RemoteException": {
                "exception": "StandbyException",
                "message": "Operation category READ is not supported in state standby",
            }
        },
    )
    THERE = (200, {"FileStatus": {"type": "FILE", "length": 3}})
    LAKE = "hdfs://bank/lake?webhdfs=nn1:9870,https://nn2:9871"

    def test_the_active_one_is_asked(self, answers: dict[str, Any]) -> None:
        for other in (self.STANDBY, requests.ConnectionError("refused")):
            answers |= {"nn1:9870": other, "nn2:9871": self.THERE}
            assert Store(self.LAKE).exists("a.json")

    def test_when_none_answers_it_is_the_lakes_fault(self, answers: dict[str, Any]) -> None:
        answers |= {"nn1:9870": self.STANDBY, "nn2:9871": requests.ConnectionError("refused")}
        with pytest.raises(OSError, match="refused"):
            Store(self.LAKE).exists("a.json")

    def test_what_is_not_allowed_is_said(self, answers: dict[str, Any]) -> None:
        denied = {"exception": "AccessControlException", "message": "Permission denied: user=eve"}
        answers |= {"nn1:9870": (403, {"RemoteException": denied}), "nn2:9871": self.THERE}
        with pytest.raises(PermissionError, match="user=eve"):
            Store(self.LAKE).exists("a.json")

    def test_spark_is_told_its_own_address(self) -> None:
        assert Store(self.LAKE).for_spark("tables") == "hdfs://bank/lake/tables"

    def test_an_address_without_a_namenode(self) -> None:
        with pytest.raises(LakeError, match="says no NameNode"):
            Store("hdfs:///lake")
