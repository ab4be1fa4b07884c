"""One Gateway for all tests that only need a healthy one, and Gateways of their own for the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from support import zookeeper as zk
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import Clusters


@pytest.fixture(scope="session")
def gateway_chroot(zookeeper_root: KazooClient) -> Iterator[str]:
    with zk.temporary_chroot(zookeeper_root) as path:
        yield path


@pytest.fixture(scope="session")
def control(zookeeper_hosts: str, gateway_chroot: str, kafka: Clusters) -> Iterator[ControlPlane]:
    """The control plane of the shared Gateway. Tests bind only AppIDs or client.ids of their own."""
    client = zk.patient_connect(zookeeper_hosts, gateway_chroot)
    made = ControlPlane(client, kafka, gateway_chroot)
    made.publish()
    yield made
    client.stop()
    client.close()


@pytest.fixture(scope="session")
def gateway(
    control: ControlPlane,
    gateway_chroot: str,
    zookeeper_hosts: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    """The shared Gateway."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    # Shorter times than in operation, so that a test need not wait as long.
    settings = {"HADASH_GATEWAY_TRAFFIC_SECONDS": 0.1, "HADASH_GATEWAY_AWAY_LOOKUP_SECONDS": 2}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, folder, **settings) as running:
        yield running
