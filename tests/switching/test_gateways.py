"""Excluding a Gateway: a person's word, and only for one that does not answer; on a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bindings.conftest import LoseReply, lose_reply
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry
from hadash.bindings import membership
from hadash.bindings.epochs import Report
from hadash.bindings.errors import UnknownOutcome
from hadash.bindings.member import Member
from hadash.bindings.membership import members, not_applied
from hadash.bindings.pending_retries import expected_back
from hadash.inventory import gateways as reading
from hadash.refusals import Refused
from hadash.switching.recovery import gateways
from hadash.switching.refusals import EnginesAway

__all__ = ["lose_reply"]

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def own_zookeeper(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gateways, reading):
        monkeypatch.setattr(module, "zookeeper", lambda: zookeeper)


@pytest.fixture
def olga(db: None) -> User:
    ensure_roles()
    return ensure_user("olga", "secret-123", "operator")


@pytest.fixture
def join(connect_client: Callable[..., KazooClient]) -> Callable[[str], KazooClient]:
    """A Gateway that joins; its client, to be closed when it shall die."""

    def action(name: str) -> KazooClient:
        client = connect_client()
        Member(client, name, "127.0.0.1:1", "http://127.0.0.1:2", "1", 4_000_000).join(Report(0))
        return client

    return action


def dies(client: KazooClient) -> None:
    """Its session ends, and its record stays."""
    client.stop()


def test_a_switch_waits_for_one_that_is_gone_until_somebody_excludes_it(
    join: Callable[[str], KazooClient], zookeeper: KazooClient, olga: User
) -> None:
    dies(join("gateway-2"))
    assert [m.id for m in not_applied(members(zookeeper), 1)] == ["gateway-2"]
    gateways.exclude(olga, "gateway-2", " gateway-2 ", "Its machine burnt down.", "10.0.0.1")
    assert not_applied(members(zookeeper), 1) == []
    entry = Entry.objects.get()
    assert (entry.actor_name, entry.verb, entry.subject) == ("olga", "exclude", "Gateway gateway-2")
    assert (entry.address, entry.details) == ("10.0.0.1", {"reason": "Its machine burnt down."})


def test_it_stays_excluded_when_it_starts_again_until_somebody_includes_it(
    join: Callable[[str], KazooClient], zookeeper: KazooClient, olga: User
) -> None:
    dies(join("gateway-2"))
    gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
    join("gateway-2")
    assert [m.excluded for m in members(zookeeper)] == [True]
    gateways.include(olga, "gateway-2")
    assert [m.excluded for m in members(zookeeper)] == [False]


def test_whom_it_served_may_come_back(
    join: Callable[[str], KazooClient], zookeeper: KazooClient, olga: User
) -> None:
    """Nobody knows what it had under way: it is noted with the exclusion that everybody may send it again."""
    dies(join("gateway-2"))
    gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
    assert [e.gateway for e in expected_back(zookeeper, ["shop"], "east")] == ["gateway-2"]


def test_one_that_answers_is_not_excluded(
    join: Callable[[str], KazooClient], zookeeper: KazooClient, olga: User
) -> None:
    join("gateway-1")
    with pytest.raises(Refused, match="Gateway gateway-1 answers ZooKeeper: it serves clients"):
        gateways.exclude(olga, "gateway-1", "gateway-1", "It is slow.")
    assert [m.excluded for m in members(zookeeper)] == [False]


@pytest.mark.parametrize(
    ("typed", "reason", "why"),
    [
        ("", "x", "Type gateway-2 to confirm"),
        ("gateway-1", "x", "Type gateway-2 to confirm"),
        ("gateway-2", " ", "Say why"),
    ],
)
def test_without_the_word_and_a_reason_nothing_happens(
    join: Callable[[str], KazooClient], zookeeper: KazooClient, olga: User, typed: str, reason: str, why: str
) -> None:
    dies(join("gateway-2"))
    with pytest.raises(Refused, match=why):
        gateways.exclude(olga, "gateway-2", typed, reason)
    assert [m.excluded for m in members(zookeeper)] == [False]
    assert not Entry.objects.exists()


def test_one_that_is_no_member(olga: User, zookeeper: KazooClient) -> None:
    with pytest.raises(Refused, match="Gateway nobody is no member"):
        gateways.exclude(olga, "nobody", "nobody", "x")
    assert not Entry.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "approver", "administrator"])
def test_only_operators(olga: User, role: str) -> None:
    other = ensure_user(f"a-{role}", "secret-123", role)
    with pytest.raises(PermissionDenied, match="You may not exclude Gateways"):
        gateways.exclude(other, "gateway-2", "gateway-2", "x")


class TestALostReply:
    """ZooKeeper's answer to the write does not arrive."""

    @pytest.fixture
    def lose(
        self, lose_reply: LoseReply, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., None]:
        """The next write's answer is lost; with ``silent`` nothing is answered after it."""

        def arm(*, happened: bool, silent: bool = False) -> None:
            def unanswered(*_: object, **__: object) -> None:
                raise ConnectionLoss

            def then() -> None:
                if silent:
                    monkeypatch.setattr(zookeeper, "sync", unanswered)

            monkeypatch.setattr(membership, "READ_BACK_SECONDS", 0.3)
            lose_reply(zookeeper, happened=happened, then=then)

        return arm

    def test_what_has_happened_is_done(
        self,
        lose: Callable[..., None],
        join: Callable[[str], KazooClient],
        zookeeper: KazooClient,
        olga: User,
    ) -> None:
        dies(join("gateway-2"))
        lose(happened=True)
        gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
        assert [m.excluded for m in members(zookeeper)] == [True]
        assert Entry.objects.get().details == {"reason": "Gone."}

    def test_what_has_not_happened_is_recorded_as_that(
        self,
        lose: Callable[..., None],
        join: Callable[[str], KazooClient],
        zookeeper: KazooClient,
        olga: User,
    ) -> None:
        dies(join("gateway-2"))
        lose(happened=False)
        with pytest.raises(EnginesAway, match="cannot be reached"):
            gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
        assert [m.excluded for m in members(zookeeper)] == [False]
        assert "cannot be reached" in Entry.objects.get(number=2).details["outcome"]

    def test_nobody_waits_for_the_log_while_zookeeper_takes_its_time(
        self,
        join: Callable[[str], KazooClient],
        monkeypatch: pytest.MonkeyPatch,
        olga: User,
    ) -> None:
        """The audit log has one writer at a time: an open transaction would keep all others waiting."""
        dies(join("gateway-2"))
        open_and_recorded: list[tuple[int, int]] = []

        def excluded(*_: object) -> None:
            # (The test itself is a transaction; each other one has a savepoint within it.)
            open_and_recorded.append((len(connection.savepoint_ids), Entry.objects.count()))

        monkeypatch.setattr(gateways, "set_excluded", excluded)
        gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
        assert open_and_recorded == [(0, 1)]

    def test_what_cannot_be_known_stays_in_the_log(
        self,
        lose: Callable[..., None],
        join: Callable[[str], KazooClient],
        zookeeper: KazooClient,
        olga: User,
    ) -> None:
        dies(join("gateway-2"))
        lose(happened=True, silent=True)
        with pytest.raises(UnknownOutcome):
            gateways.exclude(olga, "gateway-2", "gateway-2", "Gone.")
        assert [m.excluded for m in members(zookeeper)] == [True]
        asked, came = Entry.objects.order_by("number")
        assert (asked.verb, asked.details) == ("exclude", {"reason": "Gone."})
        assert came.verb == "exclude" and "could not be read" in came.details["outcome"]
