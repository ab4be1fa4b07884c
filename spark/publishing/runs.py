"""One run of one job. The same job does not run twice at the same time, and readers see all of a run or nothing."""

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
from psycopg.types.json import Jsonb

from hadash.lake.store import Store
from hadash.sentences import Sentence
from spark.publishing import findings, posture
from spark.publishing.copying import copy_rows
from spark.publishing.faults import DIED, fault_of_run
from spark.transform.packing import Before, Circle, Named

log = logging.getLogger(__name__)

#: The database's table for each table of a job's output.
TABLES: Mapping[str, str] = {
    "edges": "governance_edge",
    "nodes": "governance_node",
    "marks": "governance_mark",
    "islands": "governance_island",
    "sharing": "governance_sharing",
    "shared_by": "governance_sharedby",
    "coverage": "governance_coverage",
    "coverage_cells": "governance_coveragecell",
    "advice": "governance_advicestep",
    "lag_days": "governance_lagday",
    "findings": "governance_found",
}


class Busy(Exception):
    """The same job is running already."""


class NotWaiting(Exception):
    """A run is not waiting: another process has begun it, or it was deleted."""


@dataclass(frozen=True, slots=True)
class Made:
    """The output of a job. ``tables``: folders of Parquet files in the lake, by name. ``watermark``: its input;
    ``quality``: faults of the input.

    ``undecided``: (pair, code) of rules that could not judge this time: their earlier findings stay as they
    are.
    ``rows``: numbers of rows that are not in these tables, by name.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    watermark: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    undecided: frozenset[tuple[str, str]] = frozenset()
    rows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """The published runs of a job that are kept: the last ``runs``, and the last one of each of the last ``days``."""

    runs: int = 5
    days: int = 15


class Run:
    """A run that has begun. (Use :func:`begun`.)"""

    def __init__(
        self, number: int, job: str, holder: psycopg.Connection[Any], teller: psycopg.Connection[Any]
    ) -> None:
        self.number = number
        self.job = job
        #: Holds the lock that prevents other runs of the job; it ends with the process.
        self._holder = holder
        #: Commits each statement, so that others see the progress.
        self._teller = teller

    def tell(self, step: str, done: int = 0, total: int = 0) -> None:
        """Store the progress, which pages show."""
        progress = json.dumps({"step": step, "done": done, "total": total})
        self._teller.execute("UPDATE governance_run SET progress = %s WHERE id = %s", [progress, self.number])

    def publish(self, store: Store, made: Made, kept: Kept) -> dict[str, int]:
        """Publish the run in one transaction; return the number of rows of each table."""
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
        """Return the last published map; empty before the first one."""
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
        """Delete the published runs that are not kept, with their rows, and failed runs older than the oldest
        kept one.
        """
        cursor.execute(
            "SELECT id, stays FROM (SELECT id, row_number() OVER (ORDER BY id DESC) <= %(runs)s OR (row_number() OVER"
            " (PARTITION BY (ended_at AT TIME ZONE 'UTC')::date ORDER BY id DESC) = 1 AND ended_at > now() - %(days)s *"
            " interval '1 day') AS stays FROM governance_run WHERE job = %(job)s AND state = 'published') "
            "AS known ORDER BY id",
            {"job": self.job, "runs": kept.runs, "days": kept.days},
        )
        known = cursor.fetchall()
        # While there are fewer published runs than are kept, all failed ones stay.
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

    def fail(self, why: Sentence) -> None:
        """Mark the run as failed, unless it is already published. Readers still see the last published run."""
        self._teller.execute(
            "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE id = %s AND state "
            "= 'running'",
            [Jsonb(why.to_json()), self.number],
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
    """Begin a run of a job. When the block fails the run is marked as failed, with the reason.

    :param database: the connection string, ``postgresql://…`` or ``host=… dbname=…``.
    :param number: the number of the waiting run; ``None`` for a new one.
    :raises Busy: the same job is running.
    :raises NotWaiting: run ``number`` does not wait (any more).
    :raises psycopg.Error: the database cannot be used.
    """
    with psycopg.connect(database) as holder, psycopg.connect(database, autocommit=True) as teller:
        if not _locked(holder, job):
            raise Busy(f"The job {job} is running already.")
        _fail_dead(teller, job)
        found = _announced(teller, number) if number is not None else _new(teller, job, asked_by)
        run = Run(found, job, holder, teller)
        try:
            yield run
        except BaseException as error:
            run.fail(fault_of_run(error))
            raise
        finally:
            _unlock(holder, job)


def fail_dead(database: str, job: str) -> int:
    """Mark a run whose process has died as failed; return the number of such runs (0 or 1).

    :raises psycopg.Error: the database cannot be used.
    """
    with psycopg.connect(database) as holder:
        if not _locked(holder, job):
            return 0  # its process is alive
        return _fail_dead(holder, job)


def _locked(holder: psycopg.Connection[Any], job: str) -> bool:
    """Take the lock of a job, until ``holder`` is closed; return ``False`` if another connection has it."""
    won = holder.execute("SELECT pg_try_advisory_lock(%s)", [_key(job)]).fetchone()
    holder.commit()
    return bool(won and won[0])


def _unlock(holder: psycopg.Connection[Any], job: str) -> None:
    """Release the lock, so that the next run can begin at once. (Otherwise it ends when the server notices that
    the connection is closed.)
    """
    with suppress(psycopg.Error):
        holder.rollback()
        holder.execute("SELECT pg_advisory_unlock(%s)", [_key(job)])
        holder.commit()


def _fail_dead(connection: psycopg.Connection[Any], job: str) -> int:
    """Mark running runs of a job as failed. (The caller has the lock, so their process has died.)"""
    return connection.execute(
        "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE job = %s AND state = 'running'",
        [Jsonb(DIED.to_json()), job],
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
        "seconds, quality, progress, fault) "
        "VALUES (%s, 'running', %s, now(), 1, now(), '{}', '{}', '{}', '{}', '{}', '{}') RETURNING id",
        [job, asked_by],
    ).fetchone()
    assert row is not None
    return int(row[0])
