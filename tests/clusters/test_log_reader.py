"""The logs of both clusters as a verdict reads them, and how far a group has read, from real brokers."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka import Consumer, Message, Producer
from support.kafka import SECONDS, Clusters
from support.waiting import eventually

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.traffic.log_reader import Sides, await_caught_up
from hadash_sandbox.traffic.logs import judge_logs

pytestmark = pytest.mark.stack

#: Milliseconds since 1970 of the first record: lately, since a broker deletes what is older than its retention
#: (seven days) whenever it looks, which is each five minutes.
BEGAN = int(time.time()) * 1000


def write(kafka: Clusters, cluster: str, topic: str, headers: dict[int, bytes]) -> None:
    """Records 0 to 5 in two partitions, with a header each."""
    producer = Producer(kafka.described[cluster].client_config())
    for number in range(6):
        producer.produce(
            topic,
            b"%d writer" % number,
            key=b"key-%d" % (number % 2),
            partition=number % 2,
            timestamp=BEGAN + number,
            headers=[("trace", headers.get(number, b"same"))],
        )
    assert producer.flush(SECONDS) == 0


def test_what_both_logs_hold_and_how_far_a_group_is(kafka: Clusters) -> None:
    name = f"log-{uuid.uuid4().hex[:8]}"
    topic, group = kafka.create_topic(name, partitions=2), f"{name}-readers"
    sides = Sides({cluster: described.client_config() for cluster, described in kafka.described.items()})
    write(kafka, "east", topic, {})
    assert judge_logs(sides.logs([topic])).different == 6, "west has nothing yet"
    write(kafka, "west", topic, {4: b"damaged"})

    logs = sides.logs([topic])
    assert {where: [r.number for r in records] for where, records in logs["east"].items()} == {
        (topic, 0): [0, 2, 4],
        (topic, 1): [1, 3, 5],
    }
    assert [record.timestamp[0] for record in logs["east"][topic, 1]] == [BEGAN + 1, BEGAN + 3, BEGAN + 5]
    verdict = judge_logs(logs)
    assert (verdict.records, verdict.different, verdict.written_twice) == (12, 2, 0)
    assert f"key-0 4, at offset 2 of {topic}/0" in verdict.examples[0]
    with pytest.raises(SandboxError, match="cannot be read"):
        sides.logs([f"{topic}-that-is-not"])

    wanted = {group: [topic]}
    assert await_caught_up(sides, wanted, 0, 0) == [f"group {group} has members on no cluster"]
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    reader = Consumer(kafka.described["west"].client_config() | settings)
    try:
        reader.subscribe([topic])
        found: list[Message] = []

        def all_read() -> bool:
            found.extend(reader.consume(6, 0.2))
            return len(found) >= 6

        eventually(all_read, "six records", patience=40)
        assert all(message.error() is None for message in found)
        (behind,) = await_caught_up(sides, wanted, 0, 0)
        assert behind.startswith(f"group {group} on west has not caught up: {topic}/0 committed nothing of 3")
        reader.commit(asynchronous=False)
        assert await_caught_up(sides, wanted, 20, 0) == []
    finally:
        reader.close()
