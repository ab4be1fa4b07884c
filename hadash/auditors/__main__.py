"""``python -m hadash.auditors``: runs an auditor until SIGTERM or SIGINT.

Its settings are the variables ``HADASH_AUDITOR_…``, ``HADASH_MEMBER_…``, and those of ZooKeeper and PostgreSQL.
"""

from __future__ import annotations

import logging
import os

import django

from hadash.bindings.client import connect
from hadash.coordinator.process_settings import MemberSettings, read_token
from hadash.coordinator.startup import exit_codes, stop_on_signals
from hadash.telemetry import logs

log = logging.getLogger("hadash.auditors")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    from hadash.auditors.process import Auditor, UnknownPair  # has models, which need Django to be set up
    from hadash.auditors.settings import AuditorSettings

    with exit_codes(log, UnknownPair):
        logs.begin()
        settings, member = AuditorSettings.from_environment(), MemberSettings.from_environment()
        if not settings.pair:
            raise ValueError("HADASH_AUDITOR_PAIR is not set: it names the pair whose mirrors are audited.")
        token = read_token(member.token_file, "HADASH_MEMBER_TOKEN_FILE")
        auditor = Auditor(connect(bounded=True), settings, member, token)
    stop_on_signals(auditor.stop)
    log.info("Auditor %s of pair %s begins", member.name, settings.pair)
    auditor.run()


if __name__ == "__main__":
    main()
