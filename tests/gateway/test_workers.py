"""Several processes of one Gateway: one port, one memory, and no record lost or doubled when they are restarted."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from support.gateway import ControlPlane, GatewayProcess, Move, exit_of, new_control
from support.kafka import App, Clusters
from support.raw import RawClient
from support.running import Reader, Writer, assert_exactly_once
from support.waiting import eventually

from hadash.bindings.membership import members
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

WORKERS = 2


@pytest.fixture
def control(zookeeper_root: KazooClient, zookeeper_hosts: str, kafka: Clusters) -> Iterator[ControlPlane]:
    with new_control(zookeeper_root, zookeeper_hosts, kafka) as made:
        yield made


@pytest.fixture
def gateway(control: ControlPlane, zookeeper_hosts: str, tmp_path: Path) -> Iterator[GatewayProcess]:
    with GatewayProcess(control.chroot, zookeeper_hosts, tmp_path, HADASH_GATEWAY_WORKERS=WORKERS) as running:
        yield running


def pids(control: ControlPlane) -> dict[str, int]:
    """The processes of the live members."""
    return {member.id: member.pid for member in members(control.client) if member.live}


def renewed(control: ControlPlane, before: dict[str, int]) -> dict[str, int]:
    """The processes, as soon as all of them are others than ``before``."""

    def all_new() -> bool:
        now = pids(control)
        return len(now) == WORKERS and not set(now.values()) & set(before.values())

    eventually(all_new, "new processes", patience=60)
    return pids(control)


def test_each_worker_is_a_member_and_takes_its_share(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    assert set(pids(control)) == {"gateway-1-1", "gateway-1-2"}
    clients = [
        RawClient(gateway.address).sign_in(app.appid, app.password, "SCRAM-SHA-256") for _ in range(40)
    ]
    shares = [
        len(gateway.ask(f"http://127.0.0.1:{gateway.admin_port + n}/clients", appid=app.appid)["clients"])
        for n in range(WORKERS)
    ]
    assert sum(shares) == 40
    assert min(shares) > 0
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="acks=all", marks=pytest.mark.long),
        pytest.param({"enable.idempotence": True}, id="idempotent"),
    ],
)
def test_a_rolling_restart_under_load_loses_and_doubles_nothing(
    gateway: GatewayProcess,
    control: ControlPlane,
    app: App,
    kafka: Clusters,
    settings: dict[str, object],
) -> None:
    before = pids(control)
    topic = app.topic(2)
    config = app.config(gateway.bootstrap)
    with Writer({**config, **settings}, topic) as writer, Reader(config, topic, app.group()) as reader:
        for _ in range(2):
            gateway.hang_up()
            before = renewed(control, before)
            writer.wait_for_more(200)
        writer.stop()
        count = len(writer.acknowledged)
        eventually(lambda: len(set(reader.values)) >= count, "all records read", patience=40)
    assert assert_exactly_once(kafka, writer) == {"east": count, "west": 0}
    assert sorted(reader.values) == list(range(count))


def test_a_worker_that_is_killed_is_started_again(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    killed = pids(control)["gateway-1-1"]
    with Writer(app.config(gateway.bootstrap), app.topic(2)) as writer:
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: pids(control).get("gateway-1-1", killed) != killed, "a new worker 1", patience=60)
        writer.wait_for_more(100)
        writer.stop()
        assert (writer.errors, writer.reported) == ([], [])
    assert gateway.logged("worker 1 has ended with exit code -9; starting it again in 1 s")


def test_a_block_is_in_effect_at_all_of_them(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters
) -> None:
    topic = app.topic()
    clients = [
        RawClient(gateway.address).sign_in(app.appid, app.password, "SCRAM-SHA-256") for _ in range(10)
    ]
    move = Move(control, Identity(app.appid), "east")
    move.block()
    for client in clients:  # the kernel has spread them over the workers
        client.send_produce(topic, b"one")
    move.forward(topic)
    for client in clients:
        assert client.produce_error() is ErrorCode.not_leader_or_follower
        client.close()
    assert kafka.values("east", topic) == []


def test_they_end_together_and_are_no_members_any_more(
    gateway: GatewayProcess, control: ControlPlane
) -> None:
    processes = list(pids(control).values())
    assert gateway.stop() == 0
    assert members(control.client) == []
    for pid in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_without_their_parent_they_end_too(gateway: GatewayProcess, control: ControlPlane) -> None:
    gateway.kill()
    eventually(lambda: members(control.client) == [], "the end of the workers")


def test_a_port_that_somebody_has_is_not_shared_with_him(
    control: ControlPlane, zookeeper_hosts: str, tmp_path: Path
) -> None:
    gateway = GatewayProcess(control.chroot, zookeeper_hosts, tmp_path, HADASH_GATEWAY_WORKERS=WORKERS)
    with socket.create_server(gateway.address):
        assert exit_of(gateway.launch()) == 2
    assert "Choose a free HADASH_GATEWAY_PORT." in gateway.log()


def test_wrong_settings_end_all_of_them_with_the_reason(
    control: ControlPlane, zookeeper_hosts: str, tmp_path: Path
) -> None:
    gateway = GatewayProcess(
        control.chroot,
        zookeeper_hosts,
        tmp_path,
        HADASH_GATEWAY_WORKERS=WORKERS,
        HADASH_GATEWAY_SECURITY_PROTOCOL="SASL_SSL",
    )
    assert exit_of(gateway.launch()) == 2
    assert "SASL_SSL needs HADASH_GATEWAY_TLS_CERTIFICATE and HADASH_GATEWAY_TLS_KEY" in gateway.log()
    assert members(control.client) == []
