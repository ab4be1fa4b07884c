"""The only place that changes schedules of reports; what people ask of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hadash.accounts.roles import MANAGE_REPORTS, ROLES, may
from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.outbox.addresses import BadAddress, normalised
from hadash.pipeline.cron import NoSuchTime, validated
from hadash.reports import times
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


#: Why an issue of a paused schedule is skipped.
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
        schedule.next_at = next_time(schedule, timezone.now())
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
        schedule.next_at = next_time(schedule, timezone.now())
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


def next_time(schedule: ReportSchedule, now: datetime) -> datetime | None:
    """Return when a schedule's next issue after ``now`` is due; ``None`` for a paused one, and one on events."""
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
