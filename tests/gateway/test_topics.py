"""Topics and groups with a binding of their own: one client uses both clusters at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import SECONDS, App, Clusters, produce
from support.messages import batch, nested
from support.messages import produce as produce_request
from support.raw import NotSignedIn, RawClient
from support.waiting import eventually

from hadash.bindings.model import Binding
from hadash.bindings.store import Edit
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build
from hadash.identity.client_ids import NamedByClient
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


def accounts_file(kafka: Clusters, folder: Path) -> Path:
    """Look-up accounts on both clusters."""
    path = folder / "accounts.toml"
    path.touch(0o600)
    path.write_text(
        "".join(
            f'[lookup.{name}]\nmechanism = "PLAIN"\nusername = "{cluster.admin_user}"\n'
            f'password = "{cluster.admin_password}"\n'
            for name, cluster in kafka.described.items()
        )
    )
    return path


@pytest.fixture(scope="module")
def looking(
    control: ControlPlane,
    gateway_chroot: str,
    zookeeper_hosts: str,
    kafka: Clusters,
    gateway: GatewayProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    """A Gateway that can look up what is on the other cluster, beside the one that cannot."""
    folder = tmp_path_factory.mktemp("looking")
    settings = {"HADASH_GATEWAY_ACCOUNTS": accounts_file(kafka, folder)}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, folder, "gateway-looking", **settings) as running:
        yield running


@contextmanager
def bound(control: ControlPlane, *identities: Identity, cluster: str = "west") -> Iterator[None]:
    """Bound by hand to ``cluster``, for a while."""
    control.in_effect(control.store.change([Edit(i, Binding(cluster)) for i in identities]))
    yield
    control.in_effect(control.store.change([Edit(i, None) for i in identities]))


def signed_in(gateway: GatewayProcess, app: App, cluster: str = "", client_id: str = "raw") -> RawClient:
    address = gateway.node_address(cluster) if cluster else gateway.address
    return RawClient(address, client_id).sign_in(app.appid, app.password, "SCRAM-SHA-256")


def leaders(client: RawClient, *topics: str) -> dict[str, int]:
    """The virtual node that leads partition 0 of each Topic."""
    asked = tuple(build(nested(ApiKey.METADATA, 8, "MetadataRequestTopic"), name=t) for t in topics)
    answer = client.call(
        ApiKey.METADATA,
        8,
        topics=asked or None,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    return {t.name: t.partitions[0].leader_id for t in answer.topics if t.partitions}


def read(consumer: Consumer, count: int, seconds: float = 40) -> list[bytes]:
    """The next ``count`` records."""
    found: list[bytes] = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value())
    return found


EAST, WEST = 10_000, 20_000


class TestMetadata:
    def test_each_topic_is_led_by_the_cluster_that_it_is_bound_to(
        self, looking: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        stays, moves = app.topic(), app.topic()
        expected = {stays: EAST, moves: WEST}
        with bound(control, Identity(app.appid, topics=(moves,))):
            for cluster in ("", "east", "west"):
                with signed_in(looking, app, cluster) as client:
                    assert leaders(client, stays, moves) == expected
                    assert leaders(client, moves) == {moves: WEST}
                    assert leaders(client) == expected  # all that it may see
        with signed_in(looking, app) as client:
            assert leaders(client, stays, moves) == {stays: EAST, moves: EAST}

    def test_a_list_of_topics_is_bound_together(
        self, looking: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        stays, one, other = app.topic(), app.topic(), app.topic()
        with bound(control, Identity(app.appid, topics=(one, other))), signed_in(looking, app) as client:
            assert leaders(client, one, other, stays) == {one: WEST, other: WEST, stays: EAST}
            assert leaders(client, other) == {other: WEST}

    def test_what_the_client_may_not_see_is_not_looked_up(
        self, looking: GatewayProcess, control: ControlPlane, app: App, shared_app: App
    ) -> None:
        """The look-up account may see everything; the client's own cluster decides what it gets."""
        foreign = shared_app.topic()
        with bound(control, Identity(app.appid, topics=(foreign,))), signed_in(looking, app) as client:
            assert leaders(client, foreign) == {}

    def test_without_an_account_such_a_topic_has_no_leader_and_the_log_says_why(
        self, gateway: GatewayProcess, looking: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        stays, moves = app.topic(), app.topic()
        with bound(control, Identity(app.appid, topics=(moves,))):
            with signed_in(gateway, app) as client:
                assert leaders(client, stays, moves) == {stays: EAST, moves: -1}
            # On a node of that cluster it is signed in there, which answers for itself.
            with signed_in(gateway, app, "west") as client:
                assert leaders(client, moves) == {moves: WEST}
        assert gateway.logged(f"{app.appid} has Topics or groups on both .*: set HADASH_GATEWAY_ACCOUNTS")

    def test_a_topic_that_was_there_a_moment_ago_is_waited_for(
        self, looking: GatewayProcess, kafka: Clusters, app: App
    ) -> None:
        """A broker that was not told of it yet says the same as one whose Topic was deleted."""
        here, there = app.topic(), app.topic()
        with signed_in(looking, app) as client:
            assert leaders(client, here, there) == {here: EAST, there: EAST}
            kafka.admin("east").delete_topics([here])[here].result(30)
            app.topics.remove(here)
            eventually(
                lambda: here not in kafka.admin("east").list_topics(timeout=30).topics, f"{here} is deleted"
            )
            assert leaders(client, here, there) == {here: -1, there: EAST}
        kafka.admin("west").delete_topics([here])[here].result(30)
        assert looking.logged(f"a broker of east does not know 1 Topics .*such as {here}")


class TestWriting:
    def test_an_unchanged_producer_writes_each_topic_where_it_belongs(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        stays, moves = app.topic(), app.topic()
        with bound(control, Identity(app.appid, topics=(moves,))):
            producer = Producer(app.config(looking.bootstrap, enable_idempotence=True))
            for number in range(20):
                producer.produce(stays, b"%d" % number)
                producer.produce(moves, b"%d" % number)
            assert producer.flush(SECONDS) == 0
        everything = [b"%d" % number for number in range(20)]
        assert kafka.values("east", stays) == kafka.values("west", moves) == everything
        assert kafka.values("west", stays) == kafka.values("east", moves) == []

    def test_one_request_for_both_clusters_is_sent_back_and_nothing_of_it_written(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        stays, moves = app.topic(), app.topic()
        both = produce_request(
            9, {stays: {0: batch(b"one")}, moves: {0: batch(b"two")}}, client_id="raw", correlation_id=1
        )
        with bound(control, Identity(app.appid, topics=(moves,))):
            for cluster in ("east", "west"):
                with signed_in(looking, app, cluster) as client:
                    client.send_request(both)
                    answer = client.answer(ApiKey.PRODUCE, 9)
                    codes = {p.error_code for t in answer.responses for p in t.partition_responses}
                    assert codes == {ErrorCode.not_leader_or_follower}
        for cluster in ("east", "west"):
            assert kafka.values(cluster, stays) == kafka.values(cluster, moves) == []

    def test_a_topics_writes_are_refused_on_the_other_clusters_nodes(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        """A client with old metadata must not write where the Topic is a mirror."""
        moves = app.topic()
        with bound(control, Identity(app.appid, topics=(moves,))):
            with signed_in(looking, app, "east") as client:
                client.send_produce(moves, b"astray")
                assert client.produce_error() is ErrorCode.not_leader_or_follower
            with signed_in(looking, app, "west") as client:
                client.send_produce(moves, b"home")
                assert client.produce_error() is ErrorCode.none
        assert (kafka.values("east", moves), kafka.values("west", moves)) == ([], [b"home"])

    def test_the_client_id_may_name_the_topic(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        moves = app.topic()
        named = NamedByClient(app.appid, moves).client_id
        with bound(control, Identity(app.appid, topics=(moves,))):
            produce(app.config(looking.bootstrap, client_id=named), moves, b"one")
            with signed_in(looking, app, client_id=named) as client:
                assert client.client_id == named
                assert [c["cluster"] for c in looking.clients(app.appid, instance=named)][-1] == "west"
        assert kafka.values("west", moves) == [b"one"]

    def test_a_client_id_that_names_another_appid_is_refused(self, gateway: GatewayProcess, app: App) -> None:
        with pytest.raises(NotSignedIn, match="names AppID other, but the client signs in as"):
            signed_in(gateway, app, client_id="HA#other#orders")

    def test_a_client_id_cannot_change_on_a_connection(self, gateway: GatewayProcess, app: App) -> None:
        with signed_in(gateway, app) as client:
            client.client_id = "somebody-else"
            client.send(ApiKey.METADATA, 1, topics=())
            assert client.receive() is None
        assert gateway.logged("the client.id changes to 'somebody-else' on one connection")


class TestReading:
    def consumer(self, gateway: GatewayProcess, app: App, group: str, *topics: str) -> Consumer:
        consumer = Consumer(
            app.config(
                gateway.bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                topic_metadata_refresh_interval_ms=500,
            )
        )
        consumer.subscribe(list(topics))
        return consumer

    def test_a_regex_subscriber_reads_from_both_clusters(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        stays, moves = app.topic(), app.topic()
        with bound(control, Identity(app.appid, topics=(moves,))):
            produce(app.config(looking.bootstrap), stays, b"from east")
            produce(app.config(looking.bootstrap), moves, b"from west")
            consumer = self.consumer(looking, app, app.group(), f"^{app.prefix.replace('.', '[.]')}.*")
            assert sorted(read(consumer, 2)) == [b"from east", b"from west"]
            consumer.close()

    def test_a_group_with_a_binding_of_its_own_lives_there(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic, group = app.topic(), app.group()
        with bound(control, Identity(app.appid, topics=(topic,)), Identity(app.appid, group=group)):
            produce(app.config(looking.bootstrap), topic, b"one", b"two")
            consumer = self.consumer(looking, app, group, topic)
            assert read(consumer, 2) == [b"one", b"two"]
            consumer.close()
            assert kafka.committed("west", group) == {(topic, 0): 2}
            assert kafka.committed("east", group) == {}

    def test_a_group_that_moves_by_itself_leaves_nobody_behind(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        """Its client stays on both clusters; the old one would wait for the member until its session ends (45 s)."""
        topic, group = app.topic(), app.group()
        produce(app.config(looking.bootstrap), topic, b"one")
        consumer = self.consumer(looking, app, group, topic)
        assert read(consumer, 1) == [b"one"]
        assert kafka.members("east", group) == 1
        with bound(control, Identity(app.appid, topics=(topic,)), Identity(app.appid, group=group)):
            eventually(lambda: kafka.members("east", group) == 0, "the end of the membership", patience=30)

            def is_there() -> bool:
                consumer.poll(0.1)
                return kafka.members("west", group) == 1

            eventually(is_there, "the membership on the other cluster", patience=60)
            consumer.close()

    def test_a_group_without_one_lives_where_its_appid_does(
        self, looking: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic, group = app.topic(), app.group()
        with bound(control, Identity(app.appid, topics=(topic,))):
            produce(app.config(looking.bootstrap), topic, b"one")
            consumer = self.consumer(looking, app, group, topic)
            assert read(consumer, 1) == [b"one"]
            consumer.close()
            assert kafka.committed("east", group) == {(topic, 0): 1}

    def test_coordinators_of_groups_on_both_clusters_are_found_in_one_request(
        self, looking: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        here, there = app.group(), app.group()
        with bound(control, Identity(app.appid, group=there)), signed_in(looking, app) as client:

            def found() -> dict[str, Any]:
                answer = client.call(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=(there, here))
                return {c.key: c.node_id for c in answer.coordinators}

            eventually(lambda: found() == {there: WEST, here: EAST}, "both coordinators")

    def test_a_fetch_session_is_given_up_when_topics_decide(
        self, looking: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        """In a session a FETCH names only what has changed: it could not be routed by its Topics."""
        topic = app.topic()

        def fetch(client: RawClient, session_id: int, epoch: int) -> Any:
            partition = build(
                nested(ApiKey.FETCH, 10, "FetchPartition"),
                partition=0,
                fetch_offset=0,
                partition_max_bytes=1000,
                current_leader_epoch=-1,
                log_start_offset=-1,
            )
            asked = build(nested(ApiKey.FETCH, 10, "FetchTopic"), topic=topic, partitions=(partition,))
            return client.call(
                ApiKey.FETCH,
                10,
                replica_id=-1,
                max_wait=timedelta(0),
                min_bytes=0,
                max_bytes=1000,
                isolation_level=0,
                session_id=session_id,
                session_epoch=epoch,
                topics=(asked,),
                forgotten_topics_data=(),
            )

        with signed_in(looking, app, "east") as client:
            session = fetch(client, 0, 0).session_id
            assert session != 0
            with bound(control, Identity(app.appid, topics=(app.topic(),))):
                assert fetch(client, session, 1).error_code is ErrorCode.fetch_session_id_not_found
                whole = fetch(client, 0, 0)
                assert (whole.error_code, whole.session_id) == (ErrorCode.none, 0)
                assert whole.responses[0].topic == topic
