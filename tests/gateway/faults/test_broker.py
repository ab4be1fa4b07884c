"""What breaks at the broker behind a Gateway. Nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, is_known, signed_in
from support.kafka import App
from support.proxy import Proxy
from support.raw import RawClient
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


class TestInEffect:
    """A block is in effect when all that was sent to the cluster has been answered to its clients."""

    def test_not_before_what_is_in_flight_is_answered(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app, "slow") as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)  # written, but the answer is still on its way
            epoch = move.write(BindingState.BLOCK)
            assert gateway.logged(rf"epoch {epoch} waits for {app.appid} › slow \(1 mutations")
            assert is_known(gateway, app, "block")
            assert control.applied() < epoch
            broker.release()
            control.in_effect(epoch)
            assert client.produce_error() is ErrorCode.none

    def test_a_later_change_of_others_does_not_overtake_it(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)
            epoch = move.write(BindingState.BLOCK)
            eventually(lambda: is_known(gateway, app, "block"), "the block")  # else both would be one update
            control.store.change([control.edit(Identity("nobody"), "west")])
            gateway.logged(rf"epoch {epoch + 1} is in effect")
            assert control.applied() < epoch
            broker.release()
            control.in_effect(epoch + 1)


class TestDeadBroker:
    """The client's connection ends with the broker's, whatever the Gateway is waiting for at that moment."""

    def test_while_it_is_idle(self, gateway: GatewayProcess, app: App, broker: Proxy) -> None:
        with signed_in(gateway, app) as client:
            broker.reset()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")

    def test_while_more_is_in_flight_than_may_be(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            broker.hold()
            for number in range(70):
                client.send_produce(topic, b"%d" % number)
            control.clusters.wait_for_end("east", topic, 64)
            broker.reset()
            broker.release()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection", patience=4)

    def test_while_it_is_parked(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        move.block()
        with signed_in(gateway, app) as client:
            client.send_produce(topic, b"one")
            eventually(lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked client")
            broker.reset()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
        assert control.clusters.end_offsets("east", topic) == {0: 0}

    def test_a_forward_goes_on_past_a_member_whose_broker_is_dead(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """The forced switch: the source is lost, and its clients are to be told all the same."""
        topic, group = app.topic(), app.group()
        control = new_control()  # of its own: a Gateway that gets stuck would fail every test after this one
        move = Move(control, Identity(app.appid), "east")
        with new_gateway(control) as gateway, signed_in(gateway, app) as member:
            move.to(BindingState.QUIESCE)
            member.send_join(group)
            # It has no member id yet: the Gateway knows a client that waits, and no member.
            eventually(lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked JOIN_GROUP")
            move.place(topic, groups=(group,))
            broker.reset()
            assert member.receive() is None
            move.write(BindingState.BLOCK)  # what is in flight to the source is not waited for
            control.in_effect(move.write(BindingState.FORWARD, "west"), patience=5)

    def test_while_a_client_signs_in_it_is_told(self, gateway: GatewayProcess, broker: Proxy) -> None:
        before = gateway.refused("cluster")
        with RawClient(gateway.address) as client:
            client.call(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
            broker.hold()
            opened = broker.opened
            client.send(ApiKey.SASL_AUTHENTICATE, 1, auth_bytes=b"\0shop\0shop-secret")
            eventually(lambda: broker.opened > opened, "the Gateway's connection to the broker")
            broker.reset()
            broker.release()
            assert client.receive() is None
        assert gateway.refused("cluster") == before + 1
