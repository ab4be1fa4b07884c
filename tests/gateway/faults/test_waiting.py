"""What waits too long."""

from __future__ import annotations

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, signed_in
from support.kafka import App

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode

pytestmark = pytest.mark.stack


class TestWaitingTooLong:
    """Parked for as long as a client can wait, then told to look again; nothing of it is written."""

    def test_a_request_is_answered_before_its_client_gives_up(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move
    ) -> None:
        topic, group = app.topic(), app.group()
        move.block()
        with signed_in(gateway, app, "writes") as writes, signed_in(gateway, app, "joins") as joins:
            writes.send_produce(topic, b"one")
            joins.send_join(group)
            assert writes.produce_error() is ErrorCode.not_leader_or_follower
            assert joins.answer(ApiKey.JOIN_GROUP, 2).error_code is ErrorCode.not_coordinator
        assert control.clusters.end_offsets("east", topic) == {0: 0}

    def test_requests_that_wait_together_are_answered_together(
        self, gateway: GatewayProcess, app: App, move: Move
    ) -> None:
        """Their client counts from when it sent them: the fifth must not wait five times as long as the first."""
        topic = app.topic()
        move.block()
        with signed_in(gateway, app, "pipelines") as pipelines, signed_in(gateway, app, "later") as later:
            for number in range(5):
                pipelines.send_produce(topic, b"%d" % number)
            assert pipelines.produce_error() is ErrorCode.not_leader_or_follower
            later.send_produce(topic, b"later")
            assert later.produce_error() is ErrorCode.not_leader_or_follower
            # The later one has waited its time in full; those sent before it must have been answered by now.
            assert pipelines.received() == 4

    def test_an_idempotent_batch_that_waited_too_long_is_only_told_to_look_again(
        self, gateway: GatewayProcess, app: App, move: Move
    ) -> None:
        """It comes again with the same sequence, to whichever cluster: nothing has been written of it."""
        topic = app.topic()
        with signed_in(gateway, app) as client:
            client.send_produce(topic, b"one", producer_id=4_000_000, epoch=0, sequence=0)
            assert client.produce_error() is ErrorCode.none
            move.block()
            for _ in range(2):
                client.send_produce(topic, b"two", producer_id=4_000_000, epoch=0, sequence=1)
                assert client.produce_error() is ErrorCode.not_leader_or_follower
