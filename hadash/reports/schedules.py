"""The only place that changes schedules of reports, and makes the issues that are due."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from hadash.accounts.roles import MANAGE_REPORTS, ROLES, may
from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.outbox.addresses import BadAddress, normalised
from hadash.pipeline.cron import NoSuchTime, validated
from hadash.reports import editions, times
from hadash.reports.kinds import FIGURES, parts
from hadash.reports.models import Kind, ReportIssue, ReportRecipient, ReportSchedule
from hadash.reports.times import NoSuchZone
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import ENDED
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

Way = ReportRecipient.Way

#: Kinds that are made for an event, and not at a time.
BY_EVENT = frozenset({Kind.SWITCH})


class ScheduleRefused(Exception):
    """A change of a schedule is not possible; ``reasons`` are all faults."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(map(str, reasons)))
        self.reasons = list(reasons)


@dataclass(frozen=True, slots=True)
class WantedRecipient:
    """A recipient as a user entered it. ``value``: a user name, a role, a pair, an owner (empty: each of them),
    or an address, which has a language and a zone, too.
    """

    way: Way
    value: str
    language: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A schedule as a user entered it. ``pair``: ``None`` for all pairs that each recipient may see."""

    name: str
    kind: Kind
    cron: str
    zone: str
    pair: Pair | None = None
    recipients: Sequence[WantedRecipient] = ()
    enabled: bool = True


#: The reasons why an issue is skipped.
MISSED = say("Nothing ran at its time, and it was too late afterwards.")
RESTORED = say("The database was put back from a dump: whether it was sent after that was made is not known.")
PAUSED = say("The schedule was paused before it was made.")


def save(
    actor: Any, wanted: Wanted, schedule: ReportSchedule | None = None, address: str | None = None
) -> ReportSchedule:
    """Create a schedule, or replace the content of ``schedule`` by ``wanted``.

    :raises PermissionDenied: ``actor`` may not.
    :raises ScheduleRefused: with all faults.
    """
    _may(actor)
    cron, zone, reasons = _time(wanted)
    recipients: list[ReportRecipient] = []
    for asked in wanted.recipients:
        try:
            recipient = _recipient(asked)
            # (Duplicates are dropped.)
            if all(_who(recipient) != _who(each) for each in recipients):
                recipients.append(recipient)
        except ScheduleRefused as refused:
            reasons += refused.reasons
    name = wanted.name.strip()
    if not name or len(name) > ReportSchedule._meta.get_field("name").max_length:  # type: ignore[operator]
        reasons.append(say("Give it a name of at most 100 characters: it stands at the end of each mail."))
    if not recipients:
        reasons.append(say("Say who gets it: a person, a role, owners or an address."))
    if any(each.way == Way.OWNER for each in recipients) and wanted.kind is not Kind.COVERAGE:
        reasons.append(
            say("Only the report “Coverage by owner” is made for owners: others tell of everybody's AppIDs.")
        )
    if reasons:
        raise ScheduleRefused(*reasons)
    with transaction.atomic():
        is_new = schedule is None
        schedule = schedule or ReportSchedule(created_by=actor)
        schedule.name, schedule.kind, schedule.pair = name, wanted.kind.value, wanted.pair
        schedule.cron, schedule.zone, schedule.enabled = cron, zone, wanted.enabled
        schedule.next_at = _next(schedule, timezone.now())
        schedule.save()
        schedule.recipients.all().delete()
        for each in recipients:
            each.schedule = schedule
        ReportRecipient.objects.bulk_create(recipients)
        record(
            actor,
            "report schedule made" if is_new else "report schedule changed",
            f"report schedule {schedule.pk}",
            address,
            name=name,
            kind=schedule.kind,
            cron=cron,
            zone=zone,
            enabled=schedule.enabled,
            recipients=[str(each) for each in recipients],
        )
    return schedule


def pause(actor: Any, schedule: ReportSchedule, *, enabled: bool, address: str | None = None) -> None:
    """Pause a schedule, or resume it. Queued mails are still sent; issues that wait to be made are skipped."""
    _may(actor)
    with transaction.atomic():
        if not enabled:
            waiting = schedule.issues.filter(state=ReportIssue.State.WAITING, asked_by=None)
            waiting.update(state=ReportIssue.State.SKIPPED, left_out=[PAUSED.to_json()])
        schedule.enabled = enabled
        schedule.next_at = _next(schedule, timezone.now())
        schedule.save(update_fields=["enabled", "next_at", "changed_at"])
        verb = "report schedule resumed" if enabled else "report schedule paused"
        record(actor, verb, f"report schedule {schedule.pk}", address, name=schedule.name)


def delete(actor: Any, schedule: ReportSchedule, address: str | None = None) -> None:
    """Delete a schedule with its history. Queued mails are still sent."""
    _may(actor)
    with transaction.atomic():
        record(
            actor, "report schedule deleted", f"report schedule {schedule.pk}", address, name=schedule.name
        )
        schedule.delete()


def send_now(actor: Any, schedule: ReportSchedule, address: str | None = None) -> ReportIssue:
    """Create an issue now, besides the scheduled ones. A second request within the same minute returns the
    first issue.

    :raises ScheduleRefused: it is about a switch, and none has ended yet.
    """
    _may(actor)
    now = timezone.now()
    about = _newest_about(schedule)
    with transaction.atomic():
        issue, is_new = ReportIssue.objects.get_or_create(
            schedule=schedule,
            due_at=now.replace(second=0, microsecond=0),
            about=about,
            defaults={"asked_by": actor},
        )
        if not is_new:
            # (An issue that waits for current figures no longer waits: a user wants it now.)
            waiting = ReportIssue.objects.filter(pk=issue.pk, state=ReportIssue.State.WAITING, asked_by=None)
            is_new = bool(waiting.update(asked_by=actor))
        if is_new:
            record(actor, "report sent", f"report schedule {schedule.pk}", address, name=schedule.name)
    return issue


def _newest_about(schedule: ReportSchedule) -> str:
    """Return the key of the last switch that has ended, for a report on events; else empty."""
    if Kind(schedule.kind) not in BY_EVENT:
        return ""
    ended = Switch.objects.all()
    if schedule.pair_id is not None:
        ended = ended.filter(pair=schedule.pair_id)
    newest = newest_ended(ended)
    if not newest:
        raise ScheduleRefused(say("No switch has ended yet: there is nothing to tell of."))
    return newest


def newest_ended(switches: QuerySet[Switch]) -> str:
    """Return the key of the last of some switches that was carried out and has ended; empty when there is none.
    (A declined switch has no record.)
    """
    ended = switches.filter(status__in=[status.value for status in ENDED], started_at__isnull=False)
    return ended.exclude(ended_at=None).order_by("-ended_at").values_list("key", flat=True).first() or ""


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
        following = _next(schedule, now)
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
        schedule.next_at = _next(schedule, now)
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


def _who(recipient: ReportRecipient) -> tuple[str, int | None, str]:
    return recipient.way, recipient.user_id, recipient.value


def _may(actor: Any) -> None:
    if not may(actor, MANAGE_REPORTS):
        raise PermissionDenied("You may not change reports.")


def _time(wanted: Wanted) -> tuple[str, str, list[Sentence]]:
    reasons: list[Sentence] = []
    cron, zone = "", wanted.zone.strip() or "UTC"
    try:
        times.zone_named(zone)
    except NoSuchZone as error:
        reasons.append(error.sentence)
    if wanted.kind not in BY_EVENT:
        try:
            cron = validated(wanted.cron)
        except NoSuchTime as error:
            reasons.append(error.sentence)
    return cron, zone, reasons


def _next(schedule: ReportSchedule, now: datetime) -> datetime | None:
    if not schedule.enabled or not schedule.cron:
        return None
    return times.following(schedule.cron, times.zone_named(schedule.zone), now)


def _recipient(wanted: WantedRecipient) -> ReportRecipient:
    value = wanted.value.strip()
    match wanted.way:
        case Way.PERSON:
            user = User.objects.filter(username=value, is_active=True).first()
            if user is None:
                raise ScheduleRefused(say("There is nobody called %(name)s.", name=value))
            return ReportRecipient(way=Way.PERSON, user=user)
        case Way.ROLE:
            if value not in ROLES:
                raise ScheduleRefused(say("There is no role %(name)s.", name=value))
            return ReportRecipient(way=Way.ROLE, value=value)
        case Way.PAIR:
            if not Pair.objects.filter(name=value).exists():
                raise ScheduleRefused(say("There is no pair %(name)s.", name=value))
            return ReportRecipient(way=Way.PAIR, value=value)
        case Way.OWNER:
            return ReportRecipient(way=Way.OWNER, value=value)
        case _:
            try:
                zone = wanted.zone and str(times.zone_named(wanted.zone))
                return ReportRecipient(
                    way=Way.ADDRESS, value=normalised(value), language=wanted.language, zone=zone
                )
            except BadAddress as error:
                raise ScheduleRefused(error.sentence) from None
            except NoSuchZone as error:
                raise ScheduleRefused(error.sentence) from None
