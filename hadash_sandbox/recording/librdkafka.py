"""``python -m hadash_sandbox.recording.librdkafka BOOTSTRAP FILE``: librdkafka clients that run until SIGTERM.

All run in this process. The file has one client a line, in the format of Clients.java.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 3
WRITE_SECONDS = 0.3
END_SECONDS = 10.0


def run(role: str, topic: str, config: dict[str, Any], stopping: threading.Event) -> None:
    """Run one client until ``stopping`` is set."""
    if role in ("produce", "transact"):
        _produce(topic, config, stopping, transacts=role == "transact")
    else:
        _consume(role, topic, config, stopping)


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


def main() -> None:
    bootstrap, path = sys.argv[1:]
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    threads = []
    for line in Path(path).read_text().splitlines():
        role, topic, group, *settings = line.split("\t")
        config = {"bootstrap.servers": bootstrap} | dict(setting.split("=", 1) for setting in settings)
        if group:
            config["group.id"] = group
        threads.append(threading.Thread(target=run, args=(role, topic, config, stopping)))
        threads[-1].start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
