"""The limits on failed sign-ins.

Failures are counted per user name and address, and per address over all names. They are not counted per name
alone: an attacker who guesses Olga's password from elsewhere must not lock Olga out. django-axes holds the counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_cool_off, get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from hadash.accounts import journal
from hadash.accounts.addresses import limited_address

#: The class of PostgreSQL's advisory locks for sign-ins.
_LOCKS = 0x7369676E


class Attempt(HttpRequest):
    """A request with the attributes that django-axes adds."""

    axes_attempt_time: datetime
    axes_ip_address: str | None
    axes_locked_out: bool
    axes_credentials: dict[str, Any] | None
    #: ``None`` when the attempt was refused because of the lock, and not counted.
    axes_failures_since_start: int | None


class Limits(AxesDatabaseHandler):
    """The handler that django-axes asks before a password is checked, and tells the result."""

    def get_failures(self, request: Attempt, credentials: dict[str, Any] | None = None) -> int:
        """Return the failures of this user name from this address.

        A sign-in by OpenID Connect has no name, so the result is 0: only its address counts.
        """
        if get_client_username(request, credentials) is None:
            return 0
        failures: int = super().get_failures(request, credentials)
        return failures

    def is_locked(self, request: Attempt, credentials: dict[str, Any] | None = None) -> bool:
        return super().is_locked(request, credentials) or wait_for_address(request) > timedelta()

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Attempt | None = None, **kwargs: Any
    ) -> None:
        """Count a failure and record it in the audit log, unless it was refused because of the lock: so the lock
        also bounds the audit log.
        """
        super().user_login_failed(sender, credentials, request, **kwargs)
        if request is None or request.axes_failures_since_start is None:
            return
        username = get_client_username(request, credentials)
        journal.failed(request, username)
        if self.is_locked(request, credentials):
            request.axes_locked_out, request.axes_credentials = True, credentials
            journal.locked(request, username, waiting(request, username))


def waiting(request: Attempt, username: str | None) -> timedelta:
    """Return how long until a sign-in with this name from this address is accepted again; zero if it is now."""
    wait = wait_for_address(request)
    if username is not None:
        mine = AccessAttempt.objects.filter(username=username, ip_address=request.axes_ip_address)
        wait = max(wait, _wait(mine, get_failure_limit(request, None), request.axes_attempt_time))
    return wait


def wait_for_address(request: Attempt) -> timedelta:
    """Return how long until a sign-in from this address is accepted again, with any name; zero if it is now."""
    attempts = AccessAttempt.objects.filter(ip_address=request.axes_ip_address)
    return _wait(attempts, settings.SIGN_IN_ADDRESS_FAILURES, request.axes_attempt_time)


def _wait(attempts: QuerySet[Any], limit: int, now: datetime) -> timedelta:
    """Return how long until fewer than ``limit`` failures are left.

    Each row counts several failures, and expires as a whole a cool-off after the last of them.
    """
    cool_off = get_cool_off()
    rows = list(
        attempts.filter(attempt_time__gte=now - cool_off)
        .order_by("attempt_time")
        .values_list("attempt_time", "failures_since_start")
    )
    left = sum(failures for _, failures in rows)
    wait = timedelta()
    for at, failures in rows:
        if left < limit:
            break
        left -= failures
        wait = at + cool_off - now
    return wait


@contextmanager
def one_at_a_time(request: HttpRequest, username: str) -> Iterator[None]:
    """Serialize sign-ins with one name from one address: otherwise concurrent guesses would all be checked."""
    name = User.normalize_username(username.strip())  # as the form reads it
    digest = hashlib.sha256(f"{limited_address(request)} {name}".encode("utf-8", "replace")).digest()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s, %s)",
                [_LOCKS, int.from_bytes(digest[:4], "big", signed=True)],
            )
        yield
