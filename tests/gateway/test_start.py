"""A Gateway that cannot start says why in one sentence, and ends with exit code 2."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from support import zookeeper as zk
from support.gateway import ControlPlane, GatewayProcess, exit_of
from support.kafka import App, Clusters, produce
from support.raw import RawClient
from support.waiting import eventually

from hadash.bindings import catalogue, layout
from hadash.bindings.membership import members
from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.gateway import remembered
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


@pytest.fixture
def make(chroot: str, zookeeper_hosts: str, tmp_path: Path) -> Callable[..., GatewayProcess]:
    """A Gateway of the test's own, not started yet."""

    def factory(hosts: str = zookeeper_hosts, **settings: object) -> GatewayProcess:
        return GatewayProcess(chroot, hosts, tmp_path, **settings)

    return factory


@pytest.fixture
def client(chroot: str, zookeeper_hosts: str) -> Iterator[KazooClient]:
    made = zk.patient_connect(zookeeper_hosts, chroot)
    yield made
    made.stop()
    made.close()


def test_zookeeper_does_not_answer(make: Callable[..., GatewayProcess]) -> None:
    gateway = make(hosts="127.0.0.1:1", HADASH_ZOOKEEPER_CONNECT_TIMEOUT=1)
    assert exit_of(gateway.launch()) == 2
    assert gateway.log().splitlines()[-1] == (
        "ZooKeeper at 127.0.0.1:1 does not answer within 1 s. "
        "Check ZOOKEEPER_HOSTS and that the ensemble has a leader."
    )
    assert "Traceback" not in gateway.log()


def test_the_pair_is_not_known(make: Callable[..., GatewayProcess]) -> None:
    gateway = make(HADASH_GATEWAY_PAIR="mian")
    assert exit_of(gateway.launch()) == 2
    assert gateway.log() == (
        "ZooKeeper knows no pair 'mian'. Register it in hadash, or set HADASH_GATEWAY_PAIR.\n"
    )


def test_a_cluster_of_the_pair_is_not_known(make: Callable[..., GatewayProcess], client: KazooClient) -> None:
    catalogue.publish_cluster(client, ClusterDescription("east", 1, "127.0.0.1:1"))
    catalogue.publish_pair(client, PairDescription("main", ("east", "west"), "east"))
    gateway = make()
    assert exit_of(gateway.launch()) == 2
    assert gateway.log() == "ZooKeeper knows no cluster 'west' of pair 'main'. Register it in hadash.\n"


def test_zookeeper_knows_less_than_was_in_effect_here(
    make: Callable[..., GatewayProcess], client: KazooClient, tmp_path: Path
) -> None:
    """It was put back to an older state: its bindings would lead clients to clusters that they have left."""
    catalogue.publish_cluster(client, ClusterDescription("east", 1, "127.0.0.1:1"))
    catalogue.publish_cluster(client, ClusterDescription("west", 2, "127.0.0.1:1"))
    catalogue.publish_pair(client, PairDescription("main", ("east", "west"), "east"))
    state = tmp_path / "state"
    remembered.note(state, 7)
    gateway = make(HADASH_GATEWAY_STATE=state)
    assert exit_of(gateway.launch()) == 2
    assert gateway.log().startswith(
        "ZooKeeper has forgotten changes of bindings: its last epoch is 0, and 7 was in effect here when "
        "this Gateway ran last. "
    )
    assert f"delete {state / 'epoch'}." in gateway.log()


def test_the_port_is_taken(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters
) -> None:
    ControlPlane(client, kafka, chroot).publish()
    gateway = make()
    with socket.create_server(gateway.address):
        assert exit_of(gateway.launch()) == 2
    last = gateway.log().splitlines()[-1]
    assert last.startswith("The Gateway cannot listen (")
    assert last.endswith("Choose a free HADASH_GATEWAY_PORT.")
    assert members(client) == []


def test_the_admin_port_is_taken(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters
) -> None:
    ControlPlane(client, kafka, chroot).publish()
    gateway = make()
    with socket.create_server(("127.0.0.1", gateway.admin_port)):
        assert exit_of(gateway.launch()) == 2
    assert "Traceback" not in gateway.log()
    assert members(client) == []


def test_a_broker_has_no_port(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters
) -> None:
    control = ControlPlane(client, kafka, chroot)
    control.publish(west={1001: ("127.0.0.1", 1)})
    gateway = make()
    assert exit_of(gateway.launch()) == 2
    assert (
        gateway.log().splitlines()[-1].startswith("Broker 1001 of cluster west has no port on this Gateway")
    )


def test_a_cluster_that_is_down_is_no_obstacle(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters, app: App
) -> None:
    """The lost cluster of a forced switch: clients that are bound to the other one are served."""
    control = ControlPlane(client, kafka, chroot)
    control.publish()
    dead = Broker(0, "127.0.0.1", 1)
    catalogue.publish_cluster(client, ClusterDescription("east", 1, "127.0.0.1:1", brokers=(dead,)))
    control.store.change([control.edit(Identity(app.appid), "west")])
    topic = app.topic()
    with make() as gateway:
        assert gateway.logged("of cluster east at 127.0.0.1:1 cannot be reached")
        produce(app.config(gateway.bootstrap), topic, b"one")
        with RawClient(gateway.address) as client, pytest.raises(AssertionError, match="closed"):
            client.sign_in("shop", "shop-secret")  # bound to east by default
        assert gateway.logged(
            "client 127.0.0.1 .*: broker 0 of cluster east at 127.0.0.1:1 cannot be reached"
        )
        assert gateway.refused("cluster") == 1
    assert kafka.values("west", topic) == [b"one"]


def test_who_is_bound_to_a_cluster_outside_the_pair_is_turned_away_with_the_reason(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters, app: App
) -> None:
    control = ControlPlane(client, kafka, chroot)
    control.publish()
    control.store.change([control.edit(Identity(app.appid), "north")])
    with make() as gateway:
        with RawClient(gateway.address) as client_of_north, pytest.raises(AssertionError, match="closed"):
            client_of_north.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        assert gateway.logged("a binding leads to cluster 'north', which pair main does not have")
        assert gateway.refused("cluster") == 1


def test_bindings_are_in_effect_before_anybody_is_served(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters, app: App
) -> None:
    control = ControlPlane(client, kafka, chroot)
    control.publish()
    epoch = control.store.change([control.edit(Identity(app.appid), "west")])
    topic = app.topic()
    with make() as gateway:
        assert gateway.ask("/status")["applied"] == epoch
        produce(app.config(gateway.bootstrap), topic, b"one")
    assert kafka.values("west", topic) == [b"one"]


def test_whose_binding_cannot_be_read_is_not_served_until_it_can(
    make: Callable[..., GatewayProcess], client: KazooClient, chroot: str, kafka: Clusters, app: App
) -> None:
    """Bound to west by a document that a newer control plane wrote: the pair's default would be a second cluster for
    its writes. And it has not put into effect what it does not know."""
    control = ControlPlane(client, kafka, chroot)
    control.publish()
    epoch = control.store.change([control.edit(Identity(app.appid), "west")])
    path = layout.binding(app.appid)
    readable, _ = client.get(path)
    client.set(path, readable.replace(b'"forward"', b'"tomorrow"'))
    topic = app.topic()
    with make() as gateway:
        assert gateway.ask("/status")["applied"] == 0
        with RawClient(gateway.address) as refused, pytest.raises(AssertionError, match="closed"):
            refused.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        assert gateway.logged(
            f"the binding document of {app.appid} cannot be read, so its cluster is not known"
        )
        assert gateway.logged(f"Repair or delete {chroot}{path} in ZooKeeper")
        with RawClient(gateway.address) as other:
            other.sign_in("shop", "shop-secret")
        control.store.change([control.edit(Identity("somebody-else"), "west")])
        eventually(lambda: gateway.logged("bindings of somebody-else"), "the next change is known")
        assert gateway.ask("/status")["applied"] == 0
        # By hand, without a change node.
        client.set(path, readable)
        eventually(lambda: gateway.ask("/status")["applied"] == epoch + 1, "all is in effect")
        produce(app.config(gateway.bootstrap), topic, b"one")
    assert kafka.values("west", topic) == [b"one"]


def test_what_was_seen_is_in_the_lake_when_it_ends(
    make: Callable[..., GatewayProcess],
    client: KazooClient,
    chroot: str,
    kafka: Clusters,
    app: App,
    tmp_path: Path,
) -> None:
    ControlPlane(client, kafka, chroot).publish()
    topic = app.topic()
    with make(HADASH_GATEWAY_LAKE=tmp_path / "lake") as gateway:
        produce(app.config(gateway.bootstrap, client_id="web-1"), topic, b"one", b"two")
        # Who asks for all Topics uses none: the lake hears of it, hadash's own table does not.
        AdminClient(app.config(gateway.bootstrap, client_id="lister")).list_topics(timeout=10)
        assert {fact["client_id"] for fact in gateway.ask("/access")["access"]} == {"web-1"}
        assert gateway.stop() == 0
    (file,) = (tmp_path / "lake").glob("access/date=*/hour=*/*.parquet")
    rows = pq.read_table(file, partitioning=None).to_pylist()
    assert sorted((r["appid"], r["client_id"], r["kind"], r["resource"], r["records"]) for r in rows) == [
        (app.appid, "lister", "list", "*", 0),
        (app.appid, "web-1", "produce", topic, 2),
    ]
