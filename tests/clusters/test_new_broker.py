"""A broker that has just been started knows no brokers yet. hadash asks again, and its process lives on."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors
from support.environment import Cluster
from support.new_broker import new_broker
from support.waiting import SLOWER

from hadash.kafka import cluster_requests
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import BrokerInfo, ClusterAccess

#: Asks who the brokers are for each line that it reads, with a second's patience, and says what came of it.
ASKS = """
import sys
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import ClusterAccess
client = ClusterClient(ClusterAccess("west", sys.argv[1], "PLAINTEXT", "", "", ""))
for line in sys.stdin:
    try:
        print([broker.id for broker in client.nodes()[0]], flush=True)
    except KafkaError as error:
        print(error, flush=True)
"""


def told(**answer: Any) -> Any:
    """An admin client that gets this answer."""
    return SimpleNamespace(ask=lambda request: SimpleNamespace(**{"controller_id": 2, **answer}))


def broker(number: int, rack: str | None = None) -> Any:
    return SimpleNamespace(node_id=number, host=f"b{number}", port=9092, rack=rack)


def test_it_is_asked_again() -> None:
    with pytest.raises(errors.MetadataEmptyBrokerList) as raised:
        cluster_requests.nodes(told(brokers=[]))
    assert raised.value.retriable


def test_brokers_come_in_their_order_with_racks_and_controller() -> None:
    found = cluster_requests.nodes(told(brokers=[broker(2, "b"), broker(1)]))
    assert found == ([BrokerInfo(1, "b1", 9092, ""), BrokerInfo(2, "b2", 9092, "b")], 2)
    assert cluster_requests.nodes(told(brokers=[broker(1)], controller_id=-1))[1] is None


def test_the_process_lives_on() -> None:
    """(librdkafka's DescribeCluster aborted it here, each time: docs/adr/0011-two-admin-clients.md.)"""
    with (
        new_broker() as broker,
        subprocess.Popen(
            [sys.executable, "-c", ASKS, broker.address],
            env={"HADASH_KAFKA_REQUEST_SECONDS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as asking,
    ):
        assert asking.stdin is not None
        assert asking.stdout is not None
        told = []
        for broker.knows in (True, False, True):
            print("ask", file=asking.stdin, flush=True)
            told.append(asking.stdout.readline().strip())
        assert told[0] == told[2] == "[0]"
        assert told[1].startswith("Cluster west did not answer within 1 s")
        asking.stdin.close()
        assert asking.wait(60 * SLOWER) == 0


@pytest.mark.stack
@pytest.mark.parametrize("name", ["east", "west"])
def test_real_brokers(clusters: dict[str, Cluster], name: str) -> None:
    config = clusters[name].client_config()
    client = ClusterClient(
        ClusterAccess(
            name=name,
            bootstrap_servers=config["bootstrap.servers"],
            security_protocol=config["security.protocol"],
            sasl_mechanism=config["sasl.mechanism"],
            username=config["sasl.username"],
            password=config["sasl.password"],
        )
    )
    brokers, controller = client.nodes()
    assert [(b.id, b.host, b.port) for b in brokers] == client.brokers()
    assert controller in {b.id for b in brokers}
