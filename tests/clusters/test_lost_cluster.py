"""Whoever asks a cluster about its groups while it dies, lives on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash.kafka.groups import REQUEST_SECONDS
from hadash_sandbox.kafka import KafkaCluster
from hadash_sandbox.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.long]

#: Eight threads that ask again and again, as those of a worker do. It says when each has had an answer.
ASKS = """
import json, sys, threading
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import ClusterAccess
client = ClusterClient(ClusterAccess(**json.loads(sys.argv[1])))
answered = threading.Semaphore(0)
def ask():
    had = 0
    while True:
        try:
            client.groups([f"g{n}" for n in range(5)])
            client.group_offsets([f"g{n}" for n in range(5)])
        except KafkaError:
            had = 0
            continue
        had += 1
        if had == 1:
            answered.release()
for _ in range(8):
    threading.Thread(target=ask, daemon=True).start()
for line in sys.stdin:
    for _ in range(8):
        answered.acquire()
    print("answered", flush=True)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    with Stack(tmp_path, clusters=("west",), with_connect=False) as stack:
        yield stack.kafka["west"]


def test_it_is_answered_again_when_the_cluster_is_back(cluster: KafkaCluster) -> None:
    """librdkafka's admin client ended the process here, nearly every time (see ``hadash/kafka/groups.py``)."""
    west = cluster.client_config()
    access = {
        "name": "west",
        "bootstrap_servers": west["bootstrap.servers"],
        "security_protocol": west["security.protocol"],
        "sasl_mechanism": west["sasl.mechanism"],
        "username": west["sasl.username"],
        "password": west["sasl.password"],
    }
    with subprocess.Popen(
        [sys.executable, "-c", ASKS, json.dumps(access)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as asking:
        assert asking.stdin is not None
        assert asking.stdout is not None
        try:
            for _ in range(3):
                print("wait", file=asking.stdin, flush=True)
                assert asking.stdout.readline() == "answered\n"
                for broker in cluster.brokers:
                    broker.kill()
                with pytest.raises(
                    subprocess.TimeoutExpired
                ):  # each thread has been refused at least once by then
                    asking.wait(timeout=2.5 * REQUEST_SECONDS)
                cluster.start(print)
            print("wait", file=asking.stdin, flush=True)
            assert asking.stdout.readline() == "answered\n"
        finally:
            asking.kill()
