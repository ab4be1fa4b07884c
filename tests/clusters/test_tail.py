"""What is read of partitions when not all of it can be: a share of each, and never nothing of one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import TopicPartition

from hadash.kafka import tail
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition

SMALL, LARGE = Partition("orders", 0), Partition("orders", 1)
SIZE = 10


class Consumer:
    """Delivers one partition's records after the other's, as a broker with large batches does."""

    def __init__(self, config: Any) -> None:
        self.messages: list[Any] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        pass

    def unassign(self) -> None:
        pass

    def consume(self, count: int, timeout: float) -> list[Any]:
        taken, self.messages = self.messages[:1], self.messages[1:]
        return taken


def message(partition: Partition, offset: int, error: Any = None) -> Any:
    return SimpleNamespace(
        topic=lambda: partition.topic,
        partition=lambda: partition.partition,
        offset=lambda: offset,
        error=lambda: error,
        key=lambda: None,
        value=lambda: b"x" * SIZE,
        headers=lambda: None,
        timestamp=lambda: (1, 1_700_000_000_000),
    )


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> tail.TailReader:
    monkeypatch.setattr(tail, "Consumer", Consumer)
    return tail.TailReader("east", {})


def offsets(found: Any) -> dict[Partition, list[int]]:
    return {partition: [record.offset for record in records] for partition, records in found.items()}


def test_each_partition_has_its_share_of_the_bytes(reader: Any) -> None:
    reader._consumer.messages = [message(LARGE, n) for n in range(6)] + [message(SMALL, n) for n in range(6)]
    found = reader.read_spans({LARGE: (0, 6), SMALL: (0, 6)}, max_bytes=4 * SIZE)
    assert offsets(found) == {LARGE: [0, 1], SMALL: [0, 1]}


def test_a_record_that_is_larger_than_the_share_is_read(reader: Any) -> None:
    reader._consumer.messages = [message(LARGE, n) for n in range(2)] + [message(SMALL, n) for n in range(2)]
    found = reader.read_spans({LARGE: (0, 2), SMALL: (0, 2)}, max_bytes=1)
    assert offsets(found) == {LARGE: [0], SMALL: [0]}


def test_without_a_limit_all_is_read(reader: Any) -> None:
    reader._consumer.messages = [message(LARGE, n) for n in range(3)]
    assert offsets(reader.read_spans({LARGE: (0, 3), SMALL: (4, 4)})) == {LARGE: [0, 1, 2], SMALL: []}


def test_an_error_of_no_partition_is_one_of_the_reading(reader: Any) -> None:
    refused = ClientError(ClientError._AUTHENTICATION, "refused")
    reader._consumer.messages = [message(Partition(None, -1), -1, refused)]  # type: ignore[arg-type]
    with pytest.raises(KafkaError, match="refused"):
        reader.read_spans({LARGE: (0, 3)})
