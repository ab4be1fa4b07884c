"""A Gateway with proxies in between: to east's broker, and to ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from kazoo.client import KazooClient
from support import gateway as support
from support import zookeeper as zk
from support.gateway import ControlPlane, GatewayProcess, Move
from support.kafka import App, Clusters
from support.proxy import Proxy
from support.zookeeper import SESSION_SECONDS

from hadash.identity.identity import Identity

#: Short, so that a test need not wait long for a request that waits too long.
PARK_SECONDS = 2


@pytest.fixture(scope="package")
def broker(kafka: Clusters) -> Iterator[Proxy]:
    """The way to east's broker. (Only raw clients come here: METADATA would tell the broker's own address.)"""
    with Proxy(kafka.brokers("east")[0], receive_bytes=4096) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def the_broker_goes_on(broker: Proxy) -> Iterator[None]:
    """Whatever became of a test: the next one finds a broker that answers."""
    yield
    broker.release()


@pytest.fixture(scope="package")
def ensemble(zookeeper_hosts: str) -> Iterator[Proxy]:
    """The Gateway's way to ZooKeeper."""
    with Proxy(zk.address_of(zookeeper_hosts)) as proxy:
        yield proxy


@pytest.fixture(scope="package")
def new_control(
    zookeeper_root: KazooClient, zookeeper_hosts: str, kafka: Clusters, broker: Proxy
) -> Iterator[Callable[[], ControlPlane]]:
    """Control planes at chroots of their own, for which east's broker is the proxy."""
    with ExitStack() as stack:

        def make() -> ControlPlane:
            east = {0: ("127.0.0.1", broker.port)}
            return stack.enter_context(support.new_control(zookeeper_root, zookeeper_hosts, kafka, east=east))

        yield make


@pytest.fixture(scope="package")
def control(new_control: Callable[[], ControlPlane]) -> ControlPlane:
    """The control plane of the Gateway that most tests here share."""
    return new_control()


@pytest.fixture(scope="package")
def new_gateway(ensemble: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., GatewayProcess]:
    settings = {
        "HADASH_GATEWAY_PARK_SECONDS": PARK_SECONDS,
        "HADASH_GATEWAY_SLOW_BLOCK_SECONDS": 0.2,
    }

    def make(
        control: ControlPlane,
        name: str = "gateway-1",
        session: float = SESSION_SECONDS,
        linger: float = 20,
        **more: object,
    ) -> GatewayProcess:
        own = {"HADASH_ZOOKEEPER_SESSION_TIMEOUT": session, "HADASH_GATEWAY_LINGER_SECONDS": linger, **more}
        folder = tmp_path_factory.mktemp("faults")
        return GatewayProcess(control.chroot, ensemble.address, folder, name, **settings, **own)

    return make


@pytest.fixture(scope="package")
def gateway(control: ControlPlane, new_gateway: Callable[..., GatewayProcess]) -> Iterator[GatewayProcess]:
    with new_gateway(control) as running:
        yield running


@pytest.fixture
def move(control: ControlPlane, app: App) -> Move:
    return Move(control, Identity(app.appid), "east")
