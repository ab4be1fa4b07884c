"""``python -m hadash_sandbox.auditor_faults.slow_auditor``: an auditor that takes a second to stop and to start what it
reads, so that something can happen to it meanwhile.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from typing import Any

import django

from hadash.bindings.client import connect
from hadash.coordinator.process_settings import MemberSettings, read_token
from hadash.telemetry import logs

#: Seconds that it takes to put an assignment into effect.
SLOW_SECONDS = 1.0


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    # (These have models, which need Django to be set up.)
    from hadash.auditors.assignments import TopicAuditor
    from hadash.auditors.process import Auditor
    from hadash.auditors.settings import AuditorSettings

    class SlowTopic(TopicAuditor):
        """Puts an assignment into effect a second after it has learned of it. (It is told with each look.)"""

        _told: tuple[int, frozenset[int]] | None = None
        _waiting: threading.Timer | None = None

        def assign(self, token: int, partitions: frozenset[int]) -> None:
            if self._told == (token, partitions):
                return
            self._told = token, partitions
            if self._waiting is not None:
                self._waiting.cancel()
            self._waiting = threading.Timer(SLOW_SECONDS, super().assign, self._told)
            self._waiting.daemon = True
            self._waiting.start()

        def stop(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
            super().stop()

    class SlowAuditor(Auditor):
        def _reader(self, topic: str, consumer: Mapping[str, Any]) -> SlowTopic:
            self.reads.assignments.topic(topic)
            return SlowTopic(topic, self.reads.assignments)

    logs.begin()
    settings, member = AuditorSettings.from_environment(), MemberSettings.from_environment()
    token = read_token(member.token_file, "HADASH_MEMBER_TOKEN_FILE")
    auditor = SlowAuditor(connect(bounded=True), settings, member, token)
    signal.signal(signal.SIGTERM, lambda *_: auditor.stop())
    auditor.run()


if __name__ == "__main__":
    main()
