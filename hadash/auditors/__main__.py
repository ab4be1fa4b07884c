"""``python -m hadash.auditors``: runs an auditor until SIGTERM or SIGINT.

Its settings are the variables ``HADASH_AUDITOR_…``, ``HADASH_MEMBER_…``, and those of ZooKeeper and PostgreSQL.
"""

from __future__ import annotations

import logging
import os
import signal
import sys

import django

from hadash.bindings.client import connect
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.process_settings import MemberSettings, read_token
from hadash.telemetry import logs

log = logging.getLogger("hadash.auditors")

#: Exit code for settings that cannot be used: to start again does not help.
WRONG_SETTINGS = 2


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    from hadash.auditors.process import Auditor, UnknownPair  # has models, which need Django to be set up
    from hadash.auditors.settings import AuditorSettings

    try:
        logs.begin()
        settings, member = AuditorSettings.from_environment(), MemberSettings.from_environment()
        if not settings.pair:
            raise ValueError("HADASH_AUDITOR_PAIR is not set: it names the pair whose mirrors are audited.")
        token = read_token(member.token_file, "HADASH_MEMBER_TOKEN_FILE")
        auditor = Auditor(connect(bounded=True), settings, member, token)
    except (ValueError, OSError, UnknownPair) as error:
        log.error("%s", error)
        return WRONG_SETTINGS
    except StoreUnavailable as error:
        log.error("%s", error)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: auditor.stop())
    log.info("Auditor %s of pair %s begins", member.name, settings.pair)
    auditor.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
