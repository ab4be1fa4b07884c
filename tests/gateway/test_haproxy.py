"""Real load balancers around a Gateway, that tell each other by the PROXY protocol whose connection it is.

client → HAProxy (``send-proxy-v2``) → Gateway → HAProxy (``accept-proxy``) → broker, TLS on the last part.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from support.certificates import Authority
from support.gateway import ControlPlane, GatewayProcess, free_ports, new_control
from support.haproxy import HAProxy
from support.kafka import App, Clusters, consume, new_app, produce
from support.kraft import KRaft
from support.quotas import quotas_of
from support.raw import RawClient
from support.waiting import eventually

from hadash.bindings import catalogue
from hadash.bindings.model import Broker, ClusterDescription
from hadash.gateway.protocol import proxy_protocol
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.proxy_protocol import Endpoint, Passed
from hadash.identity.identity import Identity
from hadash.kafka.values import DEFAULT, QuotaEntity

pytestmark = pytest.mark.stack

#: Where clients are, other than HAProxy and the Gateway.
CLIENT_HOST = "127.0.0.77"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def ports() -> list[int]:
    first = free_ports(4)
    return [first + each for each in range(4)]


@pytest.fixture(scope="module")
def balanced(
    authority: Authority, ports: list[int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KRaft]:
    """A cluster that the Gateway reaches through HAProxy only."""
    client, controller, behind, before = ports
    with KRaft(
        tmp_path_factory.mktemp("kraft"), (client, controller), authority, (behind, before)
    ) as running:
        yield running


@pytest.fixture(scope="module")
def before_brokers(
    balanced: KRaft, ports: list[int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HAProxy]:
    _, _, behind, before = ports
    haproxy = HAProxy(tmp_path_factory.mktemp("haproxy"))
    haproxy.pass_on("brokers", before, behind, bind="accept-proxy")
    with haproxy:
        yield haproxy


@pytest.fixture(scope="module")
def mixed(kafka: Clusters, balanced: KRaft) -> Clusters:
    return Clusters({"east": kafka.described["east"], "west": balanced.cluster})


@pytest.fixture(scope="module")
def control(
    zookeeper_root: KazooClient, zookeeper_hosts: str, mixed: Clusters, ports: list[int]
) -> Iterator[ControlPlane]:
    """What Gateways are told: HAProxy is the way to west, from the first connection on."""
    with new_control(zookeeper_root, zookeeper_hosts, mixed) as made:
        west, port = mixed.described["west"], ports[3]
        broker = Broker(0, "127.0.0.1", port)
        description = ClusterDescription(
            west.name, west.number, f"127.0.0.1:{port}", west.security_protocol, brokers=(broker,)
        )
        catalogue.publish_cluster(made.client, description)
        yield made


@pytest.fixture(scope="module")
def app(mixed: Clusters) -> Iterator[App]:
    with new_app(mixed) as made:
        yield made


@pytest.fixture
def start(
    control: ControlPlane, before_brokers: HAProxy, zookeeper_hosts: str, authority: Authority, tmp_path: Path
) -> Iterator[Callable[..., GatewayProcess]]:
    started: list[GatewayProcess] = []

    def make(**settings: object) -> GatewayProcess:
        gateway = GatewayProcess(
            control.chroot,
            zookeeper_hosts,
            tmp_path,
            HADASH_GATEWAY_UPSTREAM_CA=authority.certificate,
            HADASH_GATEWAY_UPSTREAM_PROXY_PROTOCOL="west",
            **{f"HADASH_GATEWAY_{name}": value for name, value in settings.items()},
        )
        started.append(gateway)
        return gateway.__enter__()

    yield make
    for gateway in started:
        gateway.__exit__(None, None, None)


@pytest.fixture
def on_west(control: ControlPlane, app: App) -> App:
    """The AppID is served from behind HAProxy."""
    control.store.change([control.edit(Identity(app.appid), "west")])
    return app


class Client(RawClient):
    """One of another address."""

    def __init__(self, port: int, begins_with: Callable[[Endpoint], bytes] = lambda own: b"") -> None:
        self.client_id = "far"
        self._socket = socket.create_connection(("127.0.0.1", port), 20, source_address=(CLIENT_HOST, 0))
        self._correlation_id = 0
        self.own = Endpoint(*self._socket.getsockname()[:2])
        self._socket.sendall(begins_with(self.own))

    @property
    def address(self) -> str:
        return f"{self.own.host}:{self.own.port}"

    def shake_hands(self, tls: ssl.SSLContext) -> None:
        self._socket = tls.wrap_socket(self._socket, server_hostname="127.0.0.1")

    def begin(self, app: App) -> Client:
        self.call(
            ApiKey.API_VERSIONS, 3, client_software_name="far-client", client_software_version="1.2.3-rc.4"
        )
        self.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        self.call(ApiKey.FIND_COORDINATOR, 2, key="group", key_type=0)  # its answer is a broker's
        return self


def seen(haproxy: HAProxy, client: Client) -> bool:
    """Whether the HAProxy before the brokers was told of this client."""
    return {"client": client.address, "header": "1"} in haproxy.sessions("brokers")


def test_brokers_are_told_the_address_of_a_client(
    start: Callable[..., GatewayProcess], before_brokers: HAProxy, balanced: KRaft, on_west: App
) -> None:
    gateway = start()
    with Client(gateway.port) as client:
        client.begin(on_west)
        assert eventually(lambda: seen(before_brokers, client), "the client's address at HAProxy")
        (known,) = gateway.clients(on_west.appid)
        assert known["host"] == CLIENT_HOST
        # What the broker itself shows of the client (KIP-511).
        shown = r'"softwareName":"far-client","softwareVersion":"1\.2\.3-rc\.4"'
        found = eventually(
            lambda: re.search(rf".*FIND_COORDINATOR.*{shown}.*", balanced.request_log), "the client's library"
        )
        assert f'"principal":"User:{on_west.appid}"' in found.group(0)
        assert '"clientId":"far"' in found.group(0)


def test_the_gateways_own_connections_speak_for_themselves(
    start: Callable[..., GatewayProcess], before_brokers: HAProxy
) -> None:
    """LOCAL: a header that names nobody. HAProxy shows who has connected to it."""
    before = len(before_brokers.sessions("brokers"))
    start()

    def own() -> bool:
        new = before_brokers.sessions("brokers")[before:]
        return any(s["header"] == "1" and s["client"].startswith("127.0.0.1:") for s in new)

    assert eventually(own, "a connection of the Gateway's own")


def test_clients_write_and_read_through_all_of_it(start: Callable[..., GatewayProcess], on_west: App) -> None:
    gateway, topic = start(), on_west.topic()
    produce(on_west.config(gateway.bootstrap), topic, b"one", b"two")
    assert consume(on_west.config(gateway.bootstrap), topic, on_west.group(), 2) == [b"one", b"two"]


def test_where_the_setting_is_off_nothing_is_told(
    start: Callable[..., GatewayProcess], app: App, control: ControlPlane
) -> None:
    """East's brokers take no header, and get none."""
    gateway, topic = start(), app.topic()
    control.bind(Identity(app.appid), "east")
    produce(app.config(gateway.bootstrap), topic, b"one")


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_load_balancer_before_the_gateway_says_whose_connection_it_is(
    start: Callable[..., GatewayProcess],
    before_brokers: HAProxy,
    on_west: App,
    authority: Authority,
    tmp_path: Path,
    protocol: str,
) -> None:
    """And the Gateway tells the brokers so. With TLS the header comes before the handshake, on both sides."""
    issued = authority.issue("gateway")
    gateway = start(
        PROXY_PROTOCOL_FROM="127.0.0.0/30",
        SECURITY_PROTOCOL=protocol,
        TLS_CERTIFICATE=issued.certificate,
        TLS_KEY=issued.key,
    )
    haproxy, port = HAProxy(tmp_path), free_ports(1)
    haproxy.pass_on("clients", port, gateway.port, server="send-proxy-v2")
    with haproxy, Client(port) as client:
        if protocol == "SASL_SSL":
            client.shake_hands(ssl.create_default_context(cafile=str(authority.certificate)))
        client.begin(on_west)
        assert eventually(lambda: seen(before_brokers, client), "the client's address at HAProxy")
        (known,) = gateway.clients(on_west.appid)
        assert known["host"] == CLIENT_HOST


def test_a_cluster_with_kraft_has_quotas_too(mixed: Clusters) -> None:
    """(Here and not with the others, because here is such a cluster.)"""
    entities = [
        QuotaEntity(user="t-shop"),
        QuotaEntity(user="t-shop", client_id=DEFAULT),
        QuotaEntity(client_id=DEFAULT),
        QuotaEntity(user="CN=订单, OU=a/b c", client_id="HA#t-shop#a%2Fb"),
    ]
    with quotas_of(mixed.described["west"]) as quotas:
        for entity in entities:
            quotas.set(entity, producer_byte_rate=1e12, controller_mutation_rate=99.5)
        quotas.set(QuotaEntity(ip="10.99.99.99"), connection_creation_rate=1000)
        for entity in entities:
            eventually(lambda entity=entity: quotas.of(entity), f"a quota of {entity}")
            assert quotas.of(entity) == {"producer_byte_rate": 1e12, "controller_mutation_rate": 99.5}
        eventually(lambda: quotas.of(QuotaEntity(ip="10.99.99.99")), "one of an address")


class TestHeadersAreBelievedFrom:
    """Only those who are named; anybody else could name any address."""

    @staticmethod
    def lie(own: Endpoint) -> bytes:
        return proxy_protocol.encode(Passed(Endpoint("192.0.2.1", 1), Endpoint("192.0.2.2", 2)))

    def test_nobody_without_the_setting(self, start: Callable[..., GatewayProcess]) -> None:
        gateway = start()
        with Client(gateway.port, self.lie) as client:
            assert client.receive() is None
        assert eventually(lambda: gateway.refused("protocol"), "the refusal") == 1

    def test_nobody_from_elsewhere(self, start: Callable[..., GatewayProcess], on_west: App) -> None:
        gateway = start(PROXY_PROTOCOL_FROM="127.0.0.1")
        with Client(gateway.port, self.lie) as client:
            assert client.receive() is None
        assert eventually(lambda: gateway.refused("protocol"), "the refusal") == 1
        with Client(gateway.port) as client:  # without one it is a client like any other
            client.begin(on_west)

    def test_those_named(
        self, start: Callable[..., GatewayProcess], before_brokers: HAProxy, on_west: App
    ) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=f"10.0.0.0/8,{CLIENT_HOST}")
        with Client(gateway.port, self.lie) as client:
            client.begin(on_west)
            (known,) = gateway.clients(on_west.appid)
            assert known["host"] == "192.0.2.1"
            told = {"client": "192.0.2.1:1", "header": "1"}
            assert eventually(lambda: told in before_brokers.sessions("brokers"), "the address at HAProxy")

    def test_who_is_named_and_speaks_for_itself(
        self, start: Callable[..., GatewayProcess], on_west: App
    ) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST)
        with Client(gateway.port, lambda own: proxy_protocol.LOCAL) as client:
            client.begin(on_west)
            (known,) = gateway.clients(on_west.appid)
            assert known["host"] == CLIENT_HOST

    def test_who_is_named_and_sends_none_is_refused(self, start: Callable[..., GatewayProcess]) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST)
        with Client(gateway.port) as client:
            client.send(ApiKey.API_VERSIONS, 2)
            assert client.receive() is None
        assert eventually(lambda: gateway.refused("proxy header"), "the refusal") == 1
        gateway.logged("does not begin with a header of the PROXY protocol, version 2")

    @pytest.mark.parametrize("begin", [b"", proxy_protocol.SIGNATURE, proxy_protocol.LOCAL[:-1]])
    def test_one_that_does_not_come_in_time(self, start: Callable[..., GatewayProcess], begin: bytes) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST, PROXY_HEADER_SECONDS=0.5)
        with Client(gateway.port, lambda own: begin) as client:
            assert client.receive() is None
        assert eventually(lambda: gateway.refused("proxy header"), "the refusal") == 1

    def test_one_that_is_too_long(self, start: Callable[..., GatewayProcess]) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST)
        header = proxy_protocol.LOCAL[:-2] + b"\xff\xff"
        with Client(gateway.port, lambda own: header + bytes(3000)) as client:
            assert client.receive() is None
        gateway.logged("65551 bytes; 2048 are allowed")

    def test_a_health_check_that_only_connects_is_no_refusal(
        self, start: Callable[..., GatewayProcess]
    ) -> None:
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST)
        for _ in range(3):
            Client(gateway.port).close()
        with Client(gateway.port) as client:
            client.send(ApiKey.API_VERSIONS, 2)
            assert client.receive() is None
        assert eventually(lambda: gateway.refused("proxy header"), "the refusal") == 1

    def test_hosts_are_counted_as_they_are_named(
        self, start: Callable[..., GatewayProcess], on_west: App
    ) -> None:
        """Behind a load balancer, too, one host has no more connections that are not signed in than it may."""
        gateway = start(PROXY_PROTOCOL_FROM=CLIENT_HOST, MAX_UNAUTHENTICATED_PER_HOST=2)
        same = [Client(gateway.port, self.lie) for _ in range(3)]
        reason = "unauthenticated connections of a host"
        assert eventually(lambda: gateway.refused(reason), "the refusal of one of three") == 1
        with Client(gateway.port, lambda own: proxy_protocol.LOCAL) as another:
            another.begin(on_west)
        for client in same:
            client.close()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("PROXY_PROTOCOL_FROM", "balancer.example", "is no address and no network"),
        ("UPSTREAM_PROXY_PROTOCOL", "south", "the pair has no cluster south; it has east, west"),
    ],
)
def test_settings_that_cannot_be_used(
    control: ControlPlane, zookeeper_hosts: str, tmp_path: Path, name: str, value: str, why: str
) -> None:
    gateway = GatewayProcess(control.chroot, zookeeper_hosts, tmp_path, **{f"HADASH_GATEWAY_{name}": value})
    process = gateway.launch()
    assert process.wait(30) != 0
    assert f"HADASH_GATEWAY_{name}" in gateway.log()
    assert why in gateway.log()
