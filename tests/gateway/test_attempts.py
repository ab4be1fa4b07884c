"""Attempts to reach a cluster, or to act as an AppID, other than one's own. None of them gets anywhere.

(On the other listeners: tests/gateway/test_listeners.py. What names nobody: test_strangers.py.)
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, Clusters
from support.messages import nested
from support.raw import NotSignedIn, RawClient

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


@pytest.fixture
def victim(shared_app: App) -> App:
    return shared_app


def test_with_the_name_of_another_and_ones_own_password(
    gateway: GatewayProcess, app: App, victim: App
) -> None:
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"):
        with RawClient(gateway.address) as client, pytest.raises(NotSignedIn):
            client.sign_in(victim.appid, app.password, mechanism)


def test_as_oneself_on_behalf_of_another(gateway: GatewayProcess, app: App, victim: App) -> None:
    """The authorization id of SASL."""
    with RawClient(gateway.address) as client:
        client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        with pytest.raises(NotSignedIn, match="authorization id other than the user name"):
            client._authenticate(f"{victim.appid}\0{app.appid}\0{app.password}".encode())


def test_with_a_client_id_that_names_another(gateway: GatewayProcess, app: App, victim: App) -> None:
    with (
        RawClient(gateway.address, f"HA#{victim.appid}#orders") as client,
        pytest.raises(NotSignedIn, match=r"The client.id names AppID"),
    ):
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")


def test_with_a_client_id_that_becomes_anothers_after_the_sign_in(
    gateway: GatewayProcess, app: App, victim: App
) -> None:
    with RawClient(gateway.address, "mine") as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        client.client_id = f"HA#{victim.appid}#orders"
        client.send(ApiKey.METADATA, 1, topics=())
        assert client.receive() is None


class TestANameThatComesAfterTheSignIn:
    """Java before 2.6 signs in without one when none is configured, and makes its requests with one that it
    has made up.
    """

    @pytest.fixture
    def nameless(self, gateway: GatewayProcess, app: App) -> Iterator[RawClient]:
        with RawClient(gateway.address, "") as client:
            yield client.sign_in(app.appid, app.password, "SCRAM-SHA-256")

    def test_is_its_name_from_then_on(self, nameless: RawClient, gateway: GatewayProcess, app: App) -> None:
        nameless.client_id = "consumer-group-1"
        topic = app.topic()
        assert {t.name for t in nameless.call(ApiKey.METADATA, 1, topics=None).topics} >= {topic}
        assert [each["client_id"] for each in gateway.clients(app.appid)] == ["consumer-group-1"]
        nameless.send_produce(topic, b"one")
        assert nameless.produce_error() is ErrorCode.none

    def test_cannot_be_another_appids(
        self, nameless: RawClient, gateway: GatewayProcess, victim: App
    ) -> None:
        nameless.client_id = f"HA#{victim.appid}#orders"
        nameless.send(ApiKey.METADATA, 1, topics=())
        assert nameless.receive() is None
        assert gateway.logged("names another AppID than")

    def test_cannot_come_after_a_request(self, nameless: RawClient, gateway: GatewayProcess) -> None:
        nameless.call(ApiKey.METADATA, 1, topics=())
        nameless.client_id = "somebody-after-all"
        nameless.send(ApiKey.METADATA, 1, topics=())
        assert nameless.receive() is None
        assert gateway.logged("the client.id changes to 'somebody-after-all' on one connection")

    def test_cannot_lead_elsewhere_than_it_has_signed_in(
        self, gateway: GatewayProcess, app: App, control: ControlPlane
    ) -> None:
        control.bind(Identity(app.appid, instance_id="made-up"), "west")
        with RawClient(gateway.address, "") as client:
            client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
            client.client_id = "made-up"
            client.send(ApiKey.METADATA, 1, topics=())
            assert client.receive() is None
        assert gateway.logged("made-up is bound elsewhere than")


def test_with_a_client_id_that_changes_in_the_middle_of_the_sign_in(
    gateway: GatewayProcess, app: App, victim: App
) -> None:
    with RawClient(gateway.address, "mine") as client:
        client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        finish = client.begin_scram(app.appid, app.password)
        client.client_id = f"HA#{victim.appid}#orders"
        with pytest.raises(AssertionError, match="the connection was closed"):
            finish()
    assert gateway.logged(f"the client.id changes to 'HA#{victim.appid}#orders' on one connection")


def test_by_signing_in_as_another_on_the_same_connection(
    gateway: GatewayProcess, app: App, victim: App
) -> None:
    """This cluster knows no re-authentication. (One that does: test_listeners.py; there the Gateway ends it.)"""
    with RawClient(gateway.address) as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        with pytest.raises(NotSignedIn, match="illegal_sasl_state"):
            client.sign_in(victim.appid, victim.password, "SCRAM-SHA-256")
        assert [c["appid"] for c in gateway.clients(app.appid)] == [app.appid]
        assert gateway.clients(victim.appid) == []


def test_to_the_other_cluster_through_its_nodes_port(
    gateway: GatewayProcess, app: App, kafka: Clusters
) -> None:
    """It comes out at its own cluster, where that node leads nothing."""
    topic = app.topic()
    with RawClient(gateway.node_address("west"), "there") as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        assert [c["cluster"] for c in gateway.clients(app.appid)] == ["east"]
        client.send_produce(topic, b"astray")
        assert client.produce_error() is ErrorCode.not_leader_or_follower
    assert kafka.values("west", topic) == kafka.values("east", topic) == []


def test_to_the_cluster_of_another_by_being_bound_elsewhere(
    gateway: GatewayProcess, control: ControlPlane, app: App, victim: App, kafka: Clusters
) -> None:
    """The binding of another AppID's Topic says nothing about one's own."""
    topic = victim.topic()
    control.bind(Identity(victim.appid, topics=(topic,)), "west")
    with RawClient(gateway.node_address("west")) as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        assert [c["cluster"] for c in gateway.clients(app.appid)] == ["east"]
        client.send_produce(topic, b"astray")
        assert client.produce_error() is ErrorCode.not_leader_or_follower
    assert kafka.values("west", topic) == []


def test_to_see_the_topics_of_another(gateway: GatewayProcess, app: App, victim: App) -> None:
    foreign, own = victim.topic(), app.topic()
    with RawClient(gateway.address) as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        asked = build(nested(ApiKey.METADATA, 1, "MetadataRequestTopic"), name=foreign)
        (topic,) = client.call(ApiKey.METADATA, 1, topics=(asked,)).topics
        assert topic.error_code is ErrorCode.topic_authorization_failed
        assert [t.name for t in client.call(ApiKey.METADATA, 1, topics=None).topics] == [own]


def test_without_signing_in_at_all(gateway: GatewayProcess, app: App, kafka: Clusters) -> None:
    topic = app.topic()
    with RawClient(gateway.address) as client:
        client.send_produce(topic, b"one")
        assert client.receive() is None
    assert kafka.values("east", topic) == []
