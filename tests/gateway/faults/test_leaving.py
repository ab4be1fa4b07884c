"""Clients that hang up while something of theirs is under way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, is_known, signed_in
from support.kafka import App, Clusters, produce
from support.proxy import Proxy
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.identity.identity import Identity

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]


class TestLeaving:
    """What a client wrote without asking for answers must have been worked off, although it has left. (One
    that waits for answers may come back: see test_pending_retries.)
    """

    def test_a_block_waits_for_what_it_wrote_before(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app, "leaves") as client:
            broker.hold()
            client.send_produce(topic, b"one", acks=0)
        try:
            control.clusters.wait_for_end("east", topic, 1)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(f"epoch {epoch} waits for {app.appid} › leaves")
            assert control.applied() < epoch
        finally:
            broker.release()
        control.in_effect(epoch)
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")

    def test_a_broker_that_does_not_answer_is_given_up(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        topic, control = app.topic(), new_control()
        with new_gateway(control, linger=0.5) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.hold()
                for number in range(80):  # max_in_flight is 64: something waits for room
                    client.send_produce(topic, b"%d" % number)
                control.clusters.wait_for_end("east", topic, 64)
            assert gateway.logged(f"{app.appid} › leaves .* has left; its writes are not answered in time")
            eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")

    def test_but_not_while_a_block_waits_for_it(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """Its answer alone proves that it does not arrive later than the block."""
        topic, control = app.topic(), new_control()
        with new_gateway(control, linger=0.5) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.hold()
                client.send_produce(topic, b"one", acks=0)
                control.clusters.wait_for_end("east", topic, 1)
                epoch = Move(control, Identity(app.appid), "east").write(BindingState.BLOCK)
                eventually(lambda: is_known(gateway, app, "block"), "the block")
            assert gateway.logged(f"{app.appid} › leaves .* has left; its writes are not answered in time")
            assert control.applied() < epoch
            broker.release()
            control.in_effect(epoch)
            eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")


class TestStalledBroker:
    """One that has stopped reading. What the Gateway could not hand over to its machine must not arrive later."""

    def test_what_is_buffered_when_it_is_given_up_never_reaches_it(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
        kafka: Clusters,
    ) -> None:
        topic, control = app.topic(), new_control()
        with new_gateway(control, linger=0.5) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.stall()
                for _ in range(5):
                    client.send_produce(topic, b"x" * 200_000)
                eventually(lambda: in_flight(gateway, app) > 0, "writes under way")
            eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
            busy = broker.busy()
            broker.release()
            eventually(lambda: broker.busy() < busy, "the end of what the broker's machine held")
            produce(app.config(kafka.described["east"].bootstrap_servers), topic, b"after")
            assert kafka.values("east", topic) == [b"after"]

    @pytest.mark.parametrize("acks", [0, -1])
    def test_what_waits_for_room_is_passed_on_only_if_nobody_sends_it_again(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
        kafka: Clusters,
        acks: int,
    ) -> None:
        """Two writes are passed on at once; a third waits when its client hangs up. Acknowledged, it comes
        again; a write that asks for no answer does not.
        """
        topic, control = app.topic(), new_control()
        with new_gateway(control, HADASH_GATEWAY_MAX_IN_FLIGHT=2) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.hold()
                client.send_produce(topic, b"one")
                client.send_produce(topic, b"two")
                kafka.wait_for_end("east", topic, 2)
                client.send_produce(topic, b"three", acks=acks)
            eventually(
                lambda: [c["gone"] for c in gateway.clients(app.appid)] == [True], "the client's leaving"
            )
            broker.release()
            eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
        assert kafka.values("east", topic) == [b"one", b"two", *([b"three"] if acks == 0 else [])]


class TestSlowClient:
    def test_a_block_does_not_wait_for_a_client_to_read(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        kafka: Clusters,
    ) -> None:
        """It has asked for more than it takes, and written something on the same connection."""
        topic, control = app.topic(), new_control()
        fill(kafka, app, topic)
        with (
            new_gateway(control, HADASH_GATEWAY_WRITE_BUFFER_BYTES=65_536) as gateway,
            signed_in(gateway, app) as client,
        ):
            with client.at_once():  # the Gateway does not read on from a client that is slow
                for _ in range(4):
                    client.send_fetch(topic, max_bytes=50_000_000)
                client.send_produce(topic, b"last")
            eventually(lambda: gateway.clients(app.appid)[0]["slow"], "a client that does not read")
            eventually(lambda: in_flight(gateway, app) == 1, "its write, whose answer it does not read")
            control.in_effect(Move(control, Identity(app.appid), "east").write(BindingState.BLOCK))

    def test_what_came_while_it_did_not_read_is_not_written_for_one_who_hangs_up(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        kafka: Clusters,
    ) -> None:
        """It may have sent it again on another connection by then."""
        topic, control = app.topic(), new_control()
        fill(kafka, app, topic)
        with new_gateway(control, HADASH_GATEWAY_WRITE_BUFFER_BYTES=65_536) as gateway:
            with signed_in(gateway, app) as client:
                for _ in range(4):
                    client.send_fetch(topic, max_bytes=50_000_000)
                eventually(lambda: gateway.clients(app.appid)[0]["slow"], "a client that does not read")
                client.send_produce(topic, b"waits")
            eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
        assert kafka.end_offsets("east", topic) == {0: RECORDS}


#: More than the kernel and the Gateway hold for a client that does not read.
RECORDS, RECORD_BYTES = 20, 900_000


def fill(kafka: Clusters, app: App, topic: str) -> None:
    """Write more to a Topic of east than is taken by a client that does not read."""
    direct = app.config(kafka.described["east"].bootstrap_servers)
    produce(direct, topic, *[b"x" * RECORD_BYTES] * RECORDS)


def in_flight(gateway: GatewayProcess, app: App) -> int:
    return sum(client["mutations"] for client in gateway.clients(app.appid))
