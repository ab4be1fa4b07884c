"""How often a sign-in may fail.

Failures are counted for one user name from one address, and for an address over all names. Nothing is counted
for a name alone: whoever guesses Olga's password from elsewhere cannot keep Olga out. django-axes holds the
counts.
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

#: Of PostgreSQL's advisory locks, those that are about sign-ins.
_LOCKS = 0x7369676E


class Attempt(HttpRequest):
    """A request as django-axes marks it."""

    axes_attempt_time: datetime
    axes_ip_address: str | None
    axes_locked_out: bool
    axes_credentials: dict[str, Any] | None
    #: ``None`` when it was refused because of the lock, and not counted.
    axes_failures_since_start: int | None


class Limits(AxesDatabaseHandler):
    """django-axes asks this before a password is looked at, and tells it how that went."""

    def get_failures(self, request: Attempt, credentials: dict[str, Any] | None = None) -> int:
        """Failures of this user name from this address. A sign-in by OpenID Connect has no name: only its
        address counts.
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
        """Count it, unless it was refused because of the lock; and say so in the audit log, which is bounded
        by that.
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
    """How long until a sign-in with this name from this address is looked at again; zero if it would be now."""
    wait = wait_for_address(request)
    if username is not None:
        mine = AccessAttempt.objects.filter(username=username, ip_address=request.axes_ip_address)
        wait = max(wait, _wait(mine, get_failure_limit(request, None), request.axes_attempt_time))
    return wait


def wait_for_address(request: Attempt) -> timedelta:
    """The same for an address, whatever the name."""
    attempts = AccessAttempt.objects.filter(ip_address=request.axes_ip_address)
    return _wait(attempts, settings.SIGN_IN_ADDRESS_FAILURES, request.axes_attempt_time)


def _wait(attempts: QuerySet[Any], limit: int, now: datetime) -> timedelta:
    """Each row counts several failures and is forgotten a while after the last of them: how long until fewer
    are left.
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
    """Sign-ins with one name from one address wait for each other: guesses side by side would all be looked at."""
    name = User.normalize_username(username.strip())  # as the form reads it
    digest = hashlib.sha256(f"{limited_address(request)} {name}".encode("utf-8", "replace")).digest()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s, %s)",
                [_LOCKS, int.from_bytes(digest[:4], "big", signed=True)],
            )
        yield
