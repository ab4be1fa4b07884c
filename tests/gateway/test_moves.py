"""Moves of running clients between two real clusters. No mirror runs here: what must hold is that every record is
acknowledged once and stands once, on one side or the other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, Producer
from support.gateway import ControlPlane, GatewayProcess, Move
from support.kafka import App, Clusters, error_of, produce
from support.messages import batch
from support.messages import produce as produce_request
from support.raw import RawClient
from support.running import Reader, Writer, assert_exactly_once
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.virtual.producer_ids import ID_BITS
from hadash.identity.identity import Identity

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

PRODUCERS = {
    "acks=all": {"acks": "all"},
    "acks=1": {"acks": "1"},
    "one at a time": {"acks": "all", "max.in.flight": 1},
    "idempotent": {"enable.idempotence": True},
}


@pytest.fixture
def impatient(
    control: ControlPlane, gateway_chroot: str, zookeeper_hosts: str, tmp_path: Path
) -> Iterator[GatewayProcess]:
    """A Gateway of the test's own that parks for less than half a second."""
    settings = {"HADASH_GATEWAY_PARK_SECONDS": 0.4}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, tmp_path, "impatient", **settings) as running:
        yield running
        assert running.stop() == 0  # a member that is gone must not hold the tests that follow


@pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS)
def test_a_running_producer_moves_there_and_back_twice(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters, settings: dict[str, object]
) -> None:
    topic = app.topic(2)
    with Writer({**app.config(gateway.bootstrap), **settings}, topic) as writer:
        for source in ("east", "west", "east", "west"):
            move = Move(control, Identity(app.appid), source)
            move.block()
            left_behind = kafka.end_offsets(source, topic)
            move.forward(topic)
            writer.wait_for_more(50)
            assert kafka.end_offsets(source, topic) == left_behind
        writer.stop()
        held = assert_exactly_once(kafka, writer)
    assert min(held.values()) >= 100  # it did write on both sides


@pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS)
def test_a_producer_whose_writes_waited_longer_than_they_may_moves_all_the_same(
    impatient: GatewayProcess,
    control: ControlPlane,
    app: App,
    kafka: Clusters,
    settings: dict[str, object],
) -> None:
    """A Gateway answers what has been parked for too long; its client tries again, and is parked again."""
    topic = app.topic(2)
    requests = 'hadash_gateway_requests_total{cluster="east",kind="PRODUCE"}'
    with Writer({**app.config(impatient.bootstrap), **settings}, topic) as writer:
        move = Move(control, Identity(app.appid), "east")
        move.block()
        parked = impatient.metric(requests)
        eventually(
            lambda: impatient.metric(requests) >= parked + 6, "writes that were answered and came again"
        )
        move.forward(topic)
        writer.wait_for_more(50)
        writer.stop()
        assert_exactly_once(kafka, writer)


def test_one_instance_moves_and_the_other_stays(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
) -> None:
    moved, stayed = (
        Writer(app.config(gateway.bootstrap, client_id=name), app.topic(), partitions=1)
        for name in ("web-1", "web-2")
    )
    with moved, stayed:
        move = Move(control, Identity(app.appid, "web-1"), "east")
        move.block()
        move.forward(moved.topic)
        moved.wait_for_more(50)
        stayed.wait_for_more(20)
        moved.stop()
        stayed.stop()
        assert assert_exactly_once(kafka, moved)["west"] >= 50
        assert assert_exactly_once(kafka, stayed)["west"] == 0


def test_a_producer_whose_topic_the_placement_does_not_know_finds_its_way(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
) -> None:
    """By signing in again, which takes a moment longer."""
    topic = app.topic(2)
    with Writer(app.config(gateway.bootstrap), topic) as writer:
        move = Move(control, Identity(app.appid), "east")
        move.block()
        move.forward()
        writer.wait_for_more(50)
        writer.stop()
        assert_exactly_once(kafka, writer)


class TestIdempotentProducers:
    """A cluster numbers a producer's batches by its id. The Gateway gives each cluster an id of its own after
    each move, so that a producer goes on counting where it was, and no cluster finds a gap or somebody else's
    numbers.
    """

    def new_id(self, client: RawClient) -> int:
        """As soon as the cluster gives one out: a fresh one loads its coordinator first."""

        def ask() -> Any:
            return client.call(
                ApiKey.INIT_PRODUCER_ID, 1, transactional_id=None, transaction_timeout=timedelta(seconds=60)
            )

        response = eventually(
            lambda: next((r for r in (ask(),) if r.error_code is ErrorCode.none), None), "a producer id"
        )
        id: int = response.producer_id
        return id

    @staticmethod
    def client(gateway: GatewayProcess, app: App, cluster: str) -> RawClient:
        address = gateway.node_address(cluster)
        return RawClient(address).sign_in(app.appid, app.password, "SCRAM-SHA-256")

    def test_it_goes_on_counting_there_and_back(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        with self.client(gateway, app, "east") as client:
            numbered = {"producer_id": self.new_id(client), "epoch": 0}
            client.send_produce(topic, b"0", sequence=0, **numbered)
            assert client.produce_error() is ErrorCode.none
        for sequence, source in enumerate(("east", "west", "east"), start=1):
            move = Move(control, Identity(app.appid), source)
            move.block()
            with self.client(gateway, app, source) as client:
                client.send_produce(topic, b"%d" % sequence, sequence=sequence, **numbered)
                move.forward(topic)
                assert client.produce_error() is ErrorCode.not_leader_or_follower
            with self.client(gateway, app, move.target) as client:
                client.send_produce(topic, b"%d" % sequence, sequence=sequence, **numbered)
                assert client.produce_error() is ErrorCode.none
                # The cluster counts: what comes a second time is not written again.
                client.send_produce(topic, b"%d" % sequence, sequence=sequence, **numbered)
                assert client.produce_error() in (ErrorCode.none, ErrorCode.duplicate_sequence_number)
        assert kafka.values("east", topic) == [b"0", b"2"]
        assert kafka.values("west", topic) == [b"1", b"3"]

    def test_a_cluster_still_finds_a_gap_in_what_it_has_counted(
        self, gateway: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        topic = app.topic()
        control.bind(Identity(app.appid), "west")
        with self.client(gateway, app, "west") as client:
            numbered = {"producer_id": self.new_id(client), "epoch": 0}
            client.send_produce(topic, b"0", sequence=0, **numbered)
            assert client.produce_error() is ErrorCode.none
            client.send_produce(topic, b"2", sequence=2, **numbered)
            assert client.produce_error() is ErrorCode.out_of_order_sequence_number

    def test_a_damaged_batch_is_not_mended_on_the_way(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        control.bind(Identity(app.appid), "west")
        with self.client(gateway, app, "west") as client:
            damaged = bytearray(batch(b"one", producer_id=self.new_id(client), epoch=0, sequence=0))
            damaged[-2] ^= 1
            client.send_request(produce_request(9, {topic: {0: bytes(damaged)}}, client_id="raw"))
            assert client.produce_error() is ErrorCode.corrupt_message
        assert kafka.values("west", topic) == []

    def test_ids_of_the_two_clusters_never_meet(
        self, gateway: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        """Both clusters count them from 0."""
        with self.client(gateway, app, "east") as client:
            east = self.new_id(client)
        control.bind(Identity(app.appid), "west")
        with self.client(gateway, app, "west") as client:
            west = self.new_id(client)
        assert east >> ID_BITS == 0
        assert west >> ID_BITS == 1


def test_who_signs_in_across_the_forward_does_not_stay_behind(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    """It came to a node of the new cluster while it still belonged to the old one, whose METADATA knows no better."""
    move = Move(control, Identity(app.appid), "east")
    move.block()
    with RawClient(gateway.node_address("west")) as client:
        client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        finish = client.begin_scram(app.appid, app.password)
        move.forward()
        finish()
        assert client.receive() is None  # so it signs in again, to the cluster that it belongs to
    with RawClient(gateway.node_address("west")) as client:
        client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
        eventually(
            lambda: [c["cluster"] for c in gateway.clients(app.appid)] == ["west"], "the client on west"
        )


class TestConsumers:
    @pytest.fixture
    def group(self, app: App) -> str:
        return app.group()

    def test_a_group_quiesces_and_moves_as_one(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters, group: str
    ) -> None:
        topic = app.topic(2)
        config = app.config(gateway.bootstrap)
        self.write(kafka, "east", topic, range(20))
        with Reader(config, topic, group) as one, Reader(config, topic, group) as two:
            readers = (one, two)
            eventually(lambda: all(r.assigned == 1 for r in readers), "one partition for each member")
            eventually(lambda: self.got(readers) == list(range(20)), "the records of east")

            move = Move(control, Identity(app.appid), "east")
            move.to(BindingState.HOLD_HEARTBEATS)
            self.wait_for_members(gateway, app, "held")
            self.write(kafka, "east", topic, range(20, 30))  # reads still flow
            eventually(
                lambda: self.got(readers) == list(range(30)), "what was written while heartbeats were held"
            )
            move.to(BindingState.QUIESCE)
            self.wait_for_members(gateway, app, "parked")
            assert [r.assigned for r in readers] == [0, 0]
            committed = self.committed(kafka, "east", group)
            assert sum(committed.values()) == 30  # what was read is committed
            move.block()
            assert self.committed(kafka, "east", group) == committed
            self.write(kafka, "west", topic, range(30, 40))
            move.forward(topic, groups=(group,))

            eventually(lambda: all(r.assigned == 1 for r in readers), "the group on west", patience=40)
            eventually(lambda: self.got(readers) == list(range(40)), "the records of west")
            assert self.state(kafka, "west", group) == (ConsumerGroupState.STABLE, 2)
            assert self.state(kafka, "east", group) == (ConsumerGroupState.EMPTY, 0)
            assert self.committed(kafka, "east", group) == committed
            assert [r.errors for r in readers] == [[], []]

    def test_a_quiescing_that_is_called_off_leaves_the_group_where_it_was(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters, group: str
    ) -> None:
        topic = app.topic()
        with Reader(app.config(gateway.bootstrap), topic, group) as reader:
            eventually(lambda: reader.assigned == 1, "the assignment")
            move = Move(control, Identity(app.appid), "east")
            move.to(BindingState.HOLD_HEARTBEATS)
            self.wait_for_members(gateway, app, "held", count=1)
            move.to(BindingState.QUIESCE)
            self.wait_for_members(gateway, app, "parked", count=1)
            move.release()
            eventually(lambda: reader.assigned == 1, "the assignment after all")
            self.write(kafka, "east", topic, range(5), partitions=1)
            eventually(lambda: reader.values == list(range(5)), "the records")
            assert reader.errors == []

    def test_what_a_member_is_doing_is_told(
        self, gateway: GatewayProcess, app: App, kafka: Clusters, group: str
    ) -> None:
        topic = app.topic()
        with Reader(app.config(gateway.bootstrap, client_id="web-1"), topic, group) as reader:
            eventually(lambda: reader.assigned == 1, "the assignment")
            (member,) = gateway.members(app.appid)
            assert (member["group"], member["client_id"], member["cluster"]) == (group, "web-1", "east")
            assert (member["state"], member["member_id"][:5]) == ("active", "web-1")
            assert gateway.ask("/members", appid=app.appid, instance="web-2") == {"members": []}

    @staticmethod
    def write(kafka: Clusters, cluster: str, topic: str, numbers: range, partitions: int = 2) -> None:
        config = kafka.described[cluster].client_config()
        for partition in range(partitions):
            own = [b"%d" % n for n in numbers if n % partitions == partition]
            produce(config, topic, *own, partition=partition)

    @staticmethod
    def got(readers: tuple[Reader, ...]) -> list[int]:
        """All values that came, sorted: one that came twice stands twice."""
        return sorted(value for reader in readers for value in reader.values)

    @staticmethod
    def wait_for_members(gateway: GatewayProcess, app: App, state: str, count: int = 2) -> None:
        eventually(
            lambda: [m["state"] for m in gateway.members(app.appid)] == [state] * count, f"members {state}"
        )

    @staticmethod
    def committed(kafka: Clusters, cluster: str, group: str) -> dict[int, int]:
        request = [ConsumerGroupTopicPartitions(group)]
        result = kafka.admin(cluster).list_consumer_group_offsets(request)[group].result(20)
        return {p.partition: p.offset for p in result.topic_partitions}

    @staticmethod
    def state(kafka: Clusters, cluster: str, group: str) -> tuple[ConsumerGroupState, int]:
        found = kafka.admin(cluster).describe_consumer_groups([group])[group].result(20)
        return found.state, len(found.members)


class TestTransactions:
    """hadash does not move transactions; who uses one is told so at once."""

    def test_a_transactional_producer_is_refused_with_a_clear_error(
        self, gateway: GatewayProcess, app: App
    ) -> None:
        producer = Producer(app.config(gateway.bootstrap, transactional_id=f"{app.prefix}tx"))
        error = error_of(lambda: producer.init_transactions(20))
        assert error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert error.fatal()

    @pytest.mark.parametrize("version", range(5))
    def test_a_producer_id_for_a_transaction_is_refused(
        self, gateway: GatewayProcess, shared_app: App, version: int
    ) -> None:
        with RawClient(gateway.address) as client:
            client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-256")
            response = client.call(
                ApiKey.INIT_PRODUCER_ID,
                version,
                transactional_id="tx",
                transaction_timeout=timedelta(seconds=60),
            )
            assert response.error_code is ErrorCode.transactional_id_authorization_failed

    def test_a_write_in_a_transaction_ends_the_connection(
        self, gateway: GatewayProcess, app: App, kafka: Clusters
    ) -> None:
        topic = app.topic()
        with RawClient(gateway.address) as client:
            client.sign_in(app.appid, app.password, "SCRAM-SHA-256")
            records = {topic: {0: batch(b"one", producer_id=1, epoch=0, sequence=0)}}
            client.send_request(produce_request(9, records, transactional_id="tx", client_id="raw"))
            assert client.receive() is None
        assert gateway.logged(
            f"{app.appid} › raw.: a transactional PRODUCE; hadash does not move transactions"
        )
        assert kafka.end_offsets("east", topic) == {0: 0}
