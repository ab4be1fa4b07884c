"""The same jobs on a lake in an object store or in HDFS, by its address alone.

Spark fetches its way to S3 from Maven Central (some 700 MB, once); to HDFS it has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.hdfs import hadoop
from support.s3 import object_store

from hadash.lake.access import write_batch
from hadash.lake.store import Store
from spark import manifest

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROOT = Path(__file__).resolve().parent.parent.parent


def job(name: str, lake: str) -> dict[str, Any]:
    """Run a job in a process of its own; what it said."""
    # (Without a database, also where a stack has one: facts are no run then.)
    environment = {**os.environ, "SPARK_MASTER": "local[2]", "HADASH_SPARK_MEMORY": "1g", "DATABASE_URL": ""}
    command = [sys.executable, "-m", "spark", name, "--lake", lake, "--pairs", "east=main,west=main"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def report(appid: str, at: datetime) -> dict[str, Any]:
    return {
        "gateway": "gateway-1", "appid": appid, "client_id": "web-1", "kind": "produce", "resource": "orders",
        "cluster": "east", "host": "10.0.0.1", "library": "", "version": "", "requests": 1, "records": 1, "bytes": 1,
        "first_seen": at, "last_seen": at,
    }  # fmt: skip


@pytest.fixture(params=["s3a", "hdfs"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with object_store() if request.param == "s3a" else hadoop(tmp_path / "hdfs") as found:
        yield found


def test_facts_are_made_there(lake: str) -> None:
    now = datetime.now(UTC)
    store = Store(lake)
    write_batch(store, "gateway-1", [report("购物", now), report("billing", now)], now)
    said = job("facts", lake)
    assert (said["rows"], said["malformed"]) == (2, {})
    known = manifest.read(store)
    assert known.newest == f"{now:%Y-%m-%d}"
    assert store.files(known.facts)
    assert job("facts", lake)["days"] == []  # nothing has come


def test_spark_itself_reads_and_writes_there(lake: str) -> None:
    """(The jobs that publish read facts, and write what they have made, through Spark's own S3A, or its HDFS
    client.)
    """
    environment = {**os.environ, "LAKE": lake}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "3 ['orders', '订单']"


SCRIPT = """
import os
from hadash.lake.store import Store
from spark import session
store = Store(os.environ["LAKE"])
spark = session.start("s3", session.SparkSettings(master="local[2]", memory="1g"), store)
rows = spark.createDataFrame([(1, "orders"), (2, "订单"), (3, "orders")], "n int, topic string")
rows.write.parquet(store.for_spark("tables/x/1"))
read = spark.read.parquet(store.for_spark("tables/x/1"))
print(read.count(), sorted(row.topic for row in read.select("topic").distinct().collect()))
"""
