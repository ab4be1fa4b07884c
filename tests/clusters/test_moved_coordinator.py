"""Asking about groups while their coordinators move, or nobody answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka import errors
from kafka.structs import TopicPartition

from hadash.kafka import calls, cluster, group_admin, kafka_python_client
from hadash.kafka.cluster import ClusterClient, client_for
from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError, NotOffered
from hadash.kafka.group_admin import Admin
from hadash.kafka.kafka_python_client import KafkaPythonClient
from hadash.kafka.values import ClusterAccess, Committed, Partition

ORDERS = Partition("orders", 0)
ACCESS = ClusterAccess("east", "localhost:1", "PLAINTEXT", "", "", "")
#: A subscription to two Topics as a Java consumer sends it (version 1 of the consumers' protocol).
SUBSCRIBED = b"\x00\x01\x00\x00\x00\x02\x00\x06orders\x00\x05carts\xff\xff\xff\xff\x00\x00\x00\x00"


class Brokers:
    """What the clients that were made find. They know a wrong coordinator until they ask again who it is; then
    ``loading`` answers say that it has not loaded its groups yet.
    """

    def __init__(self) -> None:
        self.made: list[FakeAdmin] = []
        self.loading = 0
        #: What asking the wrong one comes to; ``None`` for no wrong one.
        self.stale: Callable[[], Exception] | None = errors.NotCoordinatorError
        self.deleted: list[str] = []
        self.committed: dict[str, int] = {}

    def connect(self, config: Any) -> FakeAdmin:
        self.made.append(FakeAdmin(self))
        return self.made[-1]

    def check(self, stale: bool) -> None:
        if stale and self.stale is not None:
            raise self.stale()
        self.loading -= 1
        if self.loading >= 0:
            raise errors.CoordinatorLoadInProgressError


class FakeAdmin:
    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        self.stale = True
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()

    def forget_coordinators(self) -> None:
        self.stale = False

    def coordinator_of(self, group: str) -> int:
        return 2

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        self.brokers.check(self.stale)
        group = {
            "group_state": "Stable",
            "protocol_type": "consumer",
            "protocol_data": "range",
            "members": [],
        }
        return {name: SimpleNamespace(**group) for name in names}

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        self.brokers.check(self.stale)
        committed = {TopicPartition("orders", 0): SimpleNamespace(offset=7, metadata=None)}
        return dict.fromkeys(names, committed)

    def alter_group_offsets(self, group: str, offsets: Any) -> dict[TopicPartition, Any]:
        """Brokers refuse each partition by itself."""
        try:
            self.brokers.check(self.stale)
        except errors.KafkaError as error:
            return {partition: type(error) for partition in offsets}
        self.brokers.committed[group] = offsets[TopicPartition("orders", 0)].offset
        return dict.fromkeys(offsets, errors.NoError)

    def delete_groups(self, names: list[str]) -> dict[str, str]:
        """It deletes, and the answer about group ``a`` is lost."""
        [name] = names
        if name in self.brokers.deleted:
            return {name: "GroupIdNotFoundError"}
        self.brokers.deleted.append(name)
        if name == "a":
            raise errors.KafkaConnectionError
        return {name: "OK"}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    found = Brokers()
    monkeypatch.setattr(calls, "_connect", found.connect)
    monkeypatch.setattr(calls, "AGAIN_SECONDS", 0)
    return found


@pytest.fixture
def client(brokers: Brokers) -> KafkaPythonClient:
    return KafkaPythonClient(ACCESS)


@pytest.mark.parametrize("loading", [0, 3])
def test_it_is_found_again(brokers: Brokers, client: KafkaPythonClient, loading: int) -> None:
    brokers.loading = loading
    assert client.offsets(["billing"]) == {"billing": {ORDERS: 7}}
    assert len(brokers.made) == 1


def test_it_is_found_again_by_whoever_wants_to_know_the_members(
    brokers: Brokers, client: KafkaPythonClient
) -> None:
    brokers.loading = 2
    (found,) = client.describe(["billing"]).values()
    assert (found.state, found.coordinator, found.members) == ("Stable", 2, ())


def test_many_are_read_in_parts(brokers: Brokers, client: KafkaPythonClient) -> None:
    names = [f"g{number}" for number in range(3 * kafka_python_client.READ_AT_ONCE + 1)]
    assert client.offsets(names) == {name: {ORDERS: 7} for name in names}
    assert set(client.describe(names)) == set(names)
    assert client.offsets([]) == client.describe([]) == {}


def test_a_cluster_that_does_not_answer_is_said_in_time(
    brokers: Brokers, client: KafkaPythonClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However its client may hang; the next one who asks gets another."""
    answer = threading.Event()
    monkeypatch.setattr(calls, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(calls, "KEPT_SECONDS", 0)
    with monkeypatch.context() as hanging:
        hanging.setattr(FakeAdmin, "list_group_offsets", lambda self, names: answer.wait())
        try:
            with pytest.raises(
                ClusterUnavailable,
                match="east did not answer within 0 s: could not read the offsets of group billing",
            ):
                client.offsets(["billing"])
        finally:
            answer.set()
    monkeypatch.setattr(calls, "REQUEST_SECONDS", 10)
    assert client.offsets(["billing"]) == {"billing": {ORDERS: 7}}
    assert len(brokers.made) == 2
    assert brokers.made[0].closed.wait(timeout=10)


def test_whoever_waits_for_another_that_connects_waits_no_longer_than_his_own_time(
    brokers: Brokers, client: KafkaPythonClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting, go = threading.Event(), threading.Event()

    def connect(config: Any) -> FakeAdmin:
        connecting.set()
        go.wait()
        return brokers.connect(config)

    monkeypatch.setattr(calls, "_connect", connect)
    first = threading.Thread(target=lambda: client.offsets(["billing"]))
    first.start()
    try:
        assert connecting.wait(timeout=10)
        monkeypatch.setattr(calls, "REQUEST_SECONDS", 0.1)
        with pytest.raises(ClusterUnavailable):
            client.offsets(["billing"])
    finally:
        monkeypatch.setattr(calls, "REQUEST_SECONDS", 10)
        go.set()
        first.join(timeout=20)
    assert len(brokers.made) == 1


def test_what_could_not_be_connected_to_is_tried_again_by_the_next_one(
    brokers: Brokers, client: KafkaPythonClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(config: Any) -> FakeAdmin:
        raise errors.KafkaTimeoutError("Unable to bootstrap")

    with monkeypatch.context() as away:
        away.setattr(calls, "_connect", refuse)
        with pytest.raises(ClusterUnavailable):
            client.offsets(["billing"])
    assert client.offsets(["billing"]) == {"billing": {ORDERS: 7}}


def test_offsets_are_written_to_the_new_one(brokers: Brokers, client: KafkaPythonClient) -> None:
    client.set_offsets({"billing": {ORDERS: Committed(7)}, "audit": {ORDERS: Committed(8)}, "empty": {}})
    assert brokers.committed == {"billing": 7, "audit": 8}


def test_nothing_is_written_after_it_was_given_up(
    brokers: Brokers, client: KafkaPythonClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for its turn behind others that hang is not begun any more."""
    brokers.stale = None
    hanging = threading.Event()
    write = FakeAdmin.alter_group_offsets

    def hang(self: FakeAdmin, group: str, offsets: Any) -> Any:
        return hanging.wait() if group.startswith("hangs") else write(self, group, offsets)

    monkeypatch.setattr(calls, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(FakeAdmin, "alter_group_offsets", hang)
    several = [f"hangs {number}" for number in range(group_admin.PARALLEL_REQUESTS)]
    try:
        with pytest.raises(ClusterUnavailable):
            client.set_offsets({name: {ORDERS: Committed(1)} for name in [*several, "queued"]})
    finally:
        hanging.set()
    monkeypatch.setattr(calls, "REQUEST_SECONDS", 10)
    client.set_offsets({"later": {ORDERS: Committed(2)}})
    assert brokers.committed == {"later": 2}


def test_whoever_was_replaced_meanwhile_writes_nothing_when_he_asks_again(
    brokers: Brokers, client: KafkaPythonClient
) -> None:
    class Replaced(Exception): ...

    tries: list[int] = []

    def fence() -> None:
        tries.append(len(tries))
        if len(tries) == 2:
            raise Replaced

    with pytest.raises(Replaced):
        client.set_offsets({"billing": {ORDERS: Committed(7)}}, fence)
    assert brokers.committed == {}


def test_one_that_is_refused_does_not_leave_others_under_way(
    brokers: Brokers, client: KafkaPythonClient
) -> None:
    brokers.stale = None
    began, refused = threading.Event(), threading.Event()
    write = FakeAdmin.alter_group_offsets

    def slow(self: FakeAdmin, group: str, offsets: Any) -> Any:
        if group == "refused":
            began.wait(timeout=10)
            refused.set()
            return dict.fromkeys(offsets, errors.UnknownMemberIdError)
        began.set()
        refused.wait(timeout=10)
        return write(self, group, offsets)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FakeAdmin, "alter_group_offsets", slow)
        with pytest.raises(KafkaError, match="group refused: UnknownMemberId"):
            client.set_offsets({"refused": {ORDERS: Committed(1)}, "slow": {ORDERS: Committed(2)}})
    assert brokers.committed == {"slow": 2}


def test_a_group_that_is_gone_because_the_first_answer_was_lost_is_deleted(
    brokers: Brokers, client: KafkaPythonClient
) -> None:
    client.delete(["a", "b", "c"])
    assert sorted(brokers.deleted) == ["a", "b", "c"]


def test_one_that_does_not_come_is_named(
    brokers: Brokers, client: KafkaPythonClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "REQUEST_SECONDS", 0.3)
    brokers.loading = 10**9
    with pytest.raises(CoordinatorMoved, match="east could not read the offsets of group billing"):
        client.offsets(["billing"])


@pytest.mark.parametrize(
    ("error", "said", "kind"),
    [
        (errors.UnknownMemberIdError, r"of group billing: UnknownMemberId \(orders-0\)\.$", KafkaError),
        (errors.UnknownTopicOrPartitionError, r"UnknownTopicOrPartition \(orders-0\)\.$", KafkaError),
        (errors.UnsupportedVersionError, "its brokers are too old for it", NotOffered),
    ],
)
def test_what_is_refused_is_said_and_not_asked_again(
    brokers: Brokers,
    client: KafkaPythonClient,
    error: Callable[[], Exception],
    said: str,
    kind: type[KafkaError],
) -> None:
    brokers.stale = error
    with pytest.raises(KafkaError, match=said) as raised:
        client.set_offsets({"billing": {ORDERS: Committed(7)}})
    assert raised.type is kind
    client.offsets(["billing"])
    assert len(brokers.made) == 1


def test_a_fault_of_the_library_is_an_error_like_others_and_ends_its_client(
    brokers: Brokers, client: KafkaPythonClient, caplog: pytest.LogCaptureFixture
) -> None:
    """One whose loop has crashed raises what has ended it, for ever."""
    brokers.stale = lambda: ValueError("Buffer underrun")
    with pytest.raises(KafkaError, match=r"group billing: Value \(Buffer underrun\)"):
        client.offsets(["billing"])
    assert "Buffer underrun" in caplog.text
    brokers.stale = None
    client.offsets(["billing"])
    assert len(brokers.made) == 2


def test_what_members_say_of_themselves_is_nobodys_matter() -> None:
    """Only consumers speak the consumers' protocol: a Connect worker's words cannot be read as theirs."""
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        group_instance_id=None,
        client_host="/127.0.0.1",
        member_metadata=b"\x01{",
    )
    there = SimpleNamespace(group_id="connect", error_code=0, group_state="Stable", members=[member])
    gone = SimpleNamespace(group_id="gone", error_code=69, group_state="Dead", members=[])
    moved = SimpleNamespace(group_id="moved", error_code=16, group_state="", members=[])
    answer = Admin._describe_groups_process_response
    found = answer(None, SimpleNamespace(groups=[there, gone]))  # type: ignore[arg-type]
    assert found == {"connect": there, "gone": gone}
    with pytest.raises(errors.NotCoordinatorError):
        answer(None, SimpleNamespace(groups=[there, moved]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("protocol_type", "metadata", "topics"),
    [
        ("consumer", SUBSCRIBED, ("carts", "orders")),
        ("consumer", b"\x00\x01\x00", None),
        # Brokers do not tell it while a group rebalances.
        ("consumer", b"", None),
        ("connect", SUBSCRIBED, None),
    ],
)
def test_members_tell_what_they_subscribe_to_or_nothing_is_known(
    client: KafkaPythonClient,
    brokers: Brokers,
    monkeypatch: pytest.MonkeyPatch,
    protocol_type: str,
    metadata: bytes,
    topics: tuple[str, ...] | None,
) -> None:
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        group_instance_id=None,
        client_host="/127.0.0.1",
        member_metadata=metadata,
        member_assignment=b"",
    )
    group = SimpleNamespace(
        group_state="Stable", protocol_type=protocol_type, protocol_data="range", members=[member]
    )
    monkeypatch.setattr(FakeAdmin, "describe_groups", lambda self, names: dict.fromkeys(names, group))
    (found,) = client.describe(["billing"])["billing"].members
    assert (found.topics, found.partitions) == (topics, ())


def test_a_cluster_that_is_reached_in_another_way_gets_another_client(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one would go on signing in with the old password."""
    monkeypatch.setattr(cluster, "_clients", {})
    first = client_for(ACCESS)
    assert client_for(ACCESS) is first
    first.group_offsets(["billing"])
    changed = ClusterAccess("east", "localhost:2", "PLAINTEXT", "", "", "")
    assert client_for(changed) is not first
    assert brokers.made[0].closed.wait(timeout=10)
    with pytest.raises(ClusterUnavailable):
        first.group_offsets(["billing"])


def test_an_end_that_is_not_known_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that was just elected: taken for an offset, it looks as if the mirror held more than its source."""

    def unknown(self: AdminClient, asked: Any, **_: Any) -> dict[Any, Future[Any]]:
        answers: dict[Any, Future[Any]] = {key: Future() for key in asked}
        for answer in answers.values():
            answer.set_result(SimpleNamespace(offset=-1001))
        return answers

    monkeypatch.setattr(AdminClient, "list_offsets", unknown)
    monkeypatch.setattr(cluster, "ELECTED_SECONDS", 0)
    with pytest.raises(KafkaError, match="does not know the offsets of orders-0 yet"):
        ClusterClient(ACCESS).end_offsets([ORDERS])


def test_an_end_that_is_known_a_moment_later_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Partition("orders", 1)
    asked_for: list[list[str]] = []

    def known_later(self: AdminClient, asked: Any, **_: Any) -> dict[Any, Future[Any]]:
        first = not asked_for
        asked_for.append(sorted(f"{key.topic}-{key.partition}" for key in asked))
        answers: dict[Any, Future[Any]] = {key: Future() for key in asked}
        for key, answer in answers.items():
            answer.set_result(SimpleNamespace(offset=-1001 if first and key.partition == 1 else 7))
        return answers

    monkeypatch.setattr(AdminClient, "list_offsets", known_later)
    monkeypatch.setattr(cluster, "AGAIN_SECONDS", 0)
    assert ClusterClient(ACCESS).end_offsets([ORDERS, other]) == {ORDERS: 7, other: 7}
    assert asked_for == [["orders-0", "orders-1"], ["orders-1"]]
