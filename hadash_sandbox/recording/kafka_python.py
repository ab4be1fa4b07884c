"""``python -m hadash_sandbox.recording.kafka_python BOOTSTRAP FILE``: kafka-python clients that run until SIGTERM.

The version is that of the kafka-python that is first in PYTHONPATH. (The file: :mod:`.client_threads`.)
"""

from __future__ import annotations

import threading
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

from hadash_sandbox.recording.client_threads import Client, run_all

WRITE_SECONDS = 0.3


def run(client: Client, stopping: threading.Event) -> None:
    """Run one client until ``stopping`` is set."""
    config: dict[str, Any] = {"bootstrap_servers": client.bootstrap, **client.settings}
    if client.role == "produce":
        producer = KafkaProducer(**config)
        while not stopping.wait(WRITE_SECONDS):
            producer.send(client.topic, b"recorded")
        producer.close(5)
        return
    consumer = KafkaConsumer(client.topic, group_id=client.group, auto_offset_reset="earliest", **config)
    while not stopping.is_set():
        consumer.poll(timeout_ms=200)
    consumer.close()


if __name__ == "__main__":
    run_all(run)
