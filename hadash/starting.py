"""What every server process of hadash makes sure of before it serves: the system checks hold.

``manage.py`` runs them by itself. A web server or a Celery worker is started without it, and would go on with a key that everybody
knows.
"""

from __future__ import annotations

import sys

from django.core.checks import ERROR, run_checks


class WrongSettings(SystemExit):
    """A setting is wrong. The process ends; what is wrong stands on standard error."""


def check_settings() -> None:
    """:raises WrongSettings: a system check has found an error."""
    errors = [message for message in run_checks() if message.level >= ERROR and not message.is_silenced()]
    if errors:
        for error in errors:
            print(f"error: {error.msg} {error.hint or ''} ({error.id})", file=sys.stderr)
        raise WrongSettings(1)
