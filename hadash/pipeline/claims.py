"""Claims a run for one worker, until its process has ended.

Until Spark has started, which may take minutes (it downloads packages, or waits for executors), a run has the
state "waiting". A lock in the database marks it as claimed; the lock ends with the worker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

#: The first part of the locks' keys, whose second part is the number of the run; and of full audits, of which one runs
#: at a time. (Of hadash's other locks those of previews have a key of two parts, with another first one:
#: ``switching/planning/one_preview.py``.)
_RUNS, FULL_AUDITS = 0x52756E, 0x46756C


@contextmanager
def claimed(database: str, number: int, of: int = _RUNS) -> Iterator[bool]:
    """Claim a run until the block ends; yield ``False`` if another worker has it.

    :param database: the connection string of the database. :param of: the first part of the lock's key.
    :raises psycopg.Error: it cannot be used.
    """
    with psycopg.connect(database, autocommit=True) as holder:
        row = holder.execute("SELECT pg_try_advisory_lock(%s, %s)", [of, number]).fetchone()
        is_mine = bool(row and row[0])
        try:
            yield is_mine
        finally:
            # Released explicitly: after a closed connection the server keeps the lock until it notices.
            if is_mine and not holder.broken:
                holder.execute("SELECT pg_advisory_unlock(%s, %s)", [of, number])


def claimed_of(numbers: Collection[int], of: int = _RUNS) -> set[int]:
    """Return which of these runs workers have claimed. One query; none when there is nothing to ask."""
    if not numbers:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2"
            " AND objid::bigint = ANY(%s) AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [of, list(numbers)],
        )
        return {number for (number,) in cursor.fetchall()}


def is_claimed(number: int) -> bool:
    """Return whether a worker has claimed a run."""
    return number in claimed_of([number])
