"""One run of one job, from its first second to its last: nobody else runs the same job meanwhile, and readers see all of it or nothing."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from hadash.lake.store import Store
from spark.publishing import findings
from spark.publishing.copying import copy_rows

log = logging.getLogger(__name__)

#: Characters of what went wrong: an exception of Spark's has pages of stack.
MAX_FAULT = 2000

#: What is left of a run whose process has died. It holds no lock any more, so nobody waits for it.
DIED = "The process that ran it has ended without saying so."

#: By table of a job's output: the table in the database.
TABLES: Mapping[str, str] = {
    "edges": "governance_edge",
    "nodes": "governance_node",
    "sharing": "governance_sharing",
    "coverage": "governance_coverage",
    "advice": "governance_advicestep",
    "lag_days": "governance_lagday",
    "findings": "governance_found",
}


class Busy(Exception):
    """The same job is running already."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a job has made: ``tables`` by name, each a folder of Parquet files in the lake; what from, and how good it is.

    ``undecided``: (pair, code) of rules that could not look this time: what they found before stays as it is.
    """

    tables: Mapping[str, str]
    watermark: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    undecided: frozenset[tuple[str, str]] = frozenset()


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

    def publish(self, store: Store, made: Made, keep: int) -> dict[str, int]:
        """Let readers see it, in one transaction; how many rows each table has.

        :param keep: published runs of the job that stay, with this one.
        """
        rows: dict[str, int] = {}
        with self._holder.transaction(), self._holder.cursor() as cursor:
            for name, place in made.tables.items():
                rows[name] = copy_rows(cursor, TABLES[name], self.number, store, place, self._told(name))
            if "findings" in made.tables:
                self.tell("findings")
                findings.carry_on(cursor, self.number, made.undecided)
            self.tell("published")
            cursor.execute(
                "UPDATE governance_run SET state = 'published', ended_at = now(), watermark = %s, rows = %s, seconds = %s,"
                " quality = %s WHERE id = %s",
                [*map(json.dumps, (made.watermark, rows, made.seconds, made.quality)), self.number],
            )
            self._forget_old(cursor, keep)
        return rows

    def _told(self, name: str) -> Any:
        def tell(rows: int) -> None:
            self.tell(f"publishing {name}", rows)

        return tell

    def _forget_old(self, cursor: psycopg.Cursor[Any], keep: int) -> None:
        """The runs of the job beyond those that are kept, with their rows; failed ones stay as long as a published one before them."""
        cursor.execute(
            "SELECT id FROM governance_run WHERE job = %s AND state = 'published' ORDER BY id DESC OFFSET %s LIMIT 1",
            [self.job, keep - 1],
        )
        found = cursor.fetchone()
        first = found[0] if found else None  # none: there are not that many yet
        if first is None:
            return
        for table in TABLES.values():
            cursor.execute(
                sql.SQL(
                    "DELETE FROM {} WHERE run_id IN (SELECT id FROM governance_run WHERE job = %s AND id < %s)"
                ).format(sql.Identifier(table)),
                [self.job, first],
            )
        cursor.execute("DELETE FROM governance_run WHERE job = %s AND id < %s", [self.job, first])

    def fail(self, why: str) -> None:
        """The last one that is published stays what readers see."""
        self._teller.execute(
            "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE id = %s",
            [why[:MAX_FAULT], self.number],
        )


def _key(job: str) -> int:
    return zlib.crc32(f"pipeline {job}".encode())


@contextmanager
def begun(database: str, job: str, asked_by: str = "") -> Iterator[Run]:
    """A run of a job. When the block fails the run has failed, and says why.

    :param database: the address of the database, ``postgresql://…``.
    :raises Busy: the same job is running. :raises psycopg.Error: the database cannot be used.
    """
    with psycopg.connect(database) as holder, psycopg.connect(database, autocommit=True) as teller:
        with holder.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [_key(job)])
            won = cursor.fetchone()
        holder.commit()
        if not (won and won[0]):
            raise Busy(f"The job {job} is running already.")
        teller.execute(
            "UPDATE governance_run SET state = 'failed', ended_at = now(), fault = %s WHERE job = %s AND state = 'running'",
            [DIED, job],
        )
        row = teller.execute(
            "INSERT INTO governance_run (job, state, asked_by, began_at, watermark, rows, seconds, quality, progress, fault)"
            " VALUES (%s, 'running', %s, now(), '{}', '{}', '{}', '{}', '{}', '') RETURNING id",
            [job, asked_by],
        ).fetchone()
        assert row is not None
        run = Run(int(row[0]), job, holder, teller)
        try:
            yield run
        except BaseException as error:
            run.fail(_said(error))
            raise


def _said(error: BaseException) -> str:
    """In a line or a few: what follows in an exception of Spark's is a stack of Java's."""
    text = str(error).strip() or type(error).__name__
    return text.split("\n\tat ")[0].split("\nJVM stacktrace")[0]
