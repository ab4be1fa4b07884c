"""Who carries out a run: one worker, from when it takes it until its process has ended.

Until Spark has started, which may take minutes (it fetches what it lacks, or waits for executors), a run
still waits. A lock of the database says that somebody has taken it; it goes with the worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

#: The first half of the locks' keys, whose second half is the number of the run: no other lock of hadash's
#: has two halves.
_RUNS = 0x52756E


@contextmanager
def claimed(database: str, number: int) -> Iterator[bool]:
    """Whether a run is this worker's until the block ends; else somebody else's.

    :param database: how it is reached. :raises psycopg.Error: it cannot be used.
    """
    with psycopg.connect(database, autocommit=True) as holder:
        row = holder.execute("SELECT pg_try_advisory_lock(%s, %s)", [_RUNS, number]).fetchone()
        is_mine = bool(row and row[0])
        try:
            yield is_mine
        finally:
            # Given back by name: a server that is only hung up on keeps it until it notices.
            if is_mine and not holder.broken:
                holder.execute("SELECT pg_advisory_unlock(%s, %s)", [_RUNS, number])


def is_claimed(number: int) -> bool:
    """Whether some worker has taken a run."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid "
            "= %s AND objsubid = 2"
            " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))",
            [_RUNS, number],
        )
        return bool(cursor.fetchone()[0])
