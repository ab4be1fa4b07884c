"""The process of a client survives the loss of its cluster, and a cluster that hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hadash.kafka.group_admin import REQUEST_SECONDS
from hadash_sandbox.kafka import KafkaCluster
from hadash_sandbox.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.long]

#: A thread for each question, that asks again and again, as those of a worker do. It says when each has had an answer.
ASKS = """
import json, sys, threading
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import ClusterAccess, Partition
client = ClusterClient(ClusterAccess(**json.loads(sys.argv[1])))
client.create_topics({"orders": (1, 1, {})})
questions = [
    lambda: client.groups([f"g{n}" for n in range(5)]),
    lambda: client.group_offsets([f"g{n}" for n in range(5)]),
    client.scram_users,
    client.acls,
    client.quotas,
    client.topics,
    client.nodes,
    lambda: client.end_offsets([Partition("orders", 0)]),
    lambda: client.topic_configs(["orders"]),
]
answered = threading.Semaphore(0)
def ask(question):
    had = 0
    while True:
        try:
            question()
        except KafkaError:
            had = 0
            continue
        had += 1
        if had == 1:
            answered.release()
for question in questions:
    threading.Thread(target=ask, args=(question,), daemon=True).start()
for line in sys.stdin:
    for _ in questions:
        answered.acquire()
    print("answered", flush=True)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    with Stack(tmp_path, clusters=("west",), with_connect=False) as stack:
        yield stack.kafka["west"]


def kill(cluster: KafkaCluster) -> None:
    for broker in cluster.brokers:
        broker.kill()


def pause(cluster: KafkaCluster) -> None:
    for broker in cluster.brokers:
        broker.pause()


def resume(cluster: KafkaCluster) -> None:
    for broker in cluster.brokers:
        broker.resume()


def start(cluster: KafkaCluster) -> None:
    cluster.start(print)


@pytest.mark.parametrize(("lose", "bring_back"), [(kill, start), (pause, resume)], ids=["killed", "paused"])
def test_it_is_answered_again_when_the_cluster_is_back(
    cluster: KafkaCluster,
    lose: Callable[[KafkaCluster], None],
    bring_back: Callable[[KafkaCluster], None],
) -> None:
    """librdkafka's admin client ended the process here, nearly every time (see ``hadash/kafka/calls.py``)."""
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
                lose(cluster)
                # Each thread has been refused at least once by then.
                with pytest.raises(subprocess.TimeoutExpired):
                    asking.wait(timeout=2.5 * REQUEST_SECONDS)
                bring_back(cluster)
            print("wait", file=asking.stdin, flush=True)
            assert asking.stdout.readline() == "answered\n"
        finally:
            asking.kill()
