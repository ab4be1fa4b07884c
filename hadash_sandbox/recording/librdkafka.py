"""``python -m hadash_sandbox.recording.librdkafka BOOTSTRAP FILE``: librdkafka clients that run until SIGTERM.

All run in this process. (The file: :mod:`.client_threads`.)
"""

from __future__ import annotations

import threading
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from hadash_sandbox.recording.client_threads import Client, run_all

PARTITIONS = 3
WRITE_SECONDS = 0.3
END_SECONDS = 10.0


def run(client: Client, stopping: threading.Event) -> None:
    """Run one client until ``stopping`` is set."""
    config = {"bootstrap.servers": client.bootstrap, **client.settings}
    if client.group:
        config["group.id"] = client.group
    if client.role in ("produce", "transact"):
        _produce(client.topic, config, stopping, transacts=client.role == "transact")
    else:
        _consume(client.role, client.topic, config, stopping)


def _produce(topic: str, config: dict[str, Any], stopping: threading.Event, *, transacts: bool) -> None:
    producer = Producer(config)
    if transacts:
        producer.init_transactions(END_SECONDS)
    while not stopping.wait(WRITE_SECONDS):
        if transacts:
            producer.begin_transaction()
        producer.produce(topic, b"recorded")
        producer.poll(0)
        if transacts:
            producer.commit_transaction(END_SECONDS)
    producer.flush(END_SECONDS)


def _consume(role: str, topic: str, config: dict[str, Any], stopping: threading.Event) -> None:
    # (librdkafka asks for a group.id also when the consumer uses no group.)
    consumer = Consumer({"group.id": "unused", "auto.offset.reset": "earliest"} | config)
    if role == "assign":
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    else:
        consumer.subscribe([topic])
    while not stopping.is_set():
        consumer.poll(0.2)
    consumer.close()


if __name__ == "__main__":
    run_all(run)
