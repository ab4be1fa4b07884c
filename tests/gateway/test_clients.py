"""Real clients at a real Gateway: one virtual cluster, and each client on the cluster that it is bound to."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, Clusters, consume, error_of, produce
from support.raw import NotSignedIn, RawClient
from support.waiting import eventually

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

EVERY_SCRAM = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])


class TestSignIn:
    def test_with_plain(self, gateway: GatewayProcess, plain_app: App, kafka: Clusters) -> None:
        topic = plain_app.topic()
        config = plain_app.config(gateway.bootstrap, "PLAIN", client_id="signs-in-with-plain")
        produce(config, topic, b"one", b"two")
        assert kafka.values("east", topic) == [b"one", b"two"]

    @EVERY_SCRAM
    def test_with_scram(self, gateway: GatewayProcess, app: App, kafka: Clusters, mechanism: str) -> None:
        topic = app.topic()
        produce(app.config(gateway.bootstrap, mechanism), topic, b"one", b"two")
        assert kafka.values("east", topic) == [b"one", b"two"]

    @pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
    def test_with_a_wrong_password_the_client_is_told_so(
        self, gateway: GatewayProcess, plain_app: App, mechanism: str
    ) -> None:
        refused = gateway.refused("password")
        errors: list[KafkaError] = []
        config = plain_app.config(gateway.bootstrap, mechanism, client_id="wrong")
        client = AdminClient({**config, "sasl.password": "wrong", "error_cb": errors.append})
        eventually(lambda: client.poll(0.1) or errors, "an error of the client")
        assert errors[0].code() == KafkaError._AUTHENTICATION
        assert gateway.refused("password") > refused
        assert "wrong" not in gateway.logged("refused the sign-in of shop")

    def test_the_reason_is_the_clusters_own(self, gateway: GatewayProcess) -> None:
        with (
            RawClient(gateway.address) as client,
            pytest.raises(NotSignedIn, match="Invalid username or password"),
        ):
            client.sign_in("shop", "wrong")

    def test_an_appid_that_no_cluster_knows_is_refused(self, gateway: GatewayProcess) -> None:
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            with RawClient(gateway.address) as client, pytest.raises(NotSignedIn):
                client.sign_in("nobody", "secret", mechanism)


class TestOneVirtualCluster:
    def test_what_is_written_is_read(self, gateway: GatewayProcess, app: App) -> None:
        topic = app.topic(partitions=3)
        config = app.config(gateway.bootstrap)
        for partition in range(3):
            produce(config, topic, b"a%d" % partition, b"b%d" % partition, partition=partition)
        values = consume(config, topic, app.group(), 6)
        assert sorted(values) == [b"a0", b"a1", b"a2", b"b0", b"b1", b"b2"]

    def test_its_id_and_nodes_are_virtual(self, gateway: GatewayProcess, app: App) -> None:
        metadata = AdminClient(app.config(gateway.bootstrap)).list_topics(app.topic(), timeout=20)
        assert metadata.cluster_id == "hadash-main"
        nodes = {broker.id: (broker.host, broker.port) for broker in metadata.brokers.values()}
        assert nodes == {10_000: gateway.node_address("east"), 20_000: gateway.node_address("west")}

    def test_both_clusters_answer_alike(
        self, gateway: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        """Only the leaders differ, so a client of either looks at the same cluster."""
        topic = app.topic()
        seen = []
        for cluster in ("east", "west"):
            control.bind(Identity(app.appid), cluster)
            metadata = AdminClient(app.config(gateway.bootstrap)).list_topics(topic, timeout=20)
            seen.append((metadata.cluster_id, sorted(metadata.brokers)))
            leader = metadata.topics[topic].partitions[0].leader
            assert leader == {"east": 10_000, "west": 20_000}[cluster]
        assert seen[0] == seen[1]

    def test_a_list_of_all_topics_shows_ones_own_alone(
        self, gateway: GatewayProcess, app: App, plain_app: App
    ) -> None:
        own, other = app.topic(), plain_app.topic()
        topics = AdminClient(app.config(gateway.bootstrap)).list_topics(timeout=5).topics
        assert own in topics
        assert other not in topics

    def test_the_newest_record_is_found_by_its_time(self, gateway: GatewayProcess, app: App) -> None:
        """(LIST_OFFSETS 7, KIP-734: tools ask so how old the newest record is.)"""
        topic = app.topic()
        config = app.config(gateway.bootstrap)
        producer = Producer(config)
        producer.produce(topic, b"newest", partition=0, timestamp=2_000_000_000_000)
        producer.produce(topic, b"older", partition=0, timestamp=1_000_000_000_000)
        assert producer.flush(20) == 0
        partition = TopicPartition(topic, 0)
        admin = AdminClient(config)
        found = admin.list_offsets({partition: OffsetSpec.max_timestamp()})[partition].result(20)
        assert (found.offset, found.timestamp) == (0, 2_000_000_000_000)

    def test_topics_of_others_cannot_be_written(
        self, gateway: GatewayProcess, app: App, plain_app: App
    ) -> None:
        topic = plain_app.topic()
        error = error_of(lambda: produce(app.config(gateway.bootstrap), topic, b"forged"))
        assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

    def test_versions_with_topic_ids_are_not_offered(self, gateway: GatewayProcess) -> None:
        with RawClient(gateway.address) as client:
            keys = {k.api_key: k.max_version for k in client.call(ApiKey.API_VERSIONS, 0).api_keys}
        assert (keys[ApiKey.METADATA], keys[ApiKey.FETCH], keys[ApiKey.PRODUCE]) == (8, 10, 9)

    @pytest.mark.parametrize("version", range(9))
    def test_metadata_in_every_version(self, gateway: GatewayProcess, shared_app: App, version: int) -> None:
        with RawClient(gateway.address) as client:
            client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-256")
            response = client.call(
                ApiKey.METADATA,
                version,
                topics=(),
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )
        assert {b.node_id for b in response.brokers} == {10_000, 20_000}

    @pytest.mark.parametrize(
        "version",
        [
            0,
            1,
            2,
            3,
            4,
        ],
    )
    def test_a_group_is_coordinated_by_a_virtual_node(
        self, gateway: GatewayProcess, shared_app: App, version: int
    ) -> None:
        group = shared_app.group()
        with RawClient(gateway.address) as client:
            client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-256")

            def ask() -> object:
                response = client.call(
                    ApiKey.FIND_COORDINATOR, version, key=group, key_type=0, coordinator_keys=(group,)
                )
                found = response.coordinators[0] if version >= 4 else response
                return found if found.error_code is ErrorCode.none else None

            found = eventually(ask, "a coordinator")
        assert (found.node_id, (found.host, found.port)) == (10_000, gateway.node_address("east"))


class TestRouting:
    def test_an_appid_goes_where_it_is_bound(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        control.bind(Identity(app.appid), "west")
        produce(app.config(gateway.bootstrap), topic, b"one")
        assert kafka.values("west", topic) == [b"one"]
        assert kafka.values("east", topic) == []

    def test_who_is_not_bound_goes_to_the_pairs_default(
        self, gateway: GatewayProcess, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        produce(app.config(gateway.bootstrap), topic, b"one")
        assert kafka.values("east", topic) == [b"one"]
        assert kafka.values("west", topic) == []

    def test_two_instances_of_one_appid_go_to_two_clusters(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        control.bind(Identity(app.appid, "web-2"), "west")
        for instance in ("web-1", "web-2"):
            produce(app.config(gateway.bootstrap, client_id=instance), topic, instance.encode())
        assert kafka.values("east", topic) == [b"web-1"]
        assert kafka.values("west", topic) == [b"web-2"]

    def test_with_plain_too(
        self, gateway: GatewayProcess, control: ControlPlane, plain_app: App, kafka: Clusters
    ) -> None:
        topic = plain_app.topic()
        control.bind(Identity("shop", "moved-instance"), "west")
        for instance in ("moved-instance", "other-instance"):
            produce(
                plain_app.config(gateway.bootstrap, "PLAIN", client_id=instance), topic, instance.encode()
            )
        assert kafka.values("west", topic) == [b"moved-instance"]
        assert kafka.values("east", topic) == [b"other-instance"]

    def test_the_bootstrap_address_may_be_any_node(
        self, gateway: GatewayProcess, app: App, kafka: Clusters
    ) -> None:
        """A client remembers addresses of nodes; each leads to the cluster that the client is bound to."""
        topic = app.topic()
        host, port = gateway.node_address("west")
        produce(app.config(f"{host}:{port}"), topic, b"one")
        assert kafka.values("east", topic) == [b"one"]
