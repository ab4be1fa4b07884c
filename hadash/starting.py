"""The system checks, which every server process of hadash runs before it serves.

``manage.py`` runs them by itself. Web servers and Celery workers start without it, and would run with a secret
key that everybody knows.
"""

from __future__ import annotations

import logging
import sys

from django.core.checks import ERROR, CheckMessage, run_checks

log = logging.getLogger(__name__)


class WrongSettings(SystemExit):
    """A setting is wrong. The process ends; the errors are on standard error."""


def check_settings(*, web: bool = True) -> None:
    """Run the system checks, and end the process when one finds an error.

    :param web: whether this process is a web server. Any other process only logs errors in settings that only the
        web server needs, and serves: switches must not stop because of a wrong setting for signing in.
    :raises WrongSettings: a system check has found an error.
    """
    from hadash.accounts.checks import WEB

    not_needed = [] if web else run_checks(tags=[WEB])
    errors = [message for message in run_checks() if message.level >= ERROR and not message.is_silenced()]
    fatal = [error for error in errors if error not in not_needed]
    for error in errors:
        if error in fatal:
            print(f"error: {_text(error)}", file=sys.stderr)
        else:
            log.warning("the web server would not start: %s", _text(error))
    if fatal:
        raise WrongSettings(1)


def _text(error: CheckMessage) -> str:
    return f"{error.msg} {error.hint or ''} ({error.id})"
