"""Each API on a running Gateway: what a block does to it, and what it does not (and what DiDi's engine
forgets: LIST_OFFSETS, SYNC_GROUP, LEAVE_GROUP and the kinds of transactions)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move
from support.kafka import App
from support.messages import example
from support.raw import RawClient
from support.waiting import eventually

from hadash.gateway.protocol.api_keys import OFFERED, TRANSACTIONS, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, decode_response
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

#: What a block holds up (docs/gateway.md) but HEARTBEAT, which is answered.
WAITS = [
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.SYNC_GROUP,
    ApiKey.INIT_PRODUCER_ID,
    *sorted(TRANSACTIONS),
]
#: Look-ups go on, and a member may leave: it takes nothing with it.
GOES_ON = [
    ApiKey.API_VERSIONS,
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.LEAVE_GROUP,
    ApiKey.DESCRIBE_GROUPS,
]


@pytest.fixture(scope="module")
def gateway(
    control: ControlPlane,
    gateway_chroot: str,
    zookeeper_hosts: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    """One that admits transactions."""
    folder: Path = tmp_path_factory.mktemp("kinds")
    settings = {"HADASH_GATEWAY_TRANSACTIONS": "relay"}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, folder, "gateway-kinds", **settings) as running:
        yield running


@pytest.fixture
def client(gateway: GatewayProcess, app: App) -> Iterator[RawClient]:
    with RawClient(gateway.address, client_id="test") as made:
        yield made.sign_in(app.appid, app.password, "SCRAM-SHA-256")


@pytest.fixture
def move(control: ControlPlane, app: App) -> Move:
    return Move(control, Identity(app.appid), "east")


def send(client: RawClient, kind: ApiKey) -> None:
    client.send_request(example(kind, OFFERED[kind][1]))


def is_answered(client: RawClient, kind: ApiKey) -> bool:
    """Whether the next answer is one of that kind."""
    payload = client.receive()
    assert payload is not None, f"the connection was closed instead of answering {kind.name}"
    decode_response(kind, OFFERED[kind][1], payload)
    return True


@pytest.mark.parametrize("kind", WAITS)
def test_in_a_block_it_waits_and_the_cluster_answers_it_after_the_block(
    gateway: GatewayProcess, app: App, client: RawClient, move: Move, kind: ApiKey
) -> None:
    send(client, kind)
    assert is_answered(client, kind)
    move.block()
    send(client, kind)
    eventually(lambda: [c["parked"] for c in gateway.clients(app.appid)] == [kind.name], "a parked request")
    assert client.received() == 0
    move.release()
    assert is_answered(client, kind)


@pytest.mark.parametrize("kind", WAITS)
def test_one_that_waits_vanishes_with_its_connection(
    gateway: GatewayProcess, app: App, client: RawClient, move: Move, kind: ApiKey
) -> None:
    move.block()
    before = gateway.metric("hadash_gateway_parked")
    send(client, kind)
    eventually(lambda: gateway.metric("hadash_gateway_parked") == before + 1, "a parked request")
    client.close()
    eventually(lambda: gateway.metric("hadash_gateway_parked") == before, "its end")
    assert gateway.clients(app.appid) == []
    move.release()


@pytest.mark.parametrize("kind", GOES_ON)
def test_in_a_block_it_goes_on(client: RawClient, move: Move, kind: ApiKey) -> None:
    move.block()
    send(client, kind)
    assert is_answered(client, kind)
    move.release()


def test_in_a_block_a_heartbeat_is_told_to_rebalance(client: RawClient, move: Move) -> None:
    move.block()
    send(client, ApiKey.HEARTBEAT)
    response = client.answer(ApiKey.HEARTBEAT, OFFERED[ApiKey.HEARTBEAT][1])
    assert response.error_code is ErrorCode.rebalance_in_progress
    move.release()


def test_what_is_beyond_the_bound_gets_the_retriable_error_at_once(
    control: ControlPlane, gateway_chroot: str, zookeeper_hosts: str, tmp_path: Path, app: App
) -> None:
    topic = app.topic()
    settings = {"HADASH_GATEWAY_MAX_PARKED_BYTES": 5000}
    with GatewayProcess(gateway_chroot, zookeeper_hosts, tmp_path, "gateway-small", **settings) as gateway:
        move = Move(control, Identity(app.appid), "east")
        move.block()
        first, second = (
            RawClient(gateway.address).sign_in(app.appid, app.password, "SCRAM-SHA-256") for _ in range(2)
        )
        first.send_produce(topic, b"x" * 3000)
        eventually(lambda: gateway.metric("hadash_gateway_parked") == 1, "a parked write")
        second.send_produce(topic, b"x" * 3000)
        assert second.produce_error() is ErrorCode.not_leader_or_follower
        assert gateway.metric("hadash_gateway_requests_overflowed_total") == 1
        move.release()
        assert first.produce_error() is ErrorCode.none
        first.close()
        second.close()
