"""Clients that were cut off while they had writes under way: they send them again, and must find the cluster
that may have them already.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, is_known, signed_in
from support.kafka import App
from support.proxy import Proxy
from support.raw import RawClient
from support.waiting import eventually

from hadash.bindings.membership import members, set_excluded
from hadash.bindings.model import BindingState
from hadash.bindings.native import NativeDialect
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity
from hadash.switching.stages.commands import Pause, ReadExpectedBack
from hadash.switching.stages.steps import await_returning_clients

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

SECONDS = 4

#: For clients of a Gateway that has gone: another one has to start within it, on a machine that does much else.
SECONDS_OF_THE_GONE = 20

#: Short, so that a test need not wait long for a session that ends.
SHORT_SESSION = 2


@pytest.fixture
def control(new_control: Callable[[], ControlPlane]) -> ControlPlane:
    """Of its own: what is held here holds up every change after it."""
    return new_control()


@pytest.fixture
def gateway(control: ControlPlane, new_gateway: Callable[..., GatewayProcess]) -> GatewayProcess:
    with new_gateway(control, HADASH_GATEWAY_RETURN_SECONDS=SECONDS) as running:
        yield running


def write_unanswered(client: RawClient, control: ControlPlane, broker: Proxy, topic: str) -> None:
    """Written on east, and the answer is on its way for as long as the broker is held."""
    broker.hold()
    client.send_produce(topic, b"one")
    control.clusters.wait_for_end("east", topic, 1)


def lose_broker(broker: Proxy, client: RawClient) -> None:
    broker.reset()
    broker.release()
    assert client.receive() is None


class TestDuringABlock:
    """The block would catch what comes again, and forward would send it to the other cluster."""

    def test_it_is_not_in_effect_when_the_broker_dies_before_it_has_answered(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            write_unanswered(client, control, broker, topic)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(rf"epoch {epoch} waits for")
            lose_broker(broker, client)
        assert gateway.logged(rf"epoch {epoch} cannot come into effect: {app.appid} › raw")
        later = control.store.change([control.edit(Identity("nobody"), "west")])
        assert gateway.logged(f"epoch {later} is in effect")
        assert control.applied() < epoch
        with signed_in(gateway, app) as again:
            again.send_produce(topic, b"one")
            eventually(lambda: is_known(gateway, app, "block"), "the client that has come back")
            move.release()
            assert again.produce_error() is ErrorCode.none
        assert control.clusters.end_offsets("west", topic) == {0: 0}

    def test_nor_when_the_client_is_cut_off(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            write_unanswered(client, control, broker, topic)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(rf"epoch {epoch} waits for")
        assert gateway.logged(rf"epoch {epoch} cannot come into effect: {app.appid} › raw")
        broker.release()
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
        assert control.applied() < epoch
        move.release()


class TestBefore:
    def test_what_leads_to_a_block_waits_until_they_can_be_back(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            write_unanswered(client, control, broker, topic)
            lose_broker(broker, client)
        epoch = move.write(BindingState.QUIESCE)
        assert gateway.logged(f"epoch {epoch} waits for clients to come back")
        assert control.applied() < epoch
        with signed_in(gateway, app) as again:  # back in time: to where it may have written already
            again.send_produce(topic, b"one")
            assert again.produce_error() is ErrorCode.none
        control.in_effect(epoch)
        move.block()
        move.release()

    def test_a_block_that_comes_before_that_is_not_in_effect(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            write_unanswered(client, control, broker, topic)
            lose_broker(broker, client)
        epoch = move.write(BindingState.BLOCK)
        assert gateway.logged(f"epoch {epoch} waits for clients to come back")
        gateway.logged(f"epoch {epoch} is in effect")  # nothing is in flight
        assert control.applied() < epoch
        move.release()
        control.in_effect(move.write(BindingState.QUIESCE))
        move.block()
        move.release()

    def test_others_do_not_wait(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, broker: Proxy
    ) -> None:
        """Neither other InstanceIDs nor who had everything answered when the broker died."""
        topic = app.topic()
        with signed_in(gateway, app, "unlucky") as client, signed_in(gateway, app, "idle") as idle:
            idle.send_produce(topic, b"answered")
            assert idle.produce_error() is ErrorCode.none
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 2)
            lose_broker(broker, client)
            assert idle.receive() is None
        move = Move(control, Identity(app.appid, instance_id="idle"), "east")
        move.to(BindingState.QUIESCE)
        move.block()
        move.release()
        assert "clients to come back" not in gateway.log()


class TestOfAGatewayThatHasGone:
    """Nobody who runs remembers them: it stands in ZooKeeper, and a switch waits for them before it holds anybody."""

    @pytest.fixture
    def through(
        self, control: ControlPlane, new_gateway: Callable[..., GatewayProcess]
    ) -> Callable[[str], GatewayProcess]:
        settings = {"session": SHORT_SESSION, "HADASH_GATEWAY_RETURN_SECONDS": SECONDS_OF_THE_GONE}
        return partial(new_gateway, control, **settings)

    def test_who_was_cut_off_before_it_was_restarted_in_order(
        self, through: Callable[[str], GatewayProcess], control: ControlPlane, app: App, broker: Proxy
    ) -> None:
        topic = app.topic()
        with through("gateway-1") as gateway, signed_in(gateway, app) as client:
            producer_id = write_idempotently(client, control, broker, topic)
            lose_broker(broker, client)
            assert gateway.stop() == 0
        with through("gateway-1") as restarted:
            assert_written_once(restarted, control, app, topic, producer_id)

    def test_everybody_of_one_that_was_excluded(
        self, through: Callable[[str], GatewayProcess], control: ControlPlane, app: App, broker: Proxy
    ) -> None:
        topic = app.topic()
        with through("gateway-1") as killed, through("gateway-2") as other, signed_in(killed, app) as client:
            producer_id = write_idempotently(client, control, broker, topic)
            killed.kill()
            broker.release()
            eventually(
                lambda: [m.live for m in members(control.client)] == [False, True], "the end of its session"
            )
            set_excluded(control.client, "gateway-1", True)
            assert_written_once(other, control, app, topic, producer_id)


def write_idempotently(client: RawClient, control: ControlPlane, broker: Proxy, topic: str) -> int:
    """:func:`write_unanswered` by a producer with an id, by which its cluster knows a batch that it has already."""
    init = partial(
        client.call,
        ApiKey.INIT_PRODUCER_ID,
        1,
        transactional_id=None,
        transaction_timeout=timedelta(minutes=1),
    )
    # A broker that has just started has no ids yet, and answers -1.
    asked = eventually(lambda: (answer := init()).producer_id >= 0 and answer, "a producer id")
    producer_id: int = asked.producer_id
    broker.hold()
    client.send_produce(topic, b"one", producer_id=producer_id, epoch=0, sequence=0)
    control.clusters.wait_for_end("east", topic, 1)
    return producer_id


def assert_written_once(
    gateway: GatewayProcess, control: ControlPlane, app: App, topic: str, producer_id: int
) -> None:
    """A switch is carried out. Its client takes a while, comes back, and sends again what was not answered."""
    move = Move(control, Identity(app.appid), "east")
    answers: list[ErrorCode] = []

    def comes_back() -> None:
        with signed_in(gateway, app) as again:
            again.send_produce(topic, b"one", producer_id=producer_id, epoch=0, sequence=0)
            answers.append(again.produce_error())

    let_come_back(NativeDialect(control.client), app.appid, comes_back)
    for state in (BindingState.HOLD_HEARTBEATS, BindingState.QUIESCE, BindingState.BLOCK):
        move.to(state)
    move.forward(topic)
    if not answers:
        comes_back()
    assert control.clusters.end_offsets("east", topic) == {0: 1}
    assert control.clusters.end_offsets("west", topic) == {0: 0}
    assert answers == [ErrorCode.none]


def let_come_back(dialect: NativeDialect, appid: str, meanwhile: Callable[[], None]) -> None:
    """What a switch does before it holds anybody; ``meanwhile`` happens once, when it waits."""
    step, answer, began, waited = (
        await_returning_clients(5 * SECONDS_OF_THE_GONE),
        None,
        time.monotonic(),
        False,
    )
    with suppress(StopIteration):
        while True:
            command = step.send(answer)
            answer = None
            if isinstance(command, ReadExpectedBack):
                answer = dialect.expected_back([appid], "east")
            elif isinstance(command, Pause):
                if command.seconds and not waited:
                    waited = True
                    meanwhile()
                time.sleep(command.seconds)
                answer = time.monotonic() - began


class TestRefusedButMaybeWritten:
    """A leader that has appended a write and hears of too few followers in time refuses it, and keeps it."""

    def answer_with(self, broker: Proxy, topic: str, error: ErrorCode) -> None:
        """The records are written; partition 0 of ``topic`` is answered with ``error``, in PRODUCE version 9."""
        before = topic.encode() + b"\x02" + bytes(4)
        broker.instead = {before + bytes(2): before + error.to_bytes(2, "big")}

    def test_nothing_leads_to_a_block_before_it_was_sent_again(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            self.answer_with(broker, topic, ErrorCode.request_timed_out)
            client.send_produce(topic, b"one")
            assert client.produce_error() is ErrorCode.request_timed_out
            epoch = move.write(BindingState.QUIESCE)
            assert gateway.logged(f"epoch {epoch} waits for clients to come back")
            assert not control.has(epoch)
            broker.release()
            client.send_produce(topic, b"one")
            assert client.produce_error() is ErrorCode.none
            control.in_effect(epoch)
            move.block()
            move.release()

    def test_a_block_that_waits_for_it_is_not_in_effect(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            self.answer_with(broker, topic, ErrorCode.not_leader_or_follower)
            write_unanswered(client, control, broker, topic)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(rf"epoch {epoch} waits for")
            broker.hand_over()
            assert client.produce_error() is ErrorCode.not_leader_or_follower
            assert gateway.logged(rf"epoch {epoch} cannot come into effect: {app.appid} › raw")
            assert not control.has(epoch)
            move.release()


def test_a_block_that_hangs_holds_up_nobody_else(
    gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
) -> None:
    topic = app.topic()
    with signed_in(gateway, app) as client:
        write_unanswered(client, control, broker, topic)
        epoch = move.write(BindingState.BLOCK)
        gateway.logged(rf"epoch {epoch} waits for")
        others = Move(control, Identity("nobody"), "east")
        others.to(BindingState.QUIESCE)
        others.block()
        others.release()
        assert not control.has(epoch)
        broker.release()
        assert client.produce_error() is ErrorCode.none
        control.in_effect(epoch)
        move.release()


def test_a_refused_first_batch_is_not_overtaken(
    gateway: GatewayProcess, control: ControlPlane, app: App, broker: Proxy
) -> None:
    """A cluster takes any sequence number as the first of a producer that has just moved there."""
    topic = app.topic()
    control.bind(Identity(app.appid), "west")
    control.bind(Identity(app.appid), "east")
    numbered = {"producer_id": 7, "epoch": 0}
    before = topic.encode() + b"\x02" + bytes(4)
    moved = before + ErrorCode.not_leader_or_follower.to_bytes(2, "big")
    with signed_in(gateway, app) as client:
        broker.instead = {before + bytes(2): moved}
        broker.hold()
        client.send_produce(topic, b"5", sequence=5, **numbered)
        client.send_produce(topic, b"6", sequence=6, **numbered)
        control.clusters.wait_for_end("east", topic, 1)
        broker.hand_over()
        assert client.produce_error() is ErrorCode.not_leader_or_follower
        assert client.produce_error() is ErrorCode.not_leader_or_follower
        assert control.clusters.end_offsets("east", topic) == {0: 1}
        broker.release()
        for sequence in (5, 6):
            client.send_produce(topic, b"%d" % sequence, sequence=sequence, **numbered)
            assert client.produce_error() in (ErrorCode.none, ErrorCode.duplicate_sequence_number)
    assert control.clusters.values("east", topic) == [b"5", b"6"]
