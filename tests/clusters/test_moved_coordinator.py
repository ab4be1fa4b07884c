"""Asking about groups while their coordinators move, or nobody answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors
from kafka.structs import TopicPartition

from hadash.kafka import groups
from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError
from hadash.kafka.groups import GroupsClient
from hadash.kafka.values import ClusterAccess, Partition

ORDERS = Partition("orders", 0)


class Admins:
    """The clients that were made. The first one has the wrong coordinator, for ever; the others refuse with ``loading`` answers
    that it has not loaded its groups yet."""

    def __init__(self) -> None:
        self.made: list[Admin] = []
        self.loading = 0
        #: What asking the wrong one comes to.
        self.stale: type[Exception] | None = errors.NotCoordinatorError
        self.deleted: list[str] = []
        self.committed: dict[str, int] = {}

    def __call__(self, config: Any, seconds: float) -> Admin:
        self.made.append(Admin(self, stale=not self.made))
        return self.made[-1]

    def check(self, stale: bool) -> None:
        if stale and self.stale is not None:
            raise self.stale
        self.loading -= 1
        if self.loading >= 0:
            raise errors.CoordinatorLoadInProgressError


class Admin:
    def __init__(self, admins: Admins, stale: bool) -> None:
        self.admins = admins
        self.stale = stale
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        self.admins.check(self.stale)
        committed = {TopicPartition("orders", 0): SimpleNamespace(offset=7)}
        return dict.fromkeys(names, committed)

    def alter_group_offsets(self, group: str, offsets: Any) -> dict[TopicPartition, Any]:
        """Brokers refuse each partition by itself."""
        try:
            self.admins.check(self.stale)
        except errors.KafkaError as error:
            return {partition: type(error) for partition in offsets}
        self.admins.committed[group] = offsets[TopicPartition("orders", 0)].offset
        return dict.fromkeys(offsets, errors.NoError)

    def delete_groups(self, names: list[str]) -> dict[str, str]:
        """Only the coordinator of group ``a`` has moved. It deletes, and its answer is lost."""
        [name] = names
        if name in self.admins.deleted:
            return {name: "GroupIdNotFoundError"}
        self.admins.deleted.append(name)
        if name == "a":
            self.admins.check(self.stale)
        return {name: "OK"}


@pytest.fixture
def admins(monkeypatch: pytest.MonkeyPatch) -> Admins:
    made = Admins()
    monkeypatch.setattr(groups, "_connect", made)
    monkeypatch.setattr(groups, "AGAIN_SECONDS", 0)
    return made


@pytest.fixture
def client(admins: Admins) -> GroupsClient:
    return GroupsClient(ClusterAccess("east", "localhost:1", "PLAINTEXT", "", "", ""))


@pytest.mark.parametrize("loading", [0, 3])
def test_new_clients_find_it(admins: Admins, client: GroupsClient, loading: int) -> None:
    admins.loading = loading
    assert client.offsets(["billing"]) == {"billing": {ORDERS: 7}}
    assert len(admins.made) == 2 + loading


def test_what_is_replaced_is_closed(admins: Admins, client: GroupsClient) -> None:
    client.offsets(["billing"])
    old, new = admins.made
    assert old.closed.wait(timeout=10)
    assert not new.closed.is_set()


def test_one_that_works_is_kept(admins: Admins, client: GroupsClient) -> None:
    admins.stale = None
    for _ in range(2):
        client.offsets(["billing"])
    assert len(admins.made) == 1


def test_whoever_is_replaced_by_another_thread_asks_through_the_new_one(
    admins: Admins, client: GroupsClient
) -> None:
    admins.stale = RuntimeError  # what the library says of a client that is closed
    assert client.offsets(["billing"]) == {"billing": {ORDERS: 7}}


def test_a_cluster_that_does_not_answer_is_said_in_time(
    admins: Admins, client: GroupsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However its client may hang."""
    answer = threading.Event()
    monkeypatch.setattr(groups, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(Admin, "list_group_offsets", lambda self, names: answer.wait())
    try:
        with pytest.raises(
            ClusterUnavailable,
            match="east did not answer within 0 s: could not read the offsets of group billing",
        ):
            client.offsets(["billing"])
    finally:
        answer.set()


def test_nobody_waits_for_another_that_connects_longer_than_his_own_time(
    admins: Admins, client: GroupsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting, go = threading.Event(), threading.Event()

    def connect(config: Any, seconds: float) -> Admin:
        connecting.set()
        go.wait()
        return admins(config, seconds)

    monkeypatch.setattr(groups, "_connect", connect)
    first = threading.Thread(target=lambda: client.offsets(["billing"]))
    first.start()
    try:
        assert connecting.wait(timeout=10)
        monkeypatch.setattr(groups, "REQUEST_SECONDS", 0.1)
        with pytest.raises(ClusterUnavailable):
            client.offsets(["billing"])
    finally:
        monkeypatch.setattr(groups, "REQUEST_SECONDS", 10)
        go.set()
        first.join(timeout=20)


def test_offsets_are_written_to_the_new_one(admins: Admins, client: GroupsClient) -> None:
    client.set_offsets({"billing": {ORDERS: 7}, "audit": {ORDERS: 8}, "empty": {}})
    assert admins.committed == {"billing": 7, "audit": 8}


def test_nothing_is_written_after_it_was_given_up(
    admins: Admins, client: GroupsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for its turn behind others that hang is not begun any more."""
    admins.stale = None
    hanging = threading.Event()
    write = Admin.alter_group_offsets

    def hang(self: Admin, group: str, offsets: Any) -> Any:
        return hanging.wait() if group.startswith("hangs") else write(self, group, offsets)

    monkeypatch.setattr(groups, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(Admin, "alter_group_offsets", hang)
    several = [f"hangs {number}" for number in range(groups.PARALLEL_GROUPS)]
    try:
        with pytest.raises(ClusterUnavailable):
            client.set_offsets({name: {ORDERS: 1} for name in [*several, "queued"]})
    finally:
        hanging.set()
    monkeypatch.setattr(groups, "REQUEST_SECONDS", 10)
    client.set_offsets({"later": {ORDERS: 2}})
    assert admins.committed == {"later": 2}


def test_a_group_that_is_gone_because_the_first_answer_was_lost_is_deleted(
    admins: Admins, client: GroupsClient
) -> None:
    client.delete(["a", "b", "c"])
    assert sorted(admins.deleted) == ["a", "b", "c"]


def test_one_that_does_not_come_is_named(
    admins: Admins, client: GroupsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "REQUEST_SECONDS", 0.3)
    admins.loading = 10**9
    with pytest.raises(CoordinatorMoved, match="east could not read the offsets of group billing"):
        client.offsets(["billing"])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.UnknownMemberIdError, r"of group billing: UnknownMemberId \(orders-0\)\.$"),
        (errors.UnsupportedVersionError, "its brokers are too old for it"),
    ],
)
def test_what_is_refused_is_said_and_not_asked_again(
    admins: Admins, client: GroupsClient, error: Callable[[], Exception], said: str
) -> None:
    admins.stale = error  # type: ignore[assignment]
    with pytest.raises(KafkaError, match=said) as raised:
        client.set_offsets({"billing": {ORDERS: 7}})
    assert raised.type is KafkaError
    assert len(admins.made) == 1
