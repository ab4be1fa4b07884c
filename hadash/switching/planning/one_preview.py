"""One preview for each person and pair at a time: each asks both clusters, and ten open tabs must not ask ten
times at once.

The next one waits for as long as a preview may take: what it shows is of its own moment, and of its own form.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.sentences import say

#: The first half of the locks' keys; the second is made of the person and the pair.
_PREVIEWS = 0x507276


class PreviewRunning(Refused):
    """Earlier previews of the same person are still being made."""


@contextmanager
def one_preview(user: User, pair: Pair) -> Iterator[None]:
    """:raises PreviewRunning: the earlier ones have not ended within ``SWITCH_CHECK_SECONDS``."""
    key = [_PREVIEWS, zlib.crc32(f"{user.pk} {pair.pk}".encode()) - 2**31]
    _wait_for(key)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)


def _wait_for(key: list[int]) -> None:
    """The lock belongs to the session of the database, so it goes with a process that dies."""
    milliseconds = max(1, round(settings.SWITCH_CHECK_SECONDS * 1000))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(milliseconds)])
            cursor.execute("SELECT pg_advisory_lock(%s, %s)", key)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise PreviewRunning(
            say(
                "A preview of yours for this pair is still being made, maybe in another tab. Ask again when "
                "it has ended."
            )
        ) from None
