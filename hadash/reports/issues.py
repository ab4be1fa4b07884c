"""The issues of reports: created at their times and at the ends of switches, made when they are due, and deleted."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from hadash.reports import editions, times
from hadash.reports.kinds import FIGURES, parts
from hadash.reports.models import Kind, ReportIssue, ReportSchedule
from hadash.reports.schedules import next_time
from hadash.sentences import Sentence, say
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

#: The reasons why an issue is skipped.
MISSED = say("Nothing ran at its time, and it was too late afterwards.")
RESTORED = say("The database was put back from a dump: whether it was sent after that was made is not known.")


def announce_due(now: datetime) -> list[ReportIssue]:
    """Create the issues of schedules that are due; each is created once, however many workers look.

    Of several times that have passed only the last one is made: after a weekend without workers Monday's, and
    not Saturday's.
    """
    grace = timedelta(hours=settings.REPORT_EXPIRY_HOURS)
    found = []
    for schedule in ReportSchedule.objects.filter(enabled=True, next_at__lte=now):
        due_at = schedule.next_at
        assert due_at is not None
        following = next_time(schedule, now)
        with transaction.atomic():
            # Only the worker that advances the next time creates the issue.
            mine = ReportSchedule.objects.filter(pk=schedule.pk, enabled=True, next_at=due_at)
            if not mine.update(next_at=following):
                continue
            last = times.last(schedule.cron, times.zone_named(schedule.zone), due_at, now, grace)
            for at in sorted({due_at, last}):
                is_made = at == last and not times.missed(at, now, grace)
                issue, _is_new = ReportIssue.objects.get_or_create(
                    schedule=schedule,
                    due_at=at,
                    defaults={
                        "state": ReportIssue.State.WAITING if is_made else ReportIssue.State.SKIPPED,
                        "left_out": None if is_made else [MISSED.to_json()],
                    },
                )
                found.append(issue)
    return found


def announce_switch(switch: Any) -> int:
    """Create the issues about a switch that has ended, in the transaction of its end; return how many.

    A batch of a thousand switches must not make a thousand mails: beyond ``REPORT_RECORDS_AN_HOUR`` issues are
    skipped, and say that the records are on their pages.
    """
    of_pair = Q(pair=None) | Q(pair=switch.pair_id)
    wanted = ReportSchedule.objects.filter(of_pair, kind=Kind.SWITCH, enabled=True)
    made = 0
    for schedule in wanted:
        lately = schedule.issues.exclude(about="").exclude(state=ReportIssue.State.SKIPPED)
        count = lately.filter(due_at__gt=switch.ended_at - timedelta(hours=1), asked_by=None).count()
        is_too_many = count >= settings.REPORT_RECORDS_AN_HOUR
        _issue, is_new = ReportIssue.objects.get_or_create(
            schedule=schedule,
            due_at=switch.ended_at,
            about=switch.key,
            defaults={
                "state": ReportIssue.State.SKIPPED if is_too_many else ReportIssue.State.WAITING,
                "left_out": [too_many().to_json()] if is_too_many else None,
            },
        )
        made += is_new
    return made


def too_many() -> Sentence:
    """Return the reason why records beyond ``REPORT_RECORDS_AN_HOUR`` are skipped."""
    return say(
        "More than %(count)s switches have ended within an hour: the others' records are on their pages.",
        count=settings.REPORT_RECORDS_AN_HOUR,
    )


def make_waiting(now: datetime) -> int:
    """Make the waiting issues that are due; return how many were queued. A failing issue does not stop the others."""
    queued = 0
    due = ReportIssue.objects.filter(state=ReportIssue.State.WAITING, due_at__lte=now)
    for issue in due.select_related("schedule__pair"):
        if not awaits_figures(issue, now) and not awaits_record(issue, now):
            queued += _make(issue, now)
    return queued


def set_aside(now: datetime) -> int:
    """Skip all waiting issues after a restore, because they may have been sent after the dump was made; set the
    next time of each schedule after ``now``. Return the number of skipped issues.
    """
    for schedule in ReportSchedule.objects.select_for_update():
        schedule.next_at = next_time(schedule, now)
        schedule.save(update_fields=["next_at"])
    waiting = ReportIssue.objects.filter(state=ReportIssue.State.WAITING)
    return waiting.update(state=ReportIssue.State.SKIPPED, left_out=[RESTORED.to_json()])


def awaits_record(issue: ReportIssue, now: datetime) -> bool:
    """Return whether an issue waits for the Gateways' data about its switch to be stored, which takes time when
    Gateways are slow; at most for ``REPORT_RECORD_SECONDS``.
    """
    if not issue.about:
        return False
    since = now - timedelta(seconds=settings.REPORT_RECORD_SECONDS)
    return Switch.objects.filter(key=issue.about, recorded_at=None, ended_at__gt=since).exists()


def awaits_figures(issue: ReportIssue, now: datetime) -> bool:
    """Return whether an issue waits because its jobs may still publish current figures. (Issues that a user
    requested do not wait.)
    """
    jobs = FIGURES[Kind(issue.schedule.kind)] if settings.LAKE else ()
    until = issue.due_at + timedelta(seconds=settings.REPORT_AWAIT_SECONDS)
    if issue.state != ReportIssue.State.WAITING or issue.asked_by_id is not None or not jobs:
        return False
    if not issue.due_at <= now < until:
        return False
    with timezone.override(times.zone_named(issue.schedule.zone)):
        return bool(parts.stale(parts.published_at(*jobs), now))


def _make(issue: ReportIssue, now: datetime) -> bool:
    try:
        with transaction.atomic():
            # The worker with the row's lock makes it; others skip it.
            held = ReportIssue.objects.select_for_update(skip_locked=True, of=("self",)).filter(
                pk=issue.pk, state=ReportIssue.State.WAITING
            )
            if not held.exists():
                return False
            readers = editions.make(issue, now)
            left_out = [sentence.to_json() for sentence in readers.left_out]
            ReportIssue.objects.filter(pk=issue.pk).update(
                state=ReportIssue.State.QUEUED if readers.found else ReportIssue.State.SKIPPED,
                left_out=left_out or None,
                made_at=now,
            )
    except OperationalError as error:
        # The database was down, or there was a deadlock: the next look makes it.
        log.warning("report %s is made at the next look: %s", issue, error)
        return False
    except Exception as error:  # (it is not retried: a user sees the error, and sends it again)
        log.exception("report %s could not be made", issue)
        ReportIssue.objects.filter(pk=issue.pk).update(
            state=ReportIssue.State.FAILED, fault=f"{type(error).__name__}: {error}"[:2000], made_at=now
        )
        return False
    return True


def trim(now: datetime) -> int:
    """Delete issues older than ``REPORT_KEPT_DAYS``, with their editions; return how many."""
    old = ReportIssue.objects.filter(due_at__lt=now - timedelta(days=settings.REPORT_KEPT_DAYS))
    count = old.count()
    old.delete()
    return count
