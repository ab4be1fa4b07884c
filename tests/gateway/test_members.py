"""Members of groups are told apart by their member ids, whichever connection they speak on."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.gateway.clients.members import (
    MAX_MEMBERS,
    SESSION_SECONDS,
    ConnectionMembers,
    GroupMembers,
    Member,
)
from hadash.gateway.protocol.api_keys import ApiKey

JOIN = SimpleNamespace(
    protocols=(SimpleNamespace(name="cooperative-sticky"),), session_timeout=timedelta(seconds=10)
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> GroupMembers:
    return GroupMembers(clock)


def connection(registry: GroupMembers) -> ConnectionMembers:
    return ConnectionMembers(registry, "shop", "web-1", "10.0.0.1", "east")


def asked(kind: ApiKey, member_id: str = "m", generation: int = 3) -> tuple[Any, Any]:
    """A request of a member, as far as members are read of it."""
    message = SimpleNamespace(
        group_id="billing", member_id=member_id, generation_id_or_member_epoch=generation
    )
    return SimpleNamespace(kind=kind, version=2), message


def the_member(registry: GroupMembers) -> Member:
    (member,) = registry.all("shop")
    return member


def test_a_connection_that_commits_knows_what_another_has_joined_with(registry: GroupMembers) -> None:
    joins, commits = connection(registry), connection(registry)
    joins.joined("billing", "m", JOIN, 3.0)
    member = commits.seen(*asked(ApiKey.OFFSET_COMMIT))
    assert member is the_member(registry)
    assert (member.assignors, member.session_timeout_ms) == (("cooperative-sticky",), 10_000)


def test_a_join_that_is_parked_outweighs_heartbeats_on_another_connection(registry: GroupMembers) -> None:
    """The last one to be heard of must not decide."""
    joins, beats = connection(registry), connection(registry)
    parked = joins.waits(*asked(ApiKey.JOIN_GROUP))
    parked.parked += 1
    beats.seen(*asked(ApiKey.HEARTBEAT))
    assert the_member(registry).state == "parked"
    parked.parked -= 1
    assert the_member(registry).state == "active"


def test_an_id_that_its_coordinator_had_forgotten_is_gone_when_its_client_has_joined_under_another(
    registry: GroupMembers,
) -> None:
    """A Gateway was away for longer than a session: the client comes back with its old id first."""
    back = connection(registry)
    back.seen(*asked(ApiKey.HEARTBEAT, "old"))
    back.joined("billing", "new", JOIN, 3.0)
    assert the_member(registry).member_id == "new"


def test_another_member_of_the_group_on_another_connection_stays(registry: GroupMembers) -> None:
    other, joins = connection(registry), connection(registry)
    other.seen(*asked(ApiKey.HEARTBEAT, "other"))
    joins.seen(*asked(ApiKey.HEARTBEAT, "other"))  # which it speaks on, too
    joins.joined("billing", "new", JOIN, 3.0)
    assert {member.member_id for member in registry.all("shop")} == {"other", "new"}


@pytest.mark.parametrize("kind", [ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.OFFSET_COMMIT])
def test_requests_that_only_members_send_make_one_known(registry: GroupMembers, kind: ApiKey) -> None:
    """Its JOIN_GROUP may have passed before this process was there."""
    assert connection(registry).seen(*asked(kind)) is not None
    assert the_member(registry).assignors is None


def test_a_commit_without_a_generation_is_no_members(registry: GroupMembers) -> None:
    assert connection(registry).seen(*asked(ApiKey.OFFSET_COMMIT, "", -1)) is None
    assert registry.all() == []


def test_it_is_remembered_until_its_session_ends(registry: GroupMembers, clock: Clock) -> None:
    """Cut off, it commits on its next connection before it joins again, if it ever does."""
    cut = connection(registry)
    cut.joined("billing", "m", JOIN, 3.0)
    cut.waits(*asked(ApiKey.JOIN_GROUP)).parked += 1
    cut.close()
    assert (the_member(registry).connected, the_member(registry).state) == (False, "active")
    clock.now += 9
    again = connection(registry)
    member = again.seen(*asked(ApiKey.OFFSET_COMMIT))
    assert member is not None
    assert member.assignors == ("cooperative-sticky",)
    again.close()
    clock.now += 11
    assert registry.all() == []


def test_members_whose_session_has_ended_take_no_memory(registry: GroupMembers, clock: Clock) -> None:
    for number in range(3):
        one = connection(registry)
        one.carries("billing", f"m-{number}")
        one.close()
    clock.now += SESSION_SECONDS + 1
    connection(registry).close()
    assert registry.of("shop", "billing", "m-0") is None


def test_who_leaves_is_forgotten(registry: GroupMembers) -> None:
    joins, leaves = connection(registry), connection(registry)
    joins.joined("billing", "m", JOIN, 3.0)
    leaves.leave(*asked(ApiKey.LEAVE_GROUP))
    assert registry.all() == []
    joins.close()
    assert registry.all() == []


def test_one_connection_does_not_fill_the_memory(registry: GroupMembers) -> None:
    one = connection(registry)
    for number in range(MAX_MEMBERS + 5):
        one.carries("billing", f"m-{number}")
    assert len(registry.all()) == MAX_MEMBERS
