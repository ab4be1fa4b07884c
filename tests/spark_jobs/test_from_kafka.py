"""Access reports come from a Topic of a real cluster, through Spark's own connector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.environment import Cluster
from support.kafka import App, Clusters, produce

from hadash.governance.models.runs import Run
from hadash.lake import quarantine
from hadash.lake.access import hours
from hadash.lake.batches import look_at
from hadash.lake.store import Store
from hadash.pipeline import running
from hadash_sandbox.downloads import SPARK_KAFKA_VERSION, spark_kafka_jars
from hadash_sandbox.java import find_java
from hadash_sandbox.kafka import plain_jaas
from spark import session

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.long]

MS = 1_795_177_800_000


def batch(number: int, *client_ids: str) -> bytes:
    reports = [
        {
            "appid": "shop",
            "client_id": client_id,
            "kind": "produce",
            "resource": "orders",
            "cluster": "east",
            "records": 5,
            "first_seen": MS,
            "last_seen": MS,
        }
        for client_id in client_ids
    ]
    return json.dumps({"reporter": "gateway-1", "batch": MS + number, "reports": reports}).encode()


def own_jars() -> str:
    """The jars of the connector, as somebody names them who cannot fetch any."""
    return "spark.jars=" + ",".join(str(jar) for jar in spark_kafka_jars(find_java()))


def read(store: Store, topic: str, properties: Path, more: str, database: str = "") -> dict[str, Any]:
    """Run the job in a process of its own; what it says."""
    environment = os.environ | {
        "SPARK_MASTER": "local[2]",
        "HADASH_SPARK_MEMORY": "512m",
        "HADASH_SPARK_MORE": more,
        "DATABASE_URL": database,
    }
    arguments = ["from-kafka", "--lake", store.address, "--topic", topic, "--kafka", str(properties)]
    done = subprocess.run(
        [sys.executable, "-m", "spark", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def client_ids(store: Store) -> list[str]:
    found: list[str] = []
    for file in look_at(store, hours(store)).files:
        with store.open(file.name) as source:
            found += pq.read_table(source)["client_id"].to_pylist()
    return sorted(found)


@pytest.fixture
def properties(clusters: dict[str, Cluster], tmp_path: Path) -> Path:
    east, found = clusters["east"], tmp_path / "east.properties"
    found.write_text(
        f"bootstrap.servers={east.bootstrap_servers}\n"
        f"# who reads\nsecurity.protocol={east.security_protocol}\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={plain_jaas(east.admin_user, east.admin_password)}\n"
    )
    return found


def test_a_topic_is_read_on_from_where_it_was_left(
    app: App, kafka: Clusters, properties: Path, tmp_path: Path
) -> None:
    store, topic = Store(str(tmp_path / "lake")), app.topic(partitions=2)
    config = app.config(kafka.described["east"].bootstrap_servers)
    produce(config, topic, batch(1, "web-1", "web-2"), b"nonsense")
    produce(config, topic, batch(2, "web-3"), partition=1)
    first = read(store, topic, properties, own_jars())
    assert (first["records"], first["reports"], first["unreadable"]) == (3, 3, 1)
    assert client_ids(store) == ["web-1", "web-2", "web-3"]
    (aside,) = quarantine.lines(store)
    assert store.read_json(aside)[0]["text"] == "nonsense"
    # The same batch once more, as Kafka may deliver it, and a new one.
    produce(config, topic, batch(1, "web-1", "web-2"), batch(3, "web-4"))
    second = read(store, topic, properties, own_jars())
    assert (second["records"], second["reports"]) == (2, 3)
    assert client_ids(store) == ["web-1", "web-2", "web-3", "web-4"]


@pytest.mark.django_db(transaction=True)
def test_with_a_database_it_is_a_run_that_people_see(
    app: App, kafka: Clusters, properties: Path, tmp_path: Path
) -> None:
    """Spark fetches its connector by itself."""
    store, topic = Store(str(tmp_path / "lake")), app.topic()
    produce(app.config(kafka.described["east"].bootstrap_servers), topic, batch(1, "web-1"), b"nonsense")
    said = read(store, topic, properties, "", running.conninfo())
    run = Run.objects.get()
    assert (run.pk, run.job, run.state) == (said["run"], Run.Job.FROM_KAFKA, Run.State.PUBLISHED)
    assert run.rows == {"records": 2, "reports": 1}
    reason = "It is no batch of access reports: reporter, batch, reports."
    assert run.quality == {"reports": 1, "unreadable": 1, "unreadable_reasons": [reason]}
    assert client_ids(store) == ["web-1"]


def test_the_connector_is_that_of_the_tests() -> None:
    told = session.for_kafka({"spark.jars.packages": "org.example:more:1"})["spark.jars.packages"]
    assert told == f"org.example:more:1,org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_KAFKA_VERSION}"
    assert session.for_kafka({"spark.jars": "/opt/spark-sql-kafka-0-10_2.13-4.2.0.jar"}) == {}
