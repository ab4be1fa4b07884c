"""Membership on a real ZooKeeper: who is there, who lives, and what each has put into effect."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError
from support.waiting import eventually
from support.zookeeper import expire_session

from hadash.bindings import layout
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NameTaken
from hadash.bindings.membership import Member, members, not_applied

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
    zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Gateway's start joins while its loop reports the epoch that it has just read."""
    joining = member(zookeeper)
    create = zookeeper.create

    def somebody_is_faster(path: str, *values: object, **options: object) -> object:
        monkeypatch.setattr(zookeeper, "create", create)
        joining.report_applied(Report(2))
        return create(path, *values, **options)

    monkeypatch.setattr(zookeeper, "create", somebody_is_faster)
    joining.report_applied(Report(3))
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
    eventually(lambda: is_connected(gateway.client), "the new session")
    gateway.join(Report(5))
    assert [(m.live, m.applied) for m in members(zookeeper)] == [(True, 5)]


def test_a_restart_does_not_die_with_the_session_before_it(
    zookeeper: KazooClient, gateway: Member, connect_client: Callable[..., KazooClient]
) -> None:
    """The killed process's session has not expired yet when the new one joins."""
    restarted = member(connect_client())
    restarted.join(Report(3))
    gateway.client.stop()
    assert [m.live for m in members(zookeeper)] == [True]
    assert zookeeper.exists(layout.gateway_live("gateway-1")).ephemeralOwner == restarted.client.client_id[0]


class TestOneName:
    """Two processes under one name would report for each other: a block would be in effect that is not."""

    @pytest.fixture(autouse=True)
    def short_sessions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hadash.bindings.client.SESSION_TIMEOUT_SECONDS", 0.2)

    @pytest.fixture
    def elsewhere(self, zookeeper: KazooClient, gateway: Member) -> Member:
        """The record of ``gateway-1`` says that it is on another machine."""
        path = layout.gateway("gateway-1")
        record = json.loads(zookeeper.get(path)[0])
        zookeeper.set(path, json.dumps({**record, "host": "elsewhere"}).encode())
        return gateway

    def test_one_that_lives_elsewhere_is_not_pushed_out(
        self, elsewhere: Member, connect_client: Callable[..., KazooClient]
    ) -> None:
        second = connect_client()
        with pytest.raises(NameTaken, match=r"'gateway-1' is running already \(pid \d+ on elsewhere\)"):
            member(second).join(Report(0))
        owner = second.exists(layout.gateway_live("gateway-1")).ephemeralOwner
        assert owner == elsewhere.client.client_id[0]

    def test_one_that_vanishes_is_waited_for(
        self,
        elsewhere: Member,
        connect_client: Callable[..., KazooClient],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("hadash.bindings.client.SESSION_TIMEOUT_SECONDS", 20.0)
        second = connect_client()
        ending = threading.Timer(0.3, elsewhere.client.stop)
        ending.start()
        member(second).join(Report(0))
        ending.join()
        assert second.exists(layout.gateway_live("gateway-1")).ephemeralOwner == second.client_id[0]

    def test_a_dead_process_of_this_machine_is_not_waited_for(
        self, zookeeper: KazooClient, gateway: Member, connect_client: Callable[..., KazooClient]
    ) -> None:
        path = layout.gateway("gateway-1")
        dead = subprocess.Popen(["true"])
        dead.wait()
        record = json.loads(zookeeper.get(path)[0])
        zookeeper.set(path, json.dumps({**record, "pid": dead.pid}).encode())
        second = connect_client()
        member(second).join(Report(0))
        assert zookeeper.exists(layout.gateway_live("gateway-1")).ephemeralOwner == second.client_id[0]


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


def test_only_those_that_count_and_are_behind_are_waited_for(zookeeper: KazooClient) -> None:
    for name, applied in (("ahead", 9), ("behind", 6), ("excluded", 2)):
        member(zookeeper, name).join(Report(applied))
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
    zookeeper.set(layout.gateway_applied("gateway-1"), applied)
    assert [m.applied for m in members(zookeeper)] == [0]


def is_connected(client: KazooClient) -> bool:
    try:
        return client.exists("/") is not None
    except SessionExpiredError:
        return False
