"""Runs one run of one job: in this process, or in a Spark process (:mod:`hadash.pipeline.applications`).

Even if the worker dies, the run ends: Spark's process ends with its standard input, the lock of the job ends
with its connection to the database, and :func:`fail_dead` marks a run without the lock as failed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum

from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.lake import retention, snapshots
from hadash.lake.store import Store
from hadash.pipeline import claims, collecting
from hadash.pipeline.applications import APPLICATIONS, Ended, TookTooLong
from hadash.pipeline.jobs import JOBS
from hadash.sentences import Sentence, joined, say
from hadash.telemetry import ids
from spark.codes import FAILED, TAKEN, UNUSABLE
from spark.publishing import faults, runs
from spark.publishing.runs import Kept, Made

log = logging.getLogger(__name__)


class Outcome(Enum):
    """The result of a run. ``FAILED`` may be tried again; ``REFUSED`` would fail again each time."""

    PUBLISHED = "published"
    FAILED = "failed"
    REFUSED = "refused"
    #: Another worker has begun it, or runs the same job.
    NOT_MINE = "not mine"


def conninfo() -> str:
    """Return the connection string with which jobs reach Django's database, with all parameters of PostgreSQL's
    own library, such as certificates.
    """
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    told = connection.get_connection_params()
    return make_conninfo("", **{name: str(value) for name, value in told.items() if name in known and value})


def kept(job: str) -> Kept:
    """Return how many runs of a job are kept, and for how many days."""
    days = settings.PIPELINE_COVERAGE_KEEP_DAYS if job == Run.Job.COVERAGE else settings.PIPELINE_KEEP_DAYS
    return Kept(settings.PIPELINE_KEEP, days)


def fail_dead(job: str) -> int:
    """Mark runs of a job whose process has died as failed; return how many."""
    return runs.fail_dead(conninfo(), job)


def carry_out(number: int) -> Outcome:
    """Carry out a waiting run, unless another worker has claimed it. Its row will have the result, too."""
    with ids.bound(run=str(number)), claims.claimed(conninfo(), number) as is_mine:
        return _carry_out(number) if is_mine else Outcome.NOT_MINE


def _carry_out(number: int) -> Outcome:
    run = Run.objects.filter(pk=number).first()
    if run is None or run.state != Run.State.WAITING:
        return Outcome.NOT_MINE
    Run.objects.filter(pk=number, state=Run.State.WAITING).update(progress={"step": "starting"})
    job = Run.Job(run.job)
    if not settings.LAKE:
        _fail(number, say("No lake is set (HADASH_LAKE)."))
        return Outcome.REFUSED
    log.info("run %d: %s begins", number, job)
    outcome = _with_spark(run) if JOBS[job].with_spark else _here(run, HERE[job])
    log.info("run %d: %s %s", number, job, outcome.value)
    return outcome


def _fail(number: int, why: Sentence) -> None:
    """Mark a run as failed, unless it has already recorded its end."""
    now = timezone.now()
    Run.objects.filter(pk=number, state__in=(Run.State.WAITING, Run.State.RUNNING)).update(
        state=Run.State.FAILED, ended_at=now, fault=why
    )


# -- in this process ---------------------------------------------------------------------------------------------


def _snapshot(run: runs.Run, store: Store) -> Made:
    began = time.monotonic()
    taken = collecting.take(store, run.tell)
    return Made(
        rows=taken.rows,
        watermark={"snapshot": taken.at.isoformat()},
        quality={"away": taken.away, "lacking": taken.lacking},
        seconds={"snapshot": time.monotonic() - began},
    )


def _cleaning(run: runs.Run, store: Store) -> Made:
    began = time.monotonic()
    now = datetime.now(UTC)
    run.tell("reports")
    days = retention.expire(store, now.date(), settings.LAKE_KEPT_DAYS)
    run.tell("snapshots")
    gone = snapshots.expire(store, now - timedelta(days=settings.SNAPSHOTS_KEPT_DAYS))
    return Made(
        rows={"days": len(days), "snapshots": gone},
        seconds={"cleaning": time.monotonic() - began},
    )


HERE: dict[Run.Job, Callable[[runs.Run, Store], Made]] = {
    Run.Job.SNAPSHOT: _snapshot,
    Run.Job.CLEANING: _cleaning,
}


def _here(run: Run, make: Callable[[runs.Run, Store], Made]) -> Outcome:
    try:
        store = Store(settings.LAKE)
        with runs.begun(conninfo(), run.job, number=run.pk) as current:
            current.publish(store, make(current, store), kept(run.job))
    except (runs.Busy, runs.NotWaiting):
        return Outcome.NOT_MINE
    except Exception as error:  # any error is stored in the run, and the worker continues
        log.exception("run %d of %s has failed", run.pk, run.job)
        _fail(run.pk, faults.fault_of_run(error))
        return Outcome.FAILED
    return Outcome.PUBLISHED


# -- with Spark --------------------------------------------------------------------------------------------------


def order(run: Run) -> list[str]:
    """Return the arguments of ``python -m spark`` for a run."""
    pairs = [
        f"{cluster.name}={pair.name}"
        for pair in Pair.objects.select_related("first", "second")
        for cluster in pair.clusters
    ]
    keep = kept(run.job)
    told = [
        run.job,
        "--lake", settings.LAKE,
        "--run", str(run.pk),
        "--window-days", str(round(settings.ACCESS_WINDOW_DAYS)),
        "--keep", str(keep.runs),
        "--keep-days", str(keep.days),
    ]  # fmt: skip
    if pairs:
        told += ["--pairs", ",".join(pairs)]
    if run.job == Run.Job.FROM_KAFKA:
        # (The cluster's properties contain a password, so they are in a file.)
        told += ["--topic", settings.LAKE_TOPIC, "--kafka", settings.LAKE_TOPIC_PROPERTIES]
    return told


def environment() -> dict[str, str]:
    """Return the variables with which Spark's processes find the database."""
    return {"DATABASE_URL": conninfo()}


def warm_up() -> None:
    """Start Spark before the first job of this worker: jobs are mostly due when a worker starts."""
    if settings.LAKE:
        APPLICATIONS.warm_up(environment())


def _with_spark(run: Run) -> Outcome:
    try:
        with APPLICATIONS.lent(run.job == Run.Job.FROM_KAFKA, environment()) as application:
            ended = application.carry_out(order(run), settings.PIPELINE_JOB_SECONDS)
            if ended.code == FAILED:
                application.end()  # the next try begins with a new process
    except TookTooLong:
        _fail(
            run.pk,
            say(
                "It was ended after %(seconds)s s (HADASH_PIPELINE_JOB_SECONDS).",
                seconds=round(settings.PIPELINE_JOB_SECONDS),
            ),
        )
        return Outcome.FAILED
    if ended.code == 0:
        return Outcome.PUBLISHED
    log.warning("run %d of %s has ended with %d: %s", run.pk, run.job, ended.code, ended.said)
    if ended.code == TAKEN:
        return Outcome.NOT_MINE  # it waits for its turn, or another worker has begun it
    if Run.objects.filter(pk=run.pk, state=Run.State.PUBLISHED).exists():
        return Outcome.PUBLISHED  # it failed only after publishing
    # (A message that the run itself has stored is kept.)
    _fail(run.pk, died(ended) if ended.died else faults.in_its_words(ended.said))
    return Outcome.REFUSED if ended.code == UNUSABLE else Outcome.FAILED


def died(ended: Ended) -> Sentence:
    """Say how a process has ended that did not answer."""
    if ended.code < 0:
        how = say("Its process has ended by signal %(signal)s.", signal=-ended.code)
    else:
        how = say("Its process has ended with %(code)s.", code=ended.code)
    return joined(how, faults.in_its_words(ended.said))
