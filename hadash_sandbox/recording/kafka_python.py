"""``python -m hadash_sandbox.recording.kafka_python BOOTSTRAP FILE``: kafka-python clients that run until SIGTERM.

The version is that of the kafka-python that is first in PYTHONPATH. The file has one client a line, in the format of
Clients.java, with kafka-python's names of settings.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

WRITE_SECONDS = 0.3


def run(role: str, topic: str, config: dict[str, Any], group: str, stopping: threading.Event) -> None:
    """Run one client until ``stopping`` is set."""
    if role == "produce":
        producer = KafkaProducer(**config)
        while not stopping.wait(WRITE_SECONDS):
            producer.send(topic, b"recorded")
        producer.close(5)
        return
    consumer = KafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", **config)
    while not stopping.is_set():
        consumer.poll(timeout_ms=200)
    consumer.close()


def main() -> None:
    bootstrap, path = sys.argv[1:]
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    threads = []
    for line in Path(path).read_text().splitlines():
        role, topic, group, *settings = line.split("\t")
        config: dict[str, Any] = {"bootstrap_servers": bootstrap}
        config |= dict(setting.split("=", 1) for setting in settings)
        threads.append(threading.Thread(target=run, args=(role, topic, config, group, stopping)))
        threads[-1].start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
