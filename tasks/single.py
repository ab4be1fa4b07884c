"""Runs a periodic task only once at a time, over all workers, with an advisory lock of the database."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def single(name: str) -> Iterator[bool]:
    """Yield ``True`` if this caller may run. The lock ends with the database session, also when the process dies."""
    key = zlib.crc32(name.encode())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        won = bool(cursor.fetchone()[0])
    try:
        yield won
    finally:
        if won:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
