"""Membership on a real ZooKeeper: who is there, who lives, and what each has put into effect."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from support.waiting import eventually
from support.zookeeper import expire_session

from hadash.bindings import layout
from hadash.bindings.client import LOST_REPLY
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NameTaken, Superseded
from hadash.bindings.member import Member
from hadash.bindings.membership import members, not_applied, set_excluded
from hadash.bindings.pending_retries import Departure, expected_back

pytestmark = pytest.mark.stack


def member(client: KazooClient, name: str = "gateway-1") -> Member:
    return Member(client, name, "h:9092", "http://h:9093", "0.1.0", os.getpid())


@pytest.fixture
def gateway(connect_client: Callable[..., KazooClient]) -> Member:
    """A Gateway with a session of its own, that has joined with epoch 3 in effect."""
    made = member(connect_client())
    made.join(Report(3))
    return made


def test_a_member_says_who_it_is_and_what_it_has_in_effect(zookeeper: KazooClient, gateway: Member) -> None:
    (found,) = members(zookeeper)
    assert (found.id, found.address, found.admin_url) == ("gateway-1", "h:9092", "http://h:9093")
    assert (found.version, found.pid) == ("0.1.0", os.getpid())
    assert (found.live, found.applied, found.excluded) == (True, 3, False)


def test_members_come_by_id(zookeeper: KazooClient) -> None:
    for name in ("b", "网关/1", "a"):
        member(zookeeper, name).join(Report(0))
    assert [m.id for m in members(zookeeper)] == ["网关/1", "a", "b"]


def test_a_later_epoch_is_reported(zookeeper: KazooClient, gateway: Member) -> None:
    gateway.report_applied(Report(4))
    assert [m.applied for m in members(zookeeper)] == [4]


def test_two_first_reports_at_once_are_both_made(
    zookeeper: KazooClient, gateway: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Gateway's start joins while its loop reports the epoch that it has just read."""
    create, path = gateway.client.create, layout.gateway_applied("gateway-1", gateway.incarnation)
    zookeeper.delete(path)

    def somebody_is_faster(path: str, *values: object, **options: object) -> object:
        monkeypatch.setattr(gateway.client, "create", create)
        gateway.report_applied(Report(2))
        return create(path, *values, **options)

    monkeypatch.setattr(gateway.client, "create", somebody_is_faster)
    gateway.report_applied(Report(3))
    assert [m.applied for m in members(zookeeper)] == [3]


def test_who_dies_stays_a_member_that_is_waited_for(zookeeper: KazooClient, gateway: Member) -> None:
    gateway.client.stop()
    (found,) = members(zookeeper)
    assert not found.live
    assert not_applied([found], 4) == [found]


def test_who_leaves_is_waited_for_by_nobody(zookeeper: KazooClient, gateway: Member) -> None:
    gateway.leave()
    assert members(zookeeper) == []


def test_leaving_twice_is_no_error(gateway: Member) -> None:
    gateway.leave()
    gateway.leave()


def test_in_a_new_session_it_lives_again(
    zookeeper: KazooClient, gateway: Member, zookeeper_hosts: str
) -> None:
    expire_session(gateway.client, zookeeper_hosts)
    assert [m.live for m in members(zookeeper)] == [False]
    eventually(lambda: is_answered(gateway.client), "the new session")
    gateway.join(Report(5))
    assert [(m.live, m.applied) for m in members(zookeeper)] == [(True, 5)]


class TestOneName:
    """Two processes under one name would report for each other: a block would be in effect that is not. Neither a
    name, nor a pid (1 in every container), nor a host (``localhost`` on every cloned machine) says who somebody
    is."""

    @pytest.fixture(autouse=True)
    def short_sessions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hadash.bindings.client.SESSION_TIMEOUT_SECONDS", 0.2)

    def test_one_that_lives_is_not_pushed_out_though_pid_and_host_are_the_same(
        self, zookeeper: KazooClient, gateway: Member, connect_client: Callable[..., KazooClient]
    ) -> None:
        second = connect_client()
        with pytest.raises(NameTaken, match=r"'gateway-1' is running already \(pid \d+ on "):
            member(second).join(Report(9))
        assert [(m.incarnation, m.applied, m.live) for m in members(zookeeper)] == [
            (gateway.incarnation, 3, True)
        ]
        owner = second.exists(layout.gateway_live("gateway-1")).ephemeralOwner
        assert owner == gateway.client.client_id[0]

    def test_one_that_vanishes_is_waited_for(
        self, gateway: Member, connect_client: Callable[..., KazooClient], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.bindings.client.SESSION_TIMEOUT_SECONDS", 20.0)
        second = connect_client()
        ending = threading.Timer(0.3, gateway.client.stop)
        ending.start()
        member(second).join(Report(0))
        ending.join()
        assert second.exists(layout.gateway_live("gateway-1")).ephemeralOwner == second.client_id[0]

    def test_one_that_left_in_order_is_not_waited_for(
        self, zookeeper: KazooClient, gateway: Member, connect_client: Callable[..., KazooClient]
    ) -> None:
        gateway.leave()
        second = member(connect_client())
        assert second.predecessor() is None
        second.join(Report(0))
        assert [m.incarnation for m in members(zookeeper)] == [second.incarnation]
        assert zookeeper.get_children(layout.RETURNING) == []

    def test_the_successor_reads_what_was_in_effect_and_then_nobody_else_reports_for_it(
        self,
        zookeeper: KazooClient,
        gateway: Member,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
    ) -> None:
        """The old process goes on: it is cut off, or on a machine that was cloned."""
        expire_session(gateway.client, zookeeper_hosts)
        second = member(connect_client())
        assert second.predecessor() == Report(3)
        second.join(Report(2))
        assert zookeeper.exists(layout.gateway_applied("gateway-1", gateway.incarnation)) is None
        eventually(lambda: is_answered(gateway.client), "the new session")
        gateway.report_applied(Report(9))
        assert [m.applied for m in members(zookeeper)] == [2]
        with pytest.raises(Superseded, match="Another process has become Gateway 'gateway-1'"):
            gateway.join(Report(9))
        gateway.leave()
        assert [(m.live, m.applied) for m in members(zookeeper)] == [(True, 2)]

    def test_one_that_was_replaced_says_who_may_come_back_though_the_first_time_is_over(
        self,
        zookeeper: KazooClient,
        gateway: Member,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
    ) -> None:
        expire_session(gateway.client, zookeeper_hosts)
        second = member(connect_client())
        second.predecessor()
        second.join(Report(3))
        path = layout.returning(gateway.incarnation)
        eventually(lambda: is_answered(gateway.client), "the new session")
        noted = zookeeper.exists(path).version
        gateway.expect_everybody_back()
        assert zookeeper.exists(path).version == noted + 1, "its time begins again"
        zookeeper.delete(path)  # as the next reader does when the time is over
        gateway.expect_everybody_back()
        assert [each.gateway for each in expected_back(zookeeper, ["anybody"], "east")] == ["gateway-1"]

    def test_of_two_successors_at_once_one_wins(
        self,
        zookeeper: KazooClient,
        gateway: Member,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
    ) -> None:
        expire_session(gateway.client, zookeeper_hosts)
        first, second = member(connect_client()), member(connect_client())
        assert first.predecessor() == second.predecessor() == Report(3)
        first.join(Report(3))
        with pytest.raises(NameTaken):
            second.join(Report(9))
        assert [(m.incarnation, m.applied) for m in members(zookeeper)] == [(first.incarnation, 3)]

    def test_one_of_a_version_without_incarnations_has_a_say_until_it_is_replaced(
        self, zookeeper: KazooClient, connect_client: Callable[..., KazooClient]
    ) -> None:
        older = connect_client()
        older.create(layout.gateway("gateway-1"), b'{"address": "h:9092", "host": "h", "pid": 1}')
        older.create(layout.gateway_live("gateway-1"), ephemeral=True)
        older.create(layout.gateway_applied("gateway-1", ""), Report(4).to_bytes())
        assert [(m.live, m.applied) for m in members(zookeeper)] == [(True, 4)]
        newer = member(connect_client())
        with pytest.raises(NameTaken):
            newer.predecessor()
        older.stop()
        assert newer.predecessor() == Report(4)
        newer.join(Report(1))
        assert [(m.live, m.applied) for m in members(zookeeper)] == [(True, 1)]


class TestWhoseClientsMayComeBack:
    def test_those_of_one_that_ends_in_order_and_says_so(
        self, zookeeper: KazooClient, gateway: Member
    ) -> None:
        gateway.leave(Departure("gateway-1", 20.0, {"shop": ("east",)}))
        (found,) = expected_back(zookeeper, ["shop", "audit"], "east")
        assert found.gateway == "gateway-1"
        assert 0 < found.seconds <= 20
        assert expected_back(zookeeper, ["shop"], "west") == expected_back(zookeeper, ["audit"], "east") == []

    def test_everybody_of_one_that_did_not_and_is_replaced(
        self,
        zookeeper: KazooClient,
        gateway: Member,
        connect_client: Callable[..., KazooClient],
        zookeeper_hosts: str,
    ) -> None:
        expire_session(gateway.client, zookeeper_hosts)
        assert expected_back(zookeeper, ["shop"], "east") == []
        member(connect_client()).join(Report(3))
        assert [e.gateway for e in expected_back(zookeeper, ["shop"], "east")] == ["gateway-1"]
        assert zookeeper.get_children(layout.RETURNING) == [gateway.incarnation]

    def test_everybody_of_one_that_is_excluded(self, zookeeper: KazooClient, gateway: Member) -> None:
        set_excluded(zookeeper, "gateway-1", True)
        (found,) = expected_back(zookeeper, ["shop"], "east")
        assert found.gateway == "gateway-1"
        set_excluded(zookeeper, "gateway-1", False)
        assert expected_back(zookeeper, ["shop"], "east") != [], "they may come back all the same"

    def test_nobody_when_their_time_is_over_by_zookeepers_clock(
        self, zookeeper: KazooClient, gateway: Member
    ) -> None:
        gateway.leave(Departure("gateway-1", 0.2))
        assert expected_back(zookeeper, ["shop"], "east") != []
        eventually(lambda: expected_back(zookeeper, ["shop"], "east") == [], "the end of their time")
        assert zookeeper.get_children(layout.RETURNING) == []

    @pytest.mark.parametrize(
        "data", [b"", b"soon", b"[]", b'{"gateway": "g", "seconds": NaN, "appids": null}']
    )
    def test_what_cannot_be_read_is_everybody(self, zookeeper: KazooClient, data: bytes) -> None:
        zookeeper.create(layout.returning("4f2a"), data)
        (found,) = expected_back(zookeeper, ["shop"], "east")
        assert 25 < found.seconds <= 30


def test_joining_again_in_the_same_session_keeps_the_live_node(
    zookeeper: KazooClient, gateway: Member
) -> None:
    before = zookeeper.exists(layout.gateway_live("gateway-1"))
    gateway.join(Report(3))
    assert zookeeper.exists(layout.gateway_live("gateway-1")) == before


def exclude(client: KazooClient, name: str) -> None:
    path = layout.gateway(name)
    record = json.loads(client.get(path)[0])
    client.set(path, json.dumps({**record, "excluded": True}).encode())


def test_only_those_that_count_and_are_behind_are_waited_for(
    zookeeper: KazooClient, connect_client: Callable[..., KazooClient]
) -> None:
    gone = connect_client()
    for client, name, applied in ((zookeeper, "ahead", 9), (zookeeper, "behind", 6), (gone, "excluded", 2)):
        member(client, name).join(Report(applied))
    gone.stop()
    exclude(zookeeper, "excluded")
    assert [m.id for m in not_applied(members(zookeeper), 7)] == ["behind"]
    assert [m.excluded for m in members(zookeeper)] == [False, False, True]


def test_a_reconnection_does_not_undo_an_operators_exclusion(zookeeper: KazooClient, gateway: Member) -> None:
    exclude(zookeeper, "gateway-1")
    gateway.join(Report(3))
    assert [m.excluded for m in members(zookeeper)] == [True]


@pytest.mark.parametrize("record", [b"", b"\xff", b"garbage", b"{}", b'{"address": ""}'])
def test_a_member_whose_record_is_garbage_still_counts(zookeeper: KazooClient, record: bytes) -> None:
    zookeeper.create(layout.gateway("gateway-1"), record)
    (found,) = members(zookeeper)
    assert (found.id, found.live, found.applied, found.admin_url) == ("gateway-1", False, 0, "")


@pytest.mark.parametrize("record", [b"[]", b"5", b"null", b'{"pid": "x"}', b'{"since": null}'])
def test_so_does_one_whose_record_is_json_but_no_record(zookeeper: KazooClient, record: bytes) -> None:
    zookeeper.create(layout.gateway("gateway-1"), record)
    assert [m.id for m in members(zookeeper)] == ["gateway-1"]


@pytest.mark.parametrize("applied", [b"", b"garbage", b"[]", b'{"epoch": null}'])
def test_an_applied_epoch_that_is_garbage_is_none(
    zookeeper: KazooClient, gateway: Member, applied: bytes
) -> None:
    zookeeper.set(layout.gateway_applied("gateway-1", gateway.incarnation), applied)
    assert [m.applied for m in members(zookeeper)] == [0]


def is_answered(client: KazooClient) -> bool:
    """Whether ZooKeeper answers: while a session ends and the next begins, kazoo refuses in one of several ways."""
    try:
        return client.exists("/") is not None
    except LOST_REPLY:
        return False
