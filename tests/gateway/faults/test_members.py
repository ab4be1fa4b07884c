"""ZooKeeper that goes away, and Gateways that stop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, exit_of, signed_in
from support.kafka import App
from support.proxy import Proxy
from support.waiting import eventually

from hadash.bindings.membership import members
from hadash.bindings.model import BindingState
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

#: Short, so that a test need not wait long for a session that ends.
SHORT_SESSION = 2


class TestZooKeeperAway:
    def test_traffic_goes_on_and_what_changed_is_taken_over_afterwards(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        ensemble: Proxy,
    ) -> None:
        topic = app.topic()
        control = new_control()
        connected = "hadash_gateway_zookeeper_connected"
        with new_gateway(control, session=SHORT_SESSION) as gateway, signed_in(gateway, app) as client:
            assert gateway.metric(connected) == 1
            ensemble.refuse()
            try:
                eventually(lambda: not is_live(control), "the end of the Gateway's session")
                assert gateway.metric(connected) == 0
                epoch = control.store.change([control.edit(Identity(app.appid), "west")])
                client.send_produce(topic, b"one")
                assert client.produce_error() is ErrorCode.none
                with signed_in(gateway, app, "newcomer") as newcomer:
                    newcomer.send_produce(topic, b"two")
                    assert newcomer.produce_error() is ErrorCode.none
                assert control.applied() < epoch
            finally:
                ensemble.accept()
            control.in_effect(epoch)
            eventually(lambda: is_live(control), "the Gateway's new session")
            assert gateway.metric(connected) == 1
            client.send_produce(topic, b"late")
            assert client.produce_error() is ErrorCode.not_leader_or_follower
            assert control.clusters.values("east", topic) == [b"one", b"two"]


def is_live(control: ControlPlane) -> bool:
    return [m.live for m in members(control.client)] == [True]


def test_who_was_replaced_while_it_was_cut_off_relays_no_more_when_it_hears_of_it(
    new_control: Callable[[], ControlPlane],
    new_gateway: Callable[..., GatewayProcess],
    app: App,
    ensemble: Proxy,
    zookeeper_hosts: str,
    tmp_path: Path,
) -> None:
    """Such as a machine whose network comes back after its container was started elsewhere."""
    topic, control = app.topic(), new_control()
    with new_gateway(control, session=SHORT_SESSION) as cut_off, signed_in(cut_off, app) as client:
        ensemble.refuse()
        try:
            eventually(lambda: not is_live(control), "the end of the Gateway's session")
            (before,) = members(control.client)
            with GatewayProcess(
                control.chroot, zookeeper_hosts, tmp_path, HADASH_ZOOKEEPER_SESSION_TIMEOUT=SHORT_SESSION
            ) as successor:
                (now,) = members(control.client)
                assert now.live
                assert now.incarnation != before.incarnation
                client.send_produce(topic, b"one")
                assert client.produce_error() is ErrorCode.none, "until it hears of it, it goes on"
                ensemble.accept()
                assert exit_of(cut_off.process) == 3
                assert client.receive() is None
                assert cut_off.logged("Another process has become Gateway 'gateway-1'")
                assert [m.incarnation for m in members(control.client)] == [now.incarnation]
                with signed_in(successor, app, "again") as again:
                    again.send_produce(topic, b"two")
                    assert again.produce_error() is ErrorCode.none
        finally:
            ensemble.accept()


class TestStopping:
    """A Gateway that is stopped on purpose is no member any more; one that was killed is waited for."""

    def test_it_stays_a_member_until_what_is_under_way_has_been_answered(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """A client whose write is cut off writes it again through another Gateway, perhaps to the other cluster."""
        topic, control = app.topic(), new_control()
        with new_gateway(control) as gateway, signed_in(gateway, app) as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)
            stopping = threading.Thread(target=gateway.stop)
            stopping.start()
            try:
                eventually(lambda: refuses(gateway), "the end of listening")
                assert ids(control) == ["gateway-1"]
            finally:
                broker.release()
            assert client.produce_error() is ErrorCode.none
            stopping.join()
            assert ids(control) == []

    @pytest.fixture
    def other(
        self, gateway: GatewayProcess, control: ControlPlane, new_gateway: Callable[..., GatewayProcess]
    ) -> Iterator[GatewayProcess]:
        with new_gateway(control, "gateway-2", session=SHORT_SESSION) as running:
            eventually(lambda: ids(control) == ["gateway-1", "gateway-2"], "both members")
            yield running

    def test_stopped(self, control: ControlPlane, other: GatewayProcess) -> None:
        assert other.stop() == 0
        assert ids(control) == ["gateway-1"]

    def test_killed_and_started_again(
        self, control: ControlPlane, other: GatewayProcess, new_gateway: Callable[..., GatewayProcess]
    ) -> None:
        other.kill()
        eventually(
            lambda: [m.live for m in members(control.client)] == [True, False], "the end of its session"
        )
        with new_gateway(control, "gateway-2") as again:
            eventually(lambda: [m.live for m in members(control.client)] == [True, True], "its new session")
            assert again.stop() == 0
        assert ids(control) == ["gateway-1"]


def refuses(gateway: GatewayProcess) -> bool:
    try:
        socket.create_connection(gateway.address, timeout=5).close()
    except OSError:
        return True
    return False


def ids(control: ControlPlane) -> list[str]:
    return [m.id for m in members(control.client)]


def test_what_a_killed_gateway_had_under_way_is_not_in_effect_because_it_was_started_again(
    new_control: Callable[[], ControlPlane],
    new_gateway: Callable[..., GatewayProcess],
    app: App,
    broker: Proxy,
) -> None:
    """Its writes may still be worked off by the broker: the block must not be reported, and the switch has to
    return.
    """
    topic, control = app.topic(), new_control()
    move = Move(control, Identity(app.appid), "east")
    with new_gateway(control, session=SHORT_SESSION) as gateway, signed_in(gateway, app) as client:
        broker.hold()
        client.send_produce(topic, b"one")
        control.clusters.wait_for_end("east", topic, 1)
        epoch = move.write(BindingState.BLOCK)
        assert gateway.logged(f"epoch {epoch} waits for")
        gateway.kill()
        broker.release()
        with new_gateway(control, session=SHORT_SESSION) as again:
            assert again.logged(f"epoch {epoch} is in effect")  # as far as this process goes
            later = control.store.change([control.edit(Identity("nobody"), "west")])
            assert again.logged(f"epoch {later} is in effect")
            assert control.applied() < epoch
            move.release()


def test_who_takes_a_killed_gateways_place_lets_its_clients_come_back_before_a_block_is_in_effect(
    new_control: Callable[[], ControlPlane],
    new_gateway: Callable[..., GatewayProcess],
    app: App,
) -> None:
    """What they were not answered they send again, to where it may have been written already, and not to the
    other cluster.
    """
    control = new_control()
    move = Move(control, Identity(app.appid), "east")
    with new_gateway(control, session=SHORT_SESSION) as gateway:
        gateway.kill()
        with new_gateway(control, session=SHORT_SESSION, HADASH_GATEWAY_RETURN_SECONDS=6) as again:
            epoch = move.write(BindingState.HOLD_HEARTBEATS)
            assert again.logged(rf"epoch {epoch} waits for clients to come back")
            assert control.applied() < epoch
            nobody = control.store.change([control.edit(Identity("nobody"), "west")])
            assert again.logged(f"epoch {nobody} is in effect"), "what stops nobody does not wait"
            control.in_effect(nobody)
            move.write(BindingState.BLOCK)
            move.release()
            assert again.stop() == 0
        with new_gateway(control, session=SHORT_SESSION) as orderly:
            control.in_effect(move.write(BindingState.BLOCK))
            move.release()
            assert "clients to come back" not in orderly.log()
