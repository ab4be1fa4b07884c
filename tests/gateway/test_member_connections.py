"""A member of a group is no connection: its JOIN_GROUP may come in on one and its heartbeats on another, as
franz-go's do.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move, signed_in
from support.kafka import App
from support.raw import RawClient
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity
from hadash.switching.execution.quiesced import furthest_quiesced

pytestmark = pytest.mark.stack


def joined(client: RawClient, group: str) -> tuple[str, int]:
    """The only member of ``group`` by now: its id and generation."""
    client.send_join(group)
    answer = client.answer(ApiKey.JOIN_GROUP, 2)
    assert answer.error_code is ErrorCode.none
    identity = {"group_id": group, "generation_id": answer.generation_id, "member_id": answer.member_id}
    assert client.call(ApiKey.SYNC_GROUP, 1, **identity, assignments=()).error_code is ErrorCode.none
    return answer.member_id, answer.generation_id


def heart(client: RawClient, group: str, member: str, generation: int) -> Callable[[], ErrorCode]:
    def beat() -> ErrorCode:
        answer = client.call(ApiKey.HEARTBEAT, 1, group_id=group, generation_id=generation, member_id=member)
        code: ErrorCode = answer.error_code
        return code

    return beat


def test_heartbeats_on_another_connection_do_not_hide_that_a_member_has_quiesced(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    group, move = app.group(), Move(control, Identity(app.appid), "east")
    with signed_in(gateway, app, "franz") as joins, signed_in(gateway, app, "franz") as beats:
        member, generation = joined(joins, group)
        beat = heart(beats, group, member, generation)
        assert beat() is ErrorCode.none
        move.to(BindingState.QUIESCE)
        assert beat() is ErrorCode.rebalance_in_progress
        joins.send_join(group, member_id=member)

        def quiesced() -> bool:
            return furthest_quiesced(gateway.members(app.appid)) == {(group, member): "parked"}

        eventually(quiesced, "the parked JOIN_GROUP")
        assert beat() is ErrorCode.rebalance_in_progress, "franz-go sends them while it waits"
        assert quiesced()
        assert len(gateway.members(app.appid)) == 1, "however many connections it has"
