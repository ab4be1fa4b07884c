"""``python -m hadash_sandbox.bench.coordinator.quiet_member``: a member that says that it reads its partitions, and
reads nothing: what is measured is the coordination, not Kafka.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from hadash.bindings.client import connect
from hadash.coordinator.member.process import PoolMember
from hadash.coordinator.member.topic_reader import Reading
from hadash.coordinator.process_settings import MemberSettings, read_token


class QuietReader:
    """A reader whose assignments are in effect at once."""

    def __init__(self) -> None:
        self._reading = Reading()

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        if (token, partitions) != (self._reading.token, self._reading.running.keys()):
            self._reading = Reading(token, dict.fromkeys(partitions, 0))

    def reading(self) -> Reading:
        return self._reading

    def stop(self) -> None:
        self._reading = Reading(self._reading.token)

    def is_closed(self, seconds: float = 0.0) -> bool:
        return True


def main() -> None:
    settings = MemberSettings.from_environment()
    token = read_token(settings.token_file, "HADASH_MEMBER_TOKEN_FILE")

    def make_reader(topic: str, consumer: Mapping[str, Any]) -> QuietReader:
        return QuietReader()

    member = PoolMember(connect(bounded=True), settings, token, make_reader)
    signal.signal(signal.SIGTERM, lambda *_: member.stop())
    member.run()


if __name__ == "__main__":
    main()
