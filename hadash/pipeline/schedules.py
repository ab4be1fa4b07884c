"""Schedules of jobs, running a job now, retries, and alarms. The only place that does these."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from hadash.accounts.roles import CHANGE_SCHEDULE, RUN_JOB, may
from hadash.audit.models import record
from hadash.governance.models.runs import Run
from hadash.lake import access, snapshots
from hadash.lake.store import LakeError, Store
from hadash.pipeline import applications, claims, cron, running
from hadash.pipeline.jobs import JOBS, MAKES, About, Job, Need, offered
from hadash.pipeline.models import Schedule
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.handovers.counting import count
from hadash.switching.models.handovers import Way, Work
from spark import manifest

log = logging.getLogger(__name__)

#: Hands a run to a worker.
HandOver = Callable[[Run], None]

#: How far back the first look at a new schedule goes: further than the interval of each default schedule.
FIRST_LOOK = timedelta(days=2)

UNDER_WAY = (Run.State.WAITING, Run.State.RUNNING)


# -- overview -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scheduled:
    """A job with its status. ``under_way``: the run that waits or runs. ``ended``: the run that ended last.
    ``published``: the run that readers see. ``alarm``: what is wrong; ``None`` when nothing is.
    """

    about: About
    schedule: Schedule
    next_at: datetime | None
    under_way: Run | None
    ended: Run | None
    published: Run | None
    alarm: Sentence | None


def known() -> dict[Job, Schedule]:
    """Return the schedule of each job; missing rows are created. A new job is due at once, so that its results
    need not be awaited until the next day.
    """
    jobs = offered()
    rows = {Job(row.job): row for row in Schedule.objects.select_related("changed_by")}
    if not jobs.keys() <= rows.keys():
        long_ago = timezone.now() - FIRST_LOOK
        missing = [about for job, about in jobs.items() if job not in rows]
        Schedule.objects.bulk_create(
            (Schedule(job=about.job, cron=about.cron, looked_at=long_ago) for about in missing),
            ignore_conflicts=True,
        )
        rows = {Job(row.job): row for row in Schedule.objects.select_related("changed_by")}
    return {job: rows[job] for job in jobs}


def overview() -> list[Scheduled]:
    """Return all jobs of this installation, in the order of :data:`hadash.pipeline.jobs.JOBS`.

    Three queries at most.
    """
    schedules = known()
    newest = _newest_by_state()
    claimed = claims.claimed_of({run.pk for run in newest.values() if _waits_too_long(run)})
    found = []
    for job, about in offered().items():
        schedule = schedules[job]
        under_way = newest.get((job, Run.State.RUNNING)) or newest.get((job, Run.State.WAITING))
        published = newest.get((job, Run.State.PUBLISHED))
        ended = _later(published, newest.get((job, Run.State.FAILED)))
        alarm = alarm_of(under_way, ended, _overdue(schedule, published), claimed)
        found.append(Scheduled(about, schedule, _next_at(schedule), under_way, ended, published, alarm))
    return found


def _newest_by_state() -> dict[tuple[str, str], Run]:
    """Return, by job and state, the run that ended last; of runs that have not ended there is one in each state."""
    found = Run.objects.order_by("job", "state", "-ended_at", "-pk").distinct("job", "state")
    return {(run.job, run.state): run for run in found}


def _later(one: Run | None, other: Run | None) -> Run | None:
    """Return which of two ended runs ended later."""
    ended = [run for run in (one, other) if run is not None]
    return max(ended, key=lambda run: (run.ended_at or run.due_at, run.pk), default=None)


def _waits_too_long(run: Run) -> bool:
    late = timezone.now() - run.due_at
    return run.state == Run.State.WAITING and late > timedelta(seconds=settings.PIPELINE_WAIT_SECONDS)


def _next_at(schedule: Schedule) -> datetime | None:
    return cron.following(schedule.cron, timezone.now()) if schedule.enabled and settings.LAKE else None


def _overdue(schedule: Schedule, published: Run | None) -> timedelta | None:
    """Return for how long the creation of a run is overdue; ``None`` when it is not. (In a new installation a
    job stays due until its input exists.)
    """
    if not schedule.enabled or published is None:
        return None
    late = timezone.now() - cron.following(schedule.cron, schedule.looked_at)
    return late if late > timedelta(seconds=settings.PIPELINE_WAIT_SECONDS) else None


def alarm_of(
    under_way: Run | None, ended: Run | None, overdue: timedelta | None, claimed: Container[int]
) -> Sentence | None:
    """Return what is wrong with a job; ``None`` when nothing is: it has failed and is not tried again, no
    worker takes it, it does not end, or beat does not create runs.

    Readers see the last published run then.

    :param claimed: the runs that workers have claimed.
    """
    if under_way is not None and under_way.state == Run.State.RUNNING and under_way.began_at is not None:
        longest = timedelta(seconds=settings.PIPELINE_JOB_SECONDS)
        if timezone.now() - under_way.began_at > longest + timedelta(seconds=applications.END_SECONDS):
            return say(
                "It has been running for %(minutes)s minutes, longer than a run may. Look at the worker of the "
                "queue pipeline.",
                minutes=int((timezone.now() - under_way.began_at).total_seconds() // 60),
            )
    if under_way is not None and _waits_too_long(under_way):
        minutes = int((timezone.now() - under_way.due_at).total_seconds() // 60)
        if under_way.pk in claimed:
            return say(
                "Spark has not started for %(minutes)s minutes. The log of the worker says what it waits for.",
                minutes=minutes,
            )
        return say(
            "No worker has begun it for %(minutes)s minutes. Does one run for the queue pipeline?",
            minutes=minutes,
        )
    if ended is not None and ended.state == Run.State.FAILED and under_way is None:
        return say("It has failed: %(fault)s", fault=ended.fault)
    if overdue is not None and under_way is None:
        return say(
            "It has been due for %(minutes)s minutes, and nobody has announced it. Does beat run, and a worker "
            "for its tasks?",
            minutes=int(overdue.total_seconds() // 60),
        )
    return None


def alarms(jobs: Iterable[Scheduled] | None = None) -> int:
    """Return the number of jobs with an alarm; 0 without a lake, because no job runs then.

    :param jobs: all jobs, if they have been read already.
    """
    if not settings.LAKE:
        return 0
    return sum(job.alarm is not None for job in (overview() if jobs is None else jobs))


# -- actions of users ----------------------------------------------------------------------------------------------


def change(
    user: Any, job: Job, text: str | None, enabled: bool | None, address: str | None = None
) -> Schedule:
    """Change the schedule of a job, or disable it; ``None`` keeps a value.

    :param text: see :mod:`hadash.pipeline.cron`.
    :raises PermissionDenied: ``user`` may not.
    :raises Refused: the schedule is not valid, or the job is not offered.
    """
    if not may(user, CHANGE_SCHEDULE):
        raise PermissionDenied("You may not change when jobs run.")
    _check_offered(job)
    try:
        wanted = cron.validated(text) if text is not None else None
    except cron.NoSuchTime as error:
        raise Refused(error.sentence) from None
    known()
    with transaction.atomic():
        schedule = Schedule.objects.select_for_update(of=("self",)).get(job=job)
        before = {"cron": schedule.cron, "enabled": schedule.enabled}
        if wanted is not None:
            schedule.cron = wanted
        if enabled is not None:
            schedule.enabled = enabled
        after = {"cron": schedule.cron, "enabled": schedule.enabled}
        if before != after:
            schedule.changed_by, schedule.changed_at = user, timezone.now()
            # Times of the new schedule before now are not due.
            schedule.looked_at = schedule.changed_at
            schedule.save()
            record(user, "schedule", f"job {job.value}", address, before=before, after=after)
    return schedule


def run_now(user: Any, job: Job, hand_over: HandOver, address: str | None = None) -> Run:
    """Create a run of a job, which begins as soon as a worker is free.

    :raises PermissionDenied: ``user`` may not.
    :raises Refused: one is under way already, there is no lake, or the job is not offered.
    """
    if not may(user, RUN_JOB):
        raise PermissionDenied("You may not have jobs run.")
    if not settings.LAKE:
        raise Refused(say("There is no lake: set HADASH_LAKE for the web and for the workers."))
    _check_offered(job)
    under_way = Run.objects.filter(job=job, state__in=UNDER_WAY).exists()
    try:
        with transaction.atomic():
            if under_way:
                raise IntegrityError
            run = Run.objects.create(job=job, state=Run.State.WAITING, asked_by=user.get_username())
            record(user, "run job", f"job {job.value}", address, run=run.pk)
    except IntegrityError:
        raise Refused(say("A run of this job is under way already. There is one at a time.")) from None
    _hand(run, hand_over)
    return run


def _check_offered(job: Job) -> None:
    if job not in offered():
        raise Refused(
            say(
                "No Topic is set to read reports from: set HADASH_LAKE_TOPIC for the web and for the workers."
            )
        )


# -- actions of beat ----------------------------------------------------------------------------------------------


def look(hand_over: HandOver) -> None:
    """Create runs that are due, mark dead ones as failed, and hand waiting runs to workers. Called every few seconds,
    by one process at a time.
    """
    if not settings.LAKE:
        return
    for run in Run.objects.filter(state=Run.State.RUNNING):
        if running.fail_dead(run.job):
            log.error("run %d of %s has died", run.pk, run.job)
            try_again(run)
    now = timezone.now()
    for schedule in known().values():
        if schedule.enabled and cron.following(schedule.cron, schedule.looked_at) <= now:
            _announce(schedule, now)
    again = now - timedelta(seconds=settings.PIPELINE_HAND_AGAIN_SECONDS)
    making = set(Run.objects.filter(state__in=UNDER_WAY).values_list("job", flat=True))
    waiting = Run.objects.filter(state=Run.State.WAITING, due_at__lte=now)
    for run in waiting.filter(Q(handed_at=None) | Q(handed_at__lt=again)).order_by("due_at", "pk"):
        if run.handed_at is None and _waits_for(Job(run.job)) & making:
            # Its input is being made. It is not late: it may begin only when that is done.
            Run.objects.filter(pk=run.pk).update(due_at=now)
        elif not claims.is_claimed(run.pk):
            if run.handed_at is not None:
                count(Work.RUN, Way.NEVER_TAKEN)
            _hand(run, hand_over)


def _waits_for(job: Job) -> set[Job]:
    """Return the jobs that make the data that a job needs."""
    return {MAKES[need] for need in JOBS[job].needs if need in MAKES}


def _announce(schedule: Schedule, now: datetime) -> None:
    """Create a run that is due. It is skipped while the previous one is under way, because it would do the
    same. While there is no input for it, it stays due.
    """
    job = Job(schedule.job)
    if not _has_something(job):
        return
    try:
        with transaction.atomic():
            under_way = Run.objects.filter(job=job, state__in=UNDER_WAY).exists()
            if not under_way:
                Run.objects.create(job=job, state=Run.State.WAITING, due_at=now)
    except IntegrityError:
        under_way = True
    schedule.looked_at = now
    if under_way:
        schedule.left_out_at = now
    Schedule.objects.filter(pk=schedule.pk, cron=schedule.cron).update(
        looked_at=now, left_out_at=schedule.left_out_at
    )


def _has_something(job: Job) -> bool:
    """Return whether the input of a job exists: a new installation has no reports, and no snapshot."""
    needs = [need for need in offered()[job].needs if need is not Need.TOPIC]
    if not needs or Run.objects.filter(job=job, state=Run.State.PUBLISHED).exists():
        return True
    try:
        store = Store(settings.LAKE)
        has = {
            Need.REPORTS: lambda: bool(access.days(store)),
            Need.FACTS: lambda: bool(manifest.read(store).newest),
            Need.SNAPSHOT: lambda: snapshots.newest(store) is not None,
        }
        return all(has[need]() for need in needs)
    except (LakeError, OSError):
        return True  # the run will report the fault


def _hand(run: Run, hand_over: HandOver) -> None:
    Run.objects.filter(pk=run.pk).update(handed_at=timezone.now(), progress={})
    hand_over(run)


def try_again(failed: Run) -> Run | None:
    """Create another run for a failed one, to begin a little later; ``None``, with an alarm, when its retries
    are used up.

    (A run whose process failed after publishing has not failed.)
    """
    failed.refresh_from_db()
    if failed.state != Run.State.FAILED:
        return None
    if failed.attempt > settings.PIPELINE_RETRIES:
        alarm(failed)
        return None
    due = timezone.now() + timedelta(seconds=settings.PIPELINE_RETRY_SECONDS)
    try:
        with transaction.atomic():
            return Run.objects.create(
                job=failed.job,
                state=Run.State.WAITING,
                asked_by=failed.asked_by,
                due_at=due,
                attempt=failed.attempt + 1,
            )
    except IntegrityError:
        return None  # a run is waiting already


def alarm(failed: Run) -> None:
    """Log that a run is not tried again. (Pages show that, too, until a run is published.)"""
    log.error(
        "ALARM: the job %s has failed, try %d of %d: %s. What people see stays that of the last run.",
        failed.job,
        failed.attempt,
        settings.PIPELINE_RETRIES + 1,
        failed.fault,
    )
