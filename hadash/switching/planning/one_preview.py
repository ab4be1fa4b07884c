"""One preview for each person and pair at a time: a preview asks both clusters, and ten open tabs must not ask
them ten times at once.

A further preview waits for as long as a preview may take, because it needs results of its own moment and form.
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

#: The first half of the advisory locks' keys; the second is made from the person and the pair.
_PREVIEWS = 0x507276


class PreviewRunning(Refused):
    """Earlier previews of the same person are still being made."""


@contextmanager
def one_preview(user: User, pair: Pair) -> Iterator[None]:
    """Hold the lock for previews. :raises PreviewRunning: earlier ones have not ended in ``SWITCH_CHECK_SECONDS``."""
    key = [_PREVIEWS, zlib.crc32(f"{user.pk} {pair.pk}".encode()) - 2**31]
    _wait_for(key)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)


def _wait_for(key: list[int]) -> None:
    """Take the lock, which belongs to the database session and so disappears with a process that dies."""
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
