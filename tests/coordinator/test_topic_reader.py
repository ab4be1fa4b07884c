"""Members that read real Kafka: partitions go from one to another, and every record is handled once."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from kazoo.client import KazooClient
from support.kafka import Clusters
from support.waiting import SLOWER, eventually

from hadash.coordinator.documents import AssignmentDocument
from hadash.coordinator.member.topic_reader import TopicReader
from hadash.coordinator.partitions import PartitionCounter, TopicUnknown
from hadash.coordinator.process_settings import MemberSettings

SETTINGS = MemberSettings(commit_seconds=0.2, retry_seconds=0.2)
EAST = "east"


class Handled:
    """What was handled, by partition and offset; it can be made to fail."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[int, int]] = Counter()
        self.failures: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def __call__(self, record: Message) -> None:
        place = (record.partition() or 0, record.offset() or 0)
        with self._lock:
            if place in self.failures:
                self.failures.discard(place)
                raise RuntimeError("the database was away")
            self.counts[place] += 1

    @property
    def number(self) -> int:
        with self._lock:
            return len(self.counts)

    def is_in_order(self, partition: int) -> bool:
        """Whether offsets were handled in their order: a Counter keeps the order of first sight."""
        with self._lock:
            offsets = [offset for of, offset in self.counts if of == partition]
        return offsets == sorted(offsets)


@pytest.fixture
def topic(kafka: Clusters) -> str:
    return kafka.create_topic(f"pool-{uuid.uuid4().hex[:8]}", partitions=4)


@pytest.fixture
def write(kafka: Clusters, topic: str) -> Callable[[int], None]:
    """Write so many records to each partition."""
    producer = Producer({**kafka.described[EAST].client_config(), "linger.ms": 5})

    def wrote(count: int) -> None:
        for partition in range(4):
            for number in range(count):
                producer.produce(topic, f"record {number}".encode(), partition=partition)
        assert producer.flush(20) == 0

    return wrote


@pytest.fixture
def consumer(kafka: Clusters) -> dict[str, Any]:
    """The settings of a Topic's document."""
    config = kafka.described[EAST].client_config()
    return {**config, "group.id": f"pool-{uuid.uuid4().hex[:8]}", "auto.offset.reset": "earliest"}


@pytest.fixture
def reader(topic: str, consumer: Mapping[str, Any]) -> Iterator[Callable[[Handled], TopicReader]]:
    made: list[TopicReader] = []

    def make(handled: Handled, **settings: Any) -> TopicReader:
        made.append(TopicReader(topic, {**consumer, **settings}, {}, handled, SETTINGS))
        return made[-1]

    yield make
    for each in made:
        each.stop()
    for each in made:
        assert each.is_closed(20)


def runs(reader: TopicReader, token: int, *partitions: int) -> None:
    """Assign, and wait until that is in effect."""
    reader.assign(token, frozenset(partitions))
    eventually(
        lambda: (said := reader.reading()).token == token and said.running.keys() == set(partitions),
        f"reading {partitions}",
    )


def test_a_partition_goes_to_another_member_and_no_record_twice(
    reader: Callable[[Handled], TopicReader], write: Callable[[int], None]
) -> None:
    handled = Handled()
    first, second = reader(handled), reader(handled)
    runs(first, 1, 0, 1, 2, 3)
    for token in range(2, 8):
        write(100)
        one, other = (first, second) if token % 2 == 0 else (second, first)
        runs(
            first, token
        )  # as the coordinator has it: who has read a partition stops before the next one starts
        runs(second, token)
        runs(one, 100 + token, 0, 1)
        runs(other, 100 + token, 2, 3)
        write(50)
    eventually(lambda: handled.number == 4 * 150 * 6, "all records")
    assert set(handled.counts.values()) == {1}
    assert all(handled.is_in_order(partition) for partition in range(4))


def test_a_record_that_was_not_handled_is_handled_again_and_in_its_order(
    reader: Callable[[Handled], TopicReader], write: Callable[[int], None]
) -> None:
    handled = Handled()
    handled.failures = {(0, 5), (2, 0)}
    write(20)
    one = reader(handled)
    runs(one, 1, 0, 1, 2, 3)
    eventually(lambda: handled.number == 80, "all records")
    assert set(handled.counts.values()) == {1}
    assert handled.is_in_order(0) and handled.is_in_order(2)
    eventually(lambda: one.reading().error == "", "no error any more")


def test_a_partition_that_was_taken_away_while_its_record_waited_is_read_when_it_comes_back(
    reader: Callable[[Handled], TopicReader], write: Callable[[int], None]
) -> None:
    handled = Handled()
    handled.failures = {(0, 5)}
    write(20)
    one = reader(handled)
    runs(one, 1, 0)
    eventually(lambda: "was not handled" in one.reading().error, "the failure")
    runs(one, 2)
    runs(one, 3, 0)
    eventually(lambda: handled.number == 20, "all of its records")
    assert set(handled.counts.values()) == {1}


def test_who_begins_at_the_end_leaves_nothing_out_for_the_next(
    reader: Callable[..., TopicReader], write: Callable[[int], None]
) -> None:
    """The first one reads nothing and commits nothing: yet the next one does not begin at a later end."""
    handled = Handled()
    first, second = (reader(handled, **{"auto.offset.reset": "latest"}) for _ in range(2))
    write(10)
    runs(first, 1, 0, 1, 2, 3)
    runs(first, 2)
    write(10)
    runs(second, 3, 0, 1, 2, 3)
    eventually(lambda: handled.number == 40)
    assert {offset for _, offset in handled.counts} == set(range(10, 20))


def test_without_an_offset_and_a_place_to_begin_it_does_not_begin(
    reader: Callable[..., TopicReader], write: Callable[[int], None]
) -> None:
    one = reader(Handled(), **{"auto.offset.reset": "none"})
    write(1)
    one.assign(1, frozenset({0}))
    eventually(lambda: "auto.offset.reset" in one.reading().error.lower() or "offset" in one.reading().error)
    assert one.reading().running == {}


def test_what_is_committed_says_what_was_handled(
    kafka: Clusters,
    topic: str,
    consumer: Mapping[str, Any],
    reader: Callable[[Handled], TopicReader],
    write: Callable[[int], None],
) -> None:
    handled = Handled()
    write(30)
    one = reader(handled)
    runs(one, 1, 0, 1)
    eventually(lambda: handled.number == 60)
    runs(one, 2)
    assert kafka.committed(EAST, consumer["group.id"]) == {(topic, 0): 30, (topic, 1): 30}


def test_it_says_how_much_it_has_still_to_read(
    reader: Callable[[Handled], TopicReader], write: Callable[[int], None]
) -> None:
    handled = Handled()
    write(10)
    one = reader(handled)
    runs(one, 1, 0)
    eventually(lambda: one.reading().lags == {0: 0})
    assert one.reading().running == {0: 10}


def test_a_cluster_that_is_away_is_an_error_and_is_asked_again(topic: str) -> None:
    away = {"bootstrap.servers": "127.0.0.1:1", "group.id": "pool"}
    one = TopicReader(topic, away, {}, Handled(), MemberSettings(kafka_seconds=0.5))
    one.assign(1, frozenset({0}))
    eventually(lambda: one.reading().error, "an error")
    assert one.reading().running == {}
    one.stop()
    assert one.is_closed(20)


def test_partitions_are_counted(kafka: Clusters, topic: str, consumer: Mapping[str, Any]) -> None:
    counter = PartitionCounter({}, 10)
    assert counter.count(AssignmentDocument(consumer), topic) == 4
    with pytest.raises(TopicUnknown, match="Unknown topic"):
        counter.count(AssignmentDocument(consumer), f"{topic}-not-there")


def test_a_pool_reads_kafka(
    connect_client: Callable[..., KazooClient],
    topic: str,
    consumer: Mapping[str, Any],
    write: Callable[[int], None],
) -> None:
    """Coordinator, members and readers together: members come and go while records are written."""
    from hadash.coordinator.member.process import PoolMember
    from hadash.coordinator.store import PoolStore

    from .pools import POOL, TOKEN, RunningCoordinator

    handled = Handled()
    store = PoolStore(connect_client(bounded=True), POOL)
    store.create()
    store.register(topic, consumer, range(4))
    running = RunningCoordinator(connect_client(bounded=True))

    def start(name: str) -> tuple[PoolMember, threading.Thread]:
        settings = MemberSettings(pool=POOL, name=name, http_port=0, commit_seconds=0.5)
        member = PoolMember(
            connect_client(bounded=True),
            settings,
            TOKEN,
            lambda of, config: TopicReader(of, config, {}, handled, settings),
        )
        thread = threading.Thread(target=member.run, daemon=True)
        thread.start()
        return member, thread

    def shares() -> list[int]:
        document = store.read().topics[topic]
        if document.standing.state != "Stable":
            return []
        counts = Counter(document.document.members.values())
        return sorted(counts.values())

    def leave(member: PoolMember, thread: threading.Thread) -> None:
        member.stop()
        thread.join(30 * SLOWER)
        assert not thread.is_alive()

    first = start("a")
    eventually(lambda: shares() == [4])
    write(100)
    second = start("b")
    write(100)
    eventually(lambda: shares() == [2, 2])
    write(100)
    leave(*first)
    write(100)
    eventually(lambda: shares() == [4])
    eventually(lambda: handled.number == 1600, "all records")
    assert set(handled.counts.values()) == {1}
    leave(*second)
    running.stop()
