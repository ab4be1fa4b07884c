"""One run of one job, from its first second to its last: nobody else runs the same job meanwhile, and readers
see all of it or nothing.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from hadash.lake.store import Store
from spark.publishing import findings, posture
from spark.publishing.copying import copy_rows
from spark.transform.packing import Before, Circle, Named

log = logging.getLogger(__name__)

#: Characters of what went wrong: an exception of Spark's has pages of stack.
MAX_FAULT = 2000

#: What is left of a run whose process has died. It holds no lock any more, so nobody waits for it.
DIED = "The process that ran it has ended without saying so."

#: By table of a job's output: the table in the database.
TABLES: Mapping[str, str] = {
    "edges": "governance_edge",
    "nodes": "governance_node",
    "marks": "governance_mark",
    "islands": "governance_island",
    "sharing": "governance_sharing",
    "coverage": "governance_coverage",
    "coverage_cells": "governance_coveragecell",
    "advice": "governance_advicestep",
    "lag_days": "governance_lagday",
    "findings": "governance_found",
}


class Busy(Exception):
    """The same job is running already."""


class NotWaiting(Exception):
    """A run does not wait to be begun: somebody else has, or it is gone."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a job has made: ``tables`` by name, each a folder of Parquet files in the lake; what from, and how
    good it is.

    ``undecided``: (pair, code) of rules that could not look this time: what they found before stays as it is.
    ``rows``: of what stands elsewhere than in these tables, by name.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    watermark: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    undecided: frozenset[tuple[str, str]] = frozenset()
    rows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """How many published runs of a job stay: the last ``runs``, and of the last ``days`` the last one of each day."""

    runs: int = 5
    days: int = 15


class Run:
    """A run that has begun. (Use :func:`begun`.)"""

    def __init__(
        self, number: int, job: str, holder: psycopg.Connection[Any], teller: psycopg.Connection[Any]
    ) -> None:
        self.number = number
        self.job = job
        #: Holds the lock that keeps others from running the job; it goes with the process.
        self._holder = holder
        #: Commits by itself, so that others see how far it is.
        self._teller = teller

    def tell(self, step: str, done: int = 0, total: int = 0) -> None:
        """What it does now, for people."""
        progress = json.dumps({"step": step, "done": done, "total": total})
        self._teller.execute("UPDATE governance_run SET progress = %s WHERE id = %s", [progress, self.number])

    def publish(self, store: Store, made: Made, kept: Kept) -> dict[str, int]:
        """Let readers see it, in one transaction; how many rows each table has."""
        rows: dict[str, int] = dict(made.rows)
        with self._holder.transaction(), self._holder.cursor() as cursor:
            for name, place in made.tables.items():
                rows[name] = copy_rows(cursor, TABLES[name], self.number, store, place, self._told(name))
            if "findings" in made.tables:
                self.tell("findings")
                findings.carry_on(cursor, self.number, made.undecided)
            posture.note(cursor, self.number, made.tables)
            self.tell("published")
            cursor.execute(
                "UPDATE governance_run SET state = 'published', ended_at = now(), watermark = %s, rows = "
                "%s, seconds = %s,"
                " quality = %s WHERE id = %s",
                [*map(json.dumps, (made.watermark, rows, made.seconds, made.quality)), self.number],
            )
            self._forget_old(cursor, kept)
        return rows

    def last_map(self) -> Before:
        """The map that was published last; empty before the first one."""
        query = "SELECT max(id) FROM governance_run WHERE job = %s AND state = 'published'"
        (last,) = self._teller.execute(query, [self.job]).fetchone() or (None,)
        things = self._teller.execute(
            "SELECT pair, kind, appid, names, x, y FROM governance_mark WHERE run_id = %s", [last]
        )
        circles = self._teller.execute(
            "SELECT pair, kind, appid, names, x, y, r FROM governance_island WHERE run_id = %s AND x IS NOT NULL",
            [last],
        )
        return Before(_by_pair(things, lambda x, y: (x, y)), _by_pair(circles, Circle))

    def _told(self, name: str) -> Any:
        def tell(rows: int) -> None:
            self.tell(f"publishing {name}", rows)

        return tell

    def _forget_old(self, cursor: psycopg.Cursor[Any], kept: Kept) -> None:
        """The published runs that are not kept, with their rows; failed ones stay as long as a published one
        before them.
        """
        cursor.execute(
            "SELECT id, stays FROM (SELECT id, row_number() OVER (ORDER BY id DESC) <= %(runs)s OR (row_number() OVER"
            " (PARTITION BY (ended_at AT TIME ZONE 'UTC')::date ORDER BY id DESC) = 1 AND ended_at > now() - %(days)s *"
            " interval '1 day') AS stays FROM governance_run WHERE job = %(job)s AND state = 'published') "
            "AS known ORDER BY id",
            {"job": self.job, "runs": kept.runs, "days": kept.days},
        )
        known = cursor.fetchall()
        # While there are not yet as many as are kept, failed ones stay, too.
        oldest = next(number for number, stays in known if stays) if len(known) >= kept.runs else 0
        gone = [number for number, stays in known if not stays]
        for table in TABLES.values():
            cursor.execute(
                sql.SQL("DELETE FROM {} WHERE run_id = ANY(%s)").format(sql.Identifier(table)), [gone]
            )
        cursor.execute(
            "DELETE FROM governance_run WHERE id = ANY(%s) OR (job = %s AND state = 'failed' AND id < %s)",
            [gone, self.job, oldest],
        )

    def fail(self, why: str) -> None:
        """The last one that is published stays what readers see; so does this one, if it has been published already."""
        self._teller.execute(
            "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE id = %s AND state "
            "= 'running'",
            [why[:MAX_FAULT], self.number],
        )


def _by_pair(rows: Iterable[tuple[Any, ...]], make: Callable[..., Any]) -> dict[str, dict[Named, Any]]:
    found: dict[str, dict[Named, Any]] = {}
    for pair, kind, appid, names, *place in rows:
        found.setdefault(pair, {})[(kind, appid, tuple(names))] = make(*place)
    return found


def _key(job: str) -> int:
    return zlib.crc32(f"pipeline {job}".encode())


@contextmanager
def begun(database: str, job: str, asked_by: str = "", number: int | None = None) -> Iterator[Run]:
    """A run of a job. When the block fails the run has failed, and says why.

    :param database: how the database is reached, ``postgresql://…`` or ``host=… dbname=…``.
    :param number: of the run that waits to be begun; ``None`` for one that nobody has announced.
    :raises Busy: the same job is running. :raises NotWaiting: run ``number`` does not wait (any more).
    :raises psycopg.Error: the database cannot be used.
    """
    with psycopg.connect(database) as holder, psycopg.connect(database, autocommit=True) as teller:
        if not _locked(holder, job):
            raise Busy(f"The job {job} is running already.")
        _settle_dead(teller, job)
        found = _announced(teller, number) if number is not None else _new(teller, job, asked_by)
        run = Run(found, job, holder, teller)
        try:
            yield run
        except BaseException as error:
            run.fail(_said(error))
            raise
        finally:
            _unlock(holder, job)


def settle_dead(database: str, job: str) -> int:
    """Say of a run whose process has died that it has failed; how many it was (0 or 1).

    :raises psycopg.Error: the database cannot be used.
    """
    with psycopg.connect(database) as holder:
        if not _locked(holder, job):
            return 0  # it lives
        return _settle_dead(holder, job)


def _locked(holder: psycopg.Connection[Any], job: str) -> bool:
    """Whether ``holder`` has the lock of a job now, until it is closed."""
    won = holder.execute("SELECT pg_try_advisory_lock(%s)", [_key(job)]).fetchone()
    holder.commit()
    return bool(won and won[0])


def _unlock(holder: psycopg.Connection[Any], job: str) -> None:
    """Let the next one begin at once. (The lock goes with the connection anyway, when the server has heard
    that it is closed.)
    """
    with suppress(psycopg.Error):
        holder.rollback()
        holder.execute("SELECT pg_advisory_unlock(%s)", [_key(job)])
        holder.commit()


def _settle_dead(connection: psycopg.Connection[Any], job: str) -> int:
    """(Whoever calls this has the lock.)"""
    return connection.execute(
        "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE job = %s AND state = 'running'",
        [DIED, job],
    ).rowcount


def _announced(teller: psycopg.Connection[Any], number: int) -> int:
    row = teller.execute(
        "UPDATE governance_run SET state = 'running', began_at = now() WHERE id = %s AND state = 'waiting' "
        "RETURNING id",
        [number],
    ).fetchone()
    if row is None:
        raise NotWaiting(f"Run {number} does not wait to be begun.")
    return number


def _new(teller: psycopg.Connection[Any], job: str, asked_by: str) -> int:
    row = teller.execute(
        "INSERT INTO governance_run (job, state, asked_by, due_at, attempt, began_at, watermark, rows, "
        "seconds, quality,"
        " progress, fault) VALUES (%s, 'running', %s, now(), 1, now(), '{}', '{}', '{}', '{}', '{}', '') RETURNING id",
        [job, asked_by],
    ).fetchone()
    assert row is not None
    return int(row[0])


def _said(error: BaseException) -> str:
    """In a line or a few: what follows in an exception of Spark's is a stack of Java's."""
    text = str(error).strip() or type(error).__name__
    return text.split("\n\tat ")[0].split("\nJVM stacktrace")[0]
