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

from hadash.lake.access import hours
from hadash.lake.batches import look_at
from hadash.lake.store import Store
from hadash.sandbox.downloads import spark_kafka_jars
from hadash.sandbox.java import find_java
from hadash.sandbox.kafka import plain_jaas

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


def read(store: Store, topic: str, properties: Path) -> dict[str, Any]:
    """Run the job in a process of its own; what it says."""
    jars = ",".join(str(jar) for jar in spark_kafka_jars(find_java()))
    environment = os.environ | {
        "SPARK_MASTER": "local[2]",
        "HADASH_SPARK_MEMORY": "512m",
        "HADASH_SPARK_MORE": f"spark.jars={jars}",
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


def test_a_topic_is_read_on_from_where_it_was_left(
    app: App, kafka: Clusters, clusters: dict[str, Cluster], tmp_path: Path
) -> None:
    east = clusters["east"]
    properties = tmp_path / "east.properties"
    properties.write_text(
        f"bootstrap.servers={east.bootstrap_servers}\n"
        f"# who reads\nsecurity.protocol={east.security_protocol}\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={plain_jaas(east.admin_user, east.admin_password)}\n"
    )
    store, topic = Store(str(tmp_path / "lake")), app.topic(partitions=2)
    config = app.config(kafka.described["east"].bootstrap_servers)
    produce(config, topic, batch(1, "web-1", "web-2"), b"nonsense")
    produce(config, topic, batch(2, "web-3"), partition=1)
    first = read(store, topic, properties)
    assert (first["records"], first["reports"], first["unreadable"]) == (3, 3, 1)
    assert client_ids(store) == ["web-1", "web-2", "web-3"]
    (aside,) = store.files("quarantine/lines")
    assert store.read_json(aside)[0]["text"] == "nonsense"
    # The same batch once more, as Kafka may deliver it, and a new one.
    produce(config, topic, batch(1, "web-1", "web-2"), batch(3, "web-4"))
    second = read(store, topic, properties)
    assert (second["records"], second["reports"]) == (2, 3)
    assert client_ids(store) == ["web-1", "web-2", "web-3", "web-4"]
