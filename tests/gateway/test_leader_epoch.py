"""Partitions whose leader has changed, as all have sooner or later. On a stack of its own, whose broker is killed."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import zookeeper as zk
from support.environment import Cluster
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, Clusters, consume, known_app, produce
from support.waiting import eventually

from hadash_sandbox.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.long]


@pytest.fixture
def own_stack() -> Iterator[Stack]:
    # Not pytest's folder: PostgreSQL refuses folders that others may not enter.
    folder = Path(tempfile.mkdtemp(prefix="hadash-epoch-"))
    try:
        with Stack(folder, with_connect=False) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_clusters(own_stack: Stack) -> Clusters:
    described = [cluster.describe() for cluster in own_stack.kafka.values()]
    return Clusters(
        {
            str(d["name"]): Cluster(
                str(d["name"]),
                int(str(d["id"])),
                str(d["bootstrap_servers"]),
                str(d["admin_user"]),
                str(d["admin_password"]),
            )
            for d in described
        }
    )


@pytest.fixture
def own_app(own_clusters: Clusters) -> Iterator[App]:
    with known_app(own_clusters, "shop", "shop-secret") as made:
        yield made


def raise_leader_epoch(stack: Stack, path: str) -> None:
    """As every election of a leader does; a cluster of one broker has none."""
    with zk.janitor(stack.zookeeper.address) as client:
        state = json.loads(client.get(path)[0])
        client.set(path, json.dumps({**state, "leader_epoch": state["leader_epoch"] + 7}).encode())


def test_a_consumer_reads_under_a_higher_leader_epoch(
    own_stack: Stack, own_clusters: Clusters, own_app: App, tmp_path: Path
) -> None:
    """librdkafka makes 0 of an epoch that is -1 when METADATA is of a version whose epochs it takes for reliable, and a
    leader with a higher epoch refuses such a FETCH for ever."""
    topic, group = own_app.topic(), own_app.group()
    direct = own_app.config(own_clusters.described["east"].bootstrap_servers, "PLAIN")
    produce(direct, topic, b"one")
    east = own_stack.kafka["east"]
    east.brokers[0].kill()
    raise_leader_epoch(own_stack, f"{east.chroot}/brokers/topics/{topic}/partitions/0/state")
    east.start(lambda line: None)
    eventually(lambda: own_clusters.values("east", topic) == [b"one"], "its partition", patience=60)
    produce(direct, topic, b"two")

    hosts = own_stack.zookeeper.address
    with zk.janitor(hosts) as root, zk.temporary_chroot(root) as chroot:
        client = zk.patient_connect(hosts, chroot)
        ControlPlane(client, own_clusters, chroot).publish()
        with GatewayProcess(chroot, hosts, tmp_path) as gateway:
            found = consume(own_app.config(gateway.bootstrap, "PLAIN"), topic, group, 2)
        client.stop()
        client.close()
    assert found == [b"one", b"two"]
