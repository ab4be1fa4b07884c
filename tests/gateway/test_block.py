"""A block: nothing new reaches the cluster, nothing is lost by waiting, and it is in effect only when it is quiet."""

from __future__ import annotations

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, signed_in
from support.kafka import App, Clusters, produce
from support.messages import batch
from support.messages import produce as produce_request
from support.raw import RawClient
from support.running import Writer, assert_exactly_once
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.protocol.wire import framed
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

PRODUCERS = {
    "idempotent": {"enable.idempotence": True},
    "acks=all": {"acks": "all"},
    "acks=1": {"acks": "1"},
}

every_producer = pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS)


@pytest.fixture
def move(control: ControlPlane, app: App) -> Move:
    """A move of the test's AppID from east to west."""
    return Move(control, Identity(app.appid), "east")


@every_producer
def test_what_waits_in_a_block_is_written_once_after_it(
    gateway: GatewayProcess, app: App, move: Move, kafka: Clusters, settings: dict[str, object]
) -> None:
    with Writer({**app.config(gateway.bootstrap), **settings}, app.topic(2)) as writer:
        for _ in range(2):
            move.block()
            written = sum(kafka.end_offsets("east", writer.topic).values())
            assert len(writer.acknowledged) == written, "the block was in effect before all was answered"
            assert any(client["parked"] == "PRODUCE" for client in gateway.clients(app.appid))
            assert sum(kafka.end_offsets("east", writer.topic).values()) == written
            move.release()
            writer.wait_for_more(20)
        writer.stop()
        assert_exactly_once(kafka, writer)


def test_a_block_says_who_waits(gateway: GatewayProcess, app: App, move: Move) -> None:
    topic = app.topic()
    with signed_in(gateway, app, "web-1") as client:
        move.block()
        client.send_produce(topic, b"one")
        waiting = eventually(
            lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked client"
        )
        assert [(c["client_id"], c["parked"], c["state"], c["cluster"]) for c in waiting] == [
            ("web-1", "PRODUCE", "block", "east")
        ]
        assert gateway.ask("/status")["parked"] >= 1
        move.release()
        assert client.produce_error() is ErrorCode.none
    eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")


def test_others_write_on_during_a_block(
    gateway: GatewayProcess, app: App, move: Move, plain_app: App, kafka: Clusters
) -> None:
    topic = plain_app.topic()
    move.block()
    produce(plain_app.config(gateway.bootstrap, "PLAIN", client_id="unblocked"), topic, b"one")
    assert kafka.values("east", topic) == [b"one"]


def test_a_block_of_one_instance_leaves_the_others(
    gateway: GatewayProcess, app: App, control: ControlPlane, kafka: Clusters
) -> None:
    topic = app.topic()
    Move(control, Identity(app.appid, "web-1"), "east").block()
    with signed_in(gateway, app, "web-1") as blocked, signed_in(gateway, app, "web-2") as free:
        blocked.send_produce(topic, b"blocked")
        free.send_produce(topic, b"free")
        assert free.produce_error() is ErrorCode.none
        assert kafka.values("east", topic) == [b"free"]


def test_lookups_go_on_during_a_block(gateway: GatewayProcess, app: App, move: Move) -> None:
    """A client that cannot look up Topics reports an error; one that can just waits."""
    topic = app.topic()
    with signed_in(gateway, app) as client:
        move.block()
        response = client.call(ApiKey.METADATA, 1, topics=())
        assert response.topics == ()
        found = client.call(ApiKey.FIND_COORDINATOR, 2, key=app.group(), key_type=0)
        assert found.error_code in (ErrorCode.none, ErrorCode.coordinator_not_available)
        client.send_produce(topic, b"one")
        move.release()
        assert client.produce_error() is ErrorCode.none


def test_requests_behind_a_parked_one_keep_their_order(
    gateway: GatewayProcess, app: App, move: Move, kafka: Clusters
) -> None:
    topic = app.topic()
    with signed_in(gateway, app) as client:
        move.block()
        for number in range(5):
            client.send_produce(topic, b"%d" % number)
        client.send(ApiKey.METADATA, 1, topics=())
        move.release()
        assert [client.produce_error() for _ in range(5)] == [ErrorCode.none] * 5
        assert client.answer(ApiKey.METADATA, 1).topics == ()
    assert kafka.values("east", topic) == [b"0", b"1", b"2", b"3", b"4"]


def test_writes_without_acknowledgement_have_arrived_when_the_block_is_in_effect(
    gateway: GatewayProcess, app: App, move: Move, kafka: Clusters
) -> None:
    """acks=0 has no answer to wait for; the Gateway has to find out in another way."""
    topic = app.topic()
    with signed_in(gateway, app) as client:
        for number in range(20):
            client.send_produce(topic, b"%d" % number, acks=0)
        client.call(ApiKey.API_VERSIONS, 0)  # the Gateway has read, and passed on, what came before
        move.block()
        assert kafka.end_offsets("east", topic) == {0: 20}
        client.send_produce(topic, b"waits", acks=0)
        move.release()
        client.call(ApiKey.API_VERSIONS, 0)
        eventually(lambda: kafka.end_offsets("east", topic) == {0: 21}, "the record that waited")


def test_writes_without_acknowledgement_of_a_client_that_leaves_at_once_are_not_lost(
    gateway: GatewayProcess, app: App, kafka: Clusters
) -> None:
    """Such as a script that writes a line and ends. No switch is going on."""
    topic = app.topic()
    with signed_in(gateway, app) as client:
        client.send_bytes(b"".join(frame_of(topic, b"%d" % number) for number in range(20)))
        client.end()
        assert client.receive() is None
    eventually(lambda: kafka.end_offsets("east", topic) == {0: 20}, "all records", patience=5)


def frame_of(topic: str, value: bytes) -> bytes:
    """A PRODUCE with acks=0."""
    return framed(produce_request(9, {topic: {0: batch(value)}}, acks=0, client_id="raw").frame)


def test_a_client_that_signs_in_during_a_block_waits_too(
    gateway: GatewayProcess, app: App, move: Move, kafka: Clusters
) -> None:
    topic = app.topic()
    move.block()
    with signed_in(gateway, app) as client:
        client.send_produce(topic, b"one")
        eventually(lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked client")
        assert kafka.end_offsets("east", topic) == {0: 0}
        move.release()
        assert client.produce_error() is ErrorCode.none


def test_what_a_client_left_behind_is_not_written(
    gateway: GatewayProcess, app: App, move: Move, kafka: Clusters
) -> None:
    """A client that gave up waiting sends the same again on a new connection: written both times it is a duplicate."""
    topic = app.topic()
    move.block()
    with signed_in(gateway, app) as impatient:
        impatient.send_produce(topic, b"one")
        eventually(lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked client")
    with signed_in(gateway, app) as again:
        again.send_produce(topic, b"one")
        move.release()
        assert again.produce_error() is ErrorCode.none
        eventually(lambda: len(gateway.clients(app.appid)) == 1, "the end of the first connection")
    assert kafka.values("east", topic) == [b"one"]


def test_in_which_stages_a_consumers_heartbeat_is_answered_how(
    gateway: GatewayProcess, app: App, move: Move
) -> None:
    """Of a member that the cluster does not know, so that the cluster's own answer is told from the Gateway's."""

    def beat(client: RawClient) -> None:
        client.send(ApiKey.HEARTBEAT, 3, group_id=app.group(), generation_id=1, member_id="m-1")

    with signed_in(gateway, app) as client:
        beat(client)
        by_the_cluster = client.answer(ApiKey.HEARTBEAT, 3).error_code
        assert by_the_cluster is not ErrorCode.rebalance_in_progress
        move.to(BindingState.HOLD_HEARTBEATS)
        beat(client)
        eventually(
            lambda: [m["state"] for m in gateway.members(app.appid)][-1:] == ["held"], "a held heartbeat"
        )
        move.to(BindingState.QUIESCE)
        assert client.answer(ApiKey.HEARTBEAT, 3).error_code is ErrorCode.rebalance_in_progress
        beat(client)
        assert client.answer(ApiKey.HEARTBEAT, 3).error_code is ErrorCode.rebalance_in_progress
        move.block()
        beat(client)
        assert client.answer(ApiKey.HEARTBEAT, 3).error_code is ErrorCode.rebalance_in_progress
        move.release()
        beat(client)
        assert client.answer(ApiKey.HEARTBEAT, 3).error_code is by_the_cluster
