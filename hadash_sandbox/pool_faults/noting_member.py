"""``python -m hadash_sandbox.pool_faults.noting_member``: a member that writes down each record that it handles, and
takes a second to stop and to start, so that something can happen to it meanwhile.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Message

from hadash.bindings.client import connect
from hadash.coordinator.member.process import PoolMember
from hadash.coordinator.member.topic_reader import TopicReader
from hadash.coordinator.process_settings import MemberSettings, read_token
from hadash.telemetry import logs

#: The file to which handled records are written; several processes append to it.
NOTES = "HADASH_NOTES"
#: Seconds that it takes to stop and to start partitions.
SLOW_SECONDS = 1.0


class SlowReader(TopicReader):
    """A reader that takes its time to stop and to start."""

    def _stop_reading(self, partitions: Iterable[int]) -> None:
        stopping = list(partitions)
        if stopping:
            time.sleep(SLOW_SECONDS)
        super()._stop_reading(stopping)

    def _start_reading(self, partitions: Iterable[int]) -> None:
        starting = list(partitions)
        if starting:
            time.sleep(SLOW_SECONDS)
        super()._start_reading(starting)


def main() -> None:
    logs.begin()
    settings = MemberSettings.from_environment()
    token = read_token(settings.token_file, "HADASH_MEMBER_TOKEN_FILE")
    notes = os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def handle(record: Message) -> None:
        os.write(notes, f"{record.partition()} {record.offset()} {settings.name}\n".encode())

    def make_reader(topic: str, consumer: Mapping[str, Any]) -> TopicReader:
        return SlowReader(topic, consumer, {}, handle, settings)

    member = PoolMember(connect(bounded=True), settings, token, make_reader)
    signal.signal(signal.SIGTERM, lambda *_: member.stop())
    member.run()


if __name__ == "__main__":
    main()
