"""A group's coordinator moves when its broker is started again: nobody may go on asking the old one."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from hadash.kafka import renewing
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError
from hadash.kafka.renewing import RenewableAdmin
from hadash.kafka.values import ClusterAccess, Partition

ORDERS = Partition("orders", 0)


def answered(value: Any = None, error: int | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(KafkaException(ClientError(error)))
    return future


class Admins:
    """The admin clients that were made. The first one has the wrong coordinator, for ever; ``loading`` answers of the others say
    that it has not loaded its groups yet."""

    def __init__(self) -> None:
        self.made = 0
        self.loading = 0
        #: What asking the wrong one comes to.
        self.stale: int = ClientError.NOT_COORDINATOR
        self.deleted: list[str] = []

    def __call__(self, config: dict[str, Any]) -> Admin:
        self.made += 1
        return Admin(self, stale=self.made == 1)

    def error(self, stale: bool) -> int | None:
        if stale:
            return self.stale
        self.loading -= 1
        return ClientError.COORDINATOR_LOAD_IN_PROGRESS if self.loading >= 0 else None


class Admin:
    def __init__(self, admins: Admins, stale: bool) -> None:
        self.admins = admins
        self.stale = stale

    def list_consumer_group_offsets(self, asked: Any, **_: Any) -> dict[str, Future[Any]]:
        error = self.admins.error(self.stale)
        found = SimpleNamespace(topic="orders", partition=0, offset=7, error=None)
        return {asked[0].group_id: answered(SimpleNamespace(topic_partitions=[found]), error)}

    def alter_consumer_group_offsets(self, asked: Any, **_: Any) -> dict[str, Future[Any]]:
        """Brokers refuse each partition by itself."""
        error = self.admins.error(self.stale)
        told = None if error is None else ClientError(error)
        result = SimpleNamespace(
            topic_partitions=[
                SimpleNamespace(topic=p.topic, partition=0, error=told) for p in asked[0].topic_partitions
            ]
        )
        return {asked[0].group_id: answered(result)}

    def delete_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        """Only the first one's coordinator has moved."""
        found = {
            name: answered(error=self.admins.error(self.stale) if name == names[0] else None)
            for name in names
        }
        self.admins.deleted += [name for name, future in found.items() if future.exception() is None]
        return found


@pytest.fixture
def admins(monkeypatch: pytest.MonkeyPatch) -> Admins:
    made = Admins()
    monkeypatch.setattr(renewing, "AdminClient", made)
    monkeypatch.setattr(renewing, "COORDINATOR_SECONDS", 0)
    return made


@pytest.fixture
def client(admins: Admins) -> ClusterClient:
    return ClusterClient(ClusterAccess("east", "localhost:1", "PLAINTEXT", "", "", ""))


@pytest.mark.parametrize("loading", [0, 3])
def test_one_new_client_finds_it(admins: Admins, client: ClusterClient, loading: int) -> None:
    admins.loading = loading
    assert client.group_offsets(["billing"]) == {"billing": {ORDERS: 7}}
    assert admins.made == 2


def test_a_request_that_the_client_repeats_until_its_time_is_over_is_asked_once_more(
    admins: Admins, client: ClusterClient
) -> None:
    admins.stale = ClientError._TIMED_OUT
    assert client.group_offsets(["billing"]) == {"billing": {ORDERS: 7}}
    assert admins.made == 2


def test_a_cluster_that_does_not_answer_is_asked_twice_and_no_more(
    admins: Admins, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admins, "error", lambda stale: ClientError._TIMED_OUT)
    with pytest.raises(ClusterUnavailable):
        client.group_offsets(["billing"])
    assert admins.made == 2


def test_an_end_that_is_not_known_is_no_end(
    admins: Admins, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader that was just elected: taken for an offset, it looks as if the mirror held more than its source."""
    unknown = SimpleNamespace(offset=-1001)
    monkeypatch.setattr(
        Admin,
        "list_offsets",
        lambda self, asked, **_: {key: answered(unknown) for key in asked},
        raising=False,
    )
    with pytest.raises(KafkaError, match="does not know the offsets of orders-0 yet"):
        client.end_offsets([ORDERS])


def test_offsets_are_written_to_the_new_one(admins: Admins, client: ClusterClient) -> None:
    client.set_group_offsets({"billing": {ORDERS: 7}})
    assert admins.made == 2


def test_no_group_is_deleted_twice(admins: Admins, client: ClusterClient) -> None:
    client.remove_group_offsets(
        {"a": frozenset([ORDERS]), "b": frozenset([ORDERS]), "c": frozenset([ORDERS])}
    )
    assert sorted(admins.deleted) == ["a", "b", "c"]


def test_one_that_does_not_come_is_named(
    admins: Admins, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewing, "REQUEST_SECONDS", 0)
    admins.loading = 100
    with pytest.raises(CoordinatorMoved, match="east could not read the offsets of group billing"):
        client.group_offsets(["billing"])


def test_an_offset_that_cannot_be_read_is_not_taken_for_none(
    admins: Admins, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its group would begin anew on the target."""
    unread = SimpleNamespace(
        topic="orders", partition=0, offset=-1001, error=ClientError(ClientError.UNKNOWN)
    )
    monkeypatch.setattr(
        Admin,
        "list_consumer_group_offsets",
        lambda self, asked, **_: {"billing": answered(SimpleNamespace(topic_partitions=[unread]))},
    )
    with pytest.raises(KafkaError, match="offsets of group billing on orders-0"):
        client.group_offsets(["billing"])


def test_the_client_that_was_replaced_is_destroyed_where_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """librdkafka's destructor has no limit: of a cluster that was lost it once held up everything that asks for it."""
    destroyed: Queue[threading.Thread] = Queue()

    class Destroyed:
        def __init__(self, config: dict[str, Any]) -> None: ...

        def __del__(self) -> None:
            destroyed.put(threading.current_thread())

    monkeypatch.setattr(renewing, "AdminClient", Destroyed)
    monkeypatch.setattr(renewing, "LET_GO_SECONDS", 0)
    RenewableAdmin({}).renew()
    by = {destroyed.get(timeout=10) for _ in range(2)}  # the old one, and the new one, which is not kept here
    assert len(by - {threading.current_thread()}) == 1
