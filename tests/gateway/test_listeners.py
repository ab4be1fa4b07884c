"""Every way in which clients come to a Gateway, and clusters of two versions and kinds behind it: east is
Kafka 3.9 with ZooKeeper, west is the newest Kafka in KRaft mode behind TLS.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from kazoo.client import KazooClient
from support.certificates import Authority
from support.environment import Cluster
from support.gateway import ControlPlane, GatewayProcess, Move, free_ports, new_control
from support.kafka import App, Clusters, consume, new_app, produce
from support.kraft import REAUTHENTICATION_MS, KRaft
from support.raw import NotSignedIn, RawClient
from support.running import Reader, Writer, assert_exactly_once
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.client_ids import NamedByClient
from hadash.identity.identity import Identity
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.kafka_python_client import KafkaPythonClient
from hadash.kafka.tls import Tls
from hadash.kafka.values import ClusterAccess

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def kraft(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KRaft]:
    first = free_ports(2)
    with KRaft(tmp_path_factory.mktemp("kraft"), (first, first + 1), authority) as running:
        yield running


@pytest.fixture(scope="module")
def mixed(kafka: Clusters, kraft: KRaft) -> Clusters:
    """The stack's east, and a cluster of another kind as west."""
    return Clusters({"east": kafka.described["east"], "west": kraft.cluster})


@pytest.fixture(scope="module")
def control(zookeeper_root: KazooClient, zookeeper_hosts: str, mixed: Clusters) -> Iterator[ControlPlane]:
    with new_control(zookeeper_root, zookeeper_hosts, mixed) as made:
        yield made


@pytest.fixture(scope="module")
def app(mixed: Clusters) -> Iterator[App]:
    """One AppID for all of these tests; each uses Topics of its own and puts bindings back."""
    with new_app(mixed) as made:
        yield made


@pytest.fixture(scope="module")
def accounts(app: App, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The AppID's account, for listeners on which it brings no password."""
    path = tmp_path_factory.mktemp("accounts") / "accounts.toml"
    path.touch(0o600)
    account = f'mechanism = "SCRAM-SHA-256"\nusername = "{app.appid}"\npassword = "{app.password}"\n'
    path.write_text(
        f"[appids.{app.appid}]\nunauthenticated = true\n"
        f"[appids.{app.appid}.east]\n{account}[appids.{app.appid}.west]\n{account}"
        f"[appids.closed.east]\n{account}"
    )
    return path


@pytest.fixture
def start(
    control: ControlPlane,
    zookeeper_hosts: str,
    authority: Authority,
    accounts: Path,
    tmp_path: Path,
) -> Iterator[Callable[..., GatewayProcess]]:
    """Starts a Gateway of a security protocol; it ends with the test."""
    issued = authority.issue("gateway")
    started: list[GatewayProcess] = []

    def make(protocol: str = "SASL_PLAINTEXT", **settings: object) -> GatewayProcess:
        gateway = GatewayProcess(
            control.chroot,
            zookeeper_hosts,
            tmp_path,
            f"gateway-{protocol.lower()}",
            HADASH_GATEWAY_SECURITY_PROTOCOL=protocol,
            HADASH_GATEWAY_UPSTREAM_CA=authority.certificate,
            HADASH_GATEWAY_TLS_CERTIFICATE=issued.certificate,
            HADASH_GATEWAY_TLS_KEY=issued.key,
            HADASH_GATEWAY_TLS_CLIENT_CA=authority.certificate,
            HADASH_GATEWAY_PRINCIPAL_MAPPING_RULES="RULE:^CN=(.*?),OU=Apps,O=Acme$/$1/, DEFAULT",
            HADASH_GATEWAY_ACCOUNTS=accounts,
            HADASH_GATEWAY_SASL_MECHANISMS="PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            **settings,
        )
        started.append(gateway)
        return gateway.__enter__()

    yield make
    for gateway in started:
        gateway.__exit__(None, None, None)


def there_and_back(
    control: ControlPlane, app: App, topic: str, group: str, writer: Writer, reader: Reader | None = None
) -> None:
    """East to west and back, under load. (No mirror: what is written on each side stays there.)"""
    for source in ("east", "west"):
        move = Move(control, Identity(app.appid), source)
        # As a switch does: a block that is written while somebody has to come back never comes into effect.
        # This waits for them.
        move.to(BindingState.HOLD_HEARTBEATS)
        move.block()
        joined = reader.joined if reader else 0
        move.forward(topic, groups=(group,))
        writer.wait_for_more(100)
        if reader:
            # On its way to its new coordinator it may hang up with a commit unanswered.
            eventually(partial(_has_joined, reader, joined), "the reader is a member again")


def _has_joined(reader: Reader, before: int) -> bool:
    return reader.joined > before


def test_clients_move_between_versions_and_kinds_of_clusters(
    start: Callable[..., GatewayProcess], control: ControlPlane, app: App, mixed: Clusters
) -> None:
    gateway = start()
    topic, group = app.topic(2), app.group()
    writing = {**app.config(gateway.bootstrap, enable_idempotence=True), "client.id": "writer"}
    reading = {**app.config(gateway.bootstrap), "client.id": "reader"}
    with Writer(writing, topic) as writer, Reader(reading, topic, group) as reader:
        eventually(lambda: len(reader.values) > 0, "first records")
        there_and_back(control, app, topic, group, writer, reader)
        writer.stop()
    held = assert_exactly_once(mixed, writer)
    assert min(held.values()) >= 100


class TestTls:
    def config(self, gateway: GatewayProcess, app: App, authority: Authority) -> dict[str, Any]:
        return {
            **app.config(gateway.bootstrap),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.certificate),
        }

    def test_sasl_over_tls_there_and_back(
        self,
        start: Callable[..., GatewayProcess],
        control: ControlPlane,
        app: App,
        authority: Authority,
        mixed: Clusters,
    ) -> None:
        gateway = start("SASL_SSL")
        topic = app.topic(2)
        with Writer(self.config(gateway, app, authority), topic) as writer:
            there_and_back(control, app, topic, app.group(), writer)
            writer.stop()
        assert_exactly_once(mixed, writer)

    def test_who_does_not_speak_tls_disturbs_nobody(
        self, start: Callable[..., GatewayProcess], app: App, authority: Authority, mixed: Clusters
    ) -> None:
        gateway = start("SASL_SSL")
        with RawClient(gateway.address) as stranger:
            stranger.send(ApiKey.API_VERSIONS, 0)
            assert stranger.receive() is None
        topic = app.topic()
        produce(self.config(gateway, app, authority), topic, b"one")
        assert mixed.values("east", topic) == [b"one"]


class TestClientCertificates:
    def tls(self, authority: Authority, name: str, issuer: Authority | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(authority.certificate))
        issued = (issuer or authority).issue(name)
        context.load_cert_chain(issued.certificate, issued.key)
        return context

    def test_the_certificate_is_the_appid(
        self,
        start: Callable[..., GatewayProcess],
        control: ControlPlane,
        app: App,
        authority: Authority,
        mixed: Clusters,
    ) -> None:
        gateway = start("SSL")
        issued = authority.issue(app.appid)
        topic = app.topic(2)
        config = {
            "bootstrap.servers": gateway.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.certificate),
            "ssl.certificate.location": str(issued.certificate),
            "ssl.key.location": str(issued.key),
            "log_level": 0,
        }
        with Writer(config, topic) as writer:
            assert {c["mechanism"] for c in gateway.clients(app.appid)} == {"SSL"}
            there_and_back(control, app, topic, app.group(), writer)
            writer.stop()
        assert_exactly_once(mixed, writer)

    @pytest.mark.parametrize(
        ("name", "client_id", "why"),
        [
            ("stranger", "raw", "has no account of AppID stranger on cluster east"),
            ("APP", "HA#closed#orders", "its client.id names AppID closed, but its certificate is"),
        ],
    )
    def test_who_cannot_be_served_is_turned_away_with_the_reason(
        self,
        start: Callable[..., GatewayProcess],
        app: App,
        authority: Authority,
        name: str,
        client_id: str,
        why: str,
    ) -> None:
        gateway = start("SSL")
        tls = self.tls(authority, app.appid if name == "APP" else name)
        with RawClient(gateway.address, client_id, tls) as client:
            client.send(ApiKey.METADATA, 1, topics=())
            assert client.receive() is None
        assert gateway.logged(why)
        assert gateway.refused("identity") == 1

    def test_a_certificate_of_somebody_else_opens_nothing(
        self, start: Callable[..., GatewayProcess], app: App, authority: Authority, tmp_path: Path
    ) -> None:
        gateway = start("SSL")
        forged = self.tls(authority, app.appid, Authority(tmp_path, "Forger"))
        without = ssl.create_default_context(cafile=str(authority.certificate))
        for context in (forged, without):
            with pytest.raises((OSError, AssertionError)), RawClient(gateway.address, tls=context) as client:
                client.call(ApiKey.METADATA, 1, topics=())
        assert gateway.clients(app.appid) == []

    def test_sasl_is_not_spoken_there(
        self, start: Callable[..., GatewayProcess], app: App, authority: Authority
    ) -> None:
        gateway = start("SSL")
        with RawClient(gateway.address, tls=self.tls(authority, app.appid)) as client:
            client.send(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
            assert client.receive() is None
        assert gateway.logged("SASL_HANDSHAKE on a listener without SASL")


class TestPlaintext:
    def config(self, gateway: GatewayProcess, client_id: str) -> dict[str, Any]:
        return {"bootstrap.servers": gateway.bootstrap, "client.id": client_id, "log_level": 0}

    def test_the_client_id_says_who_it_is(
        self, start: Callable[..., GatewayProcess], control: ControlPlane, app: App, mixed: Clusters
    ) -> None:
        gateway = start("PLAINTEXT")
        topic = app.topic(2)
        with Writer(self.config(gateway, NamedByClient(app.appid, topic).client_id), topic) as writer:
            there_and_back(control, app, topic, app.group(), writer)
            writer.stop()
        assert_exactly_once(mixed, writer)

    @pytest.mark.parametrize(
        ("client_id", "why"),
        [
            (
                "web-1",
                "nobody signs in on this listener: it serves clients whose client.id is HA#AppID#Topic",
            ),
            ("HA#closed#orders", "AppID closed may not be used without authentication"),
            ("HA#nobody#orders", "AppID nobody may not be used without authentication"),
        ],
    )
    def test_who_may_not_come_without_password_is_turned_away(
        self, start: Callable[..., GatewayProcess], client_id: str, why: str
    ) -> None:
        gateway = start("PLAINTEXT")
        with RawClient(gateway.address, client_id) as client:
            client.send(ApiKey.METADATA, 1, topics=())
            assert client.receive() is None
        assert gateway.logged(why)


def jwt(subject: str, seconds: float = 3600) -> str:
    """An unsecured token, as the test cluster takes it."""
    now = time.time()

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'sub': subject, 'iat': now, 'exp': now + seconds})}."


class TestBearerTokens:
    @pytest.fixture
    def on_west(
        self, control: ControlPlane, app: App, start: Callable[..., GatewayProcess]
    ) -> Iterator[GatewayProcess]:
        """A Gateway, with the AppID on the cluster that takes tokens."""
        gateway = start()
        control.bind(Identity(app.appid), "west")
        yield gateway
        control.bind(Identity(app.appid), "east")

    def test_a_client_is_signed_in_and_signs_in_again_in_time(
        self, on_west: GatewayProcess, app: App, mixed: Clusters
    ) -> None:
        topic = app.topic(2)
        config = {
            "bootstrap.servers": on_west.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": f"principal={app.appid}",
            "log_level": 0,
        }
        handshakes = 'hadash_gateway_requests_total{cluster="west",kind="SASL_HANDSHAKE"}'
        with Writer(config, topic) as writer:
            # The broker ends a session that is older; the Gateway sees the exchange that renews it.
            eventually(lambda: on_west.metric(handshakes) >= 2, "two renewed sign-ins", patience=60)
            writer.wait_for_more(100)
            writer.stop()
            assert (writer.errors, writer.reported) == ([], [])
        assert len(mixed.values("west", topic)) == len(writer.acknowledged)
        assert REAUTHENTICATION_MS < 20_000

    def test_a_token_that_the_cluster_refuses_opens_nothing(self, on_west: GatewayProcess, app: App) -> None:
        with RawClient(on_west.address) as client, pytest.raises(NotSignedIn):
            client.sign_in("", jwt(app.appid, seconds=-60), "OAUTHBEARER")
        assert on_west.clients(app.appid) == []

    def test_who_signs_in_again_as_somebody_else_is_turned_away(
        self, on_west: GatewayProcess, app: App
    ) -> None:
        with RawClient(on_west.address) as client:
            client.sign_in("", jwt(app.appid), "OAUTHBEARER")
            with pytest.raises(AssertionError, match="closed"):
                client.sign_in("", jwt("admin"), "OAUTHBEARER")
        assert on_west.logged("it signs in again as 'admin'")

    def test_or_with_another_mechanism(self, on_west: GatewayProcess, app: App) -> None:
        with RawClient(on_west.address) as client:
            client.sign_in("", jwt(app.appid), "OAUTHBEARER")
            with pytest.raises(AssertionError, match="closed"):
                client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        assert on_west.logged("it signs in again with 'SCRAM-SHA-256'")


class TestRedirect:
    """For clusters whose own engine blocks clients: look-ups pass, and name the brokers themselves."""

    def test_clients_are_sent_to_the_brokers_of_their_cluster(
        self, start: Callable[..., GatewayProcess], control: ControlPlane, app: App, mixed: Clusters
    ) -> None:
        gateway = start(HADASH_GATEWAY_MODE="redirect")
        for cluster in ("west", "east"):
            control.bind(Identity(app.appid), cluster)
            with RawClient(gateway.address) as client:
                client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
                answer = client.call(ApiKey.METADATA, 1, topics=())
            host, port = mixed.described[cluster].address
            assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(0, host, port)]

    def test_a_client_works_with_it(
        self, start: Callable[..., GatewayProcess], app: App, mixed: Clusters
    ) -> None:
        gateway = start(HADASH_GATEWAY_MODE="redirect")
        topic = app.topic()
        produce(app.config(gateway.bootstrap), topic, b"one")
        assert mixed.values("east", topic) == [b"one"]
        writes = 'hadash_gateway_requests_total{cluster="east",kind="PRODUCE"}'
        assert gateway.metric(writes) == 0

    def test_what_belongs_to_a_broker_is_sent_there(
        self, start: Callable[..., GatewayProcess], app: App, mixed: Clusters
    ) -> None:
        gateway = start(HADASH_GATEWAY_MODE="redirect")
        topic = app.topic()
        with RawClient(gateway.address) as client:
            client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
            client.send_produce(topic, b"astray")
            assert client.produce_error() is ErrorCode.not_leader_or_follower
        assert mixed.values("east", topic) == []


def test_transactions_are_served_where_they_are_admitted(
    start: Callable[..., GatewayProcess], app: App, mixed: Clusters
) -> None:
    gateway = start(HADASH_GATEWAY_TRANSACTIONS="relay")
    topic = app.topic()
    producer = Producer(app.config(gateway.bootstrap, transactional_id=f"{app.prefix}tx"))
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"kept")
    producer.commit_transaction(20)
    producer.begin_transaction()
    producer.produce(topic, b"dropped")
    producer.abort_transaction(20)
    produce(app.config(gateway.bootstrap), topic, b"after")
    east = app.config(mixed.described["east"].bootstrap_servers)
    assert consume(east, topic, app.group(), 2) == [b"kept", b"after"]


def test_a_cluster_with_kraft_tells_who_leads_its_controllers(mixed: Clusters) -> None:
    """(Here, because nothing else has such a cluster.)"""
    west = mixed.described["west"]
    client = KafkaPythonClient(_as_administrator(west))
    try:
        engine = client.engine()
        assert engine.kraft
        assert engine.controller == 0
        assert engine.epoch is not None and engine.epoch >= 1
        assert engine.version.startswith("4.")
        assert client.names() == sorted(client.names())
    finally:
        client.close()


def _as_administrator(west: Cluster) -> ClusterAccess:
    return ClusterAccess(
        west.name,
        west.bootstrap_servers,
        west.security_protocol,
        "PLAIN",
        west.admin_user,
        west.admin_password,
        Tls(Path(west.authority).read_text()),
    )


class TestBrokers:
    def test_one_that_is_added_is_found_and_one_that_dies_is_waited_for(
        self,
        start: Callable[..., GatewayProcess],
        control: ControlPlane,
        app: App,
        mixed: Clusters,
        kraft: KRaft,
    ) -> None:
        """The Gateway knew broker 0 of west when it started; METADATA that passes tells it of others."""
        gateway = start()
        control.bind(Identity(app.appid), "west")
        steady = app.topic(2)
        with Writer(app.config(gateway.bootstrap, enable_idempotence=True), steady) as beside:
            added = kraft.add_broker(1, free_ports(1))
            admin = mixed.admin("west")
            topic = f"{app.prefix}on-broker-1"
            eventually(lambda: len(admin.list_topics(timeout=10).brokers) == 2, "the second broker")
            admin.create_topics([NewTopic(topic, 2, replica_assignment=[[1], [1]])])[topic].result(20)
            eventually(lambda: mixed.leaders("west", topic) == (1, 1), "its leaders")
            with Writer(app.config(gateway.bootstrap, enable_idempotence=True), topic) as writer:
                assert gateway.metric('hadash_gateway_connections{cluster="west"}') >= 2
                added.kill()
                beside.wait_for_more(100)
                assert writer.errors == []
                added.start()
                added.wait_ready(60)
                writer.wait_for_more(50)
                writer.stop()
            beside.stop()
            assert (beside.errors, beside.reported) == ([], [])
        assert sorted(int(v) for v in mixed.values("west", topic)) == sorted(writer.acknowledged)
        control.bind(Identity(app.appid), "east")

    def test_hadash_reads_the_configs_of_each(self, mixed: Clusters, kraft: KRaft) -> None:
        """Each has to be asked by itself: librdkafka refuses to ask two at once."""
        if 1 not in kraft.brokers:
            kraft.add_broker(1, free_ports(1))
        client = ClusterClient(_as_administrator(mixed.described["west"]))
        try:
            eventually(lambda: sorted(number for number, _, _ in client.brokers()) == [0, 1], "both brokers")
            configs = client.broker_configs([0, 1])
            assert {number: each["node.id"] for number, each in configs.items()} == {0: "0", 1: "1"}
        finally:
            client.close()
