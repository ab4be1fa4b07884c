"""What the demo mails to whom: one schedule of each kind, and the first reports as soon as the jobs have published."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.reports import schedules
from hadash.reports.models import Kind, MailPreference, OwnerAddress, ReportIssue, ReportSchedule
from hadash.reports.schedules import Wanted, WantedRecipient, Way
from hadash.sandbox.world import World

#: Until the first reports: the jobs of a new demo have published by then.
FIRST_AFTER = timedelta(seconds=100)

_ROLES = ("administrator", "approver")
#: name, kind, cron, recipients.
_SCHEDULES = (
    ("Every morning", Kind.POSTURE, "0 7 * * *", [(Way.ROLE, role) for role in _ROLES]),
    ("Every Monday: risks", Kind.RISKS, "0 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Every Monday: mirrors", Kind.LAG, "5 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Every month: coverage", Kind.COVERAGE, "0 7 1 * *", [(Way.ROLE, "administrator"), (Way.OWNER, "")]),
    ("Whenever a switch ends", Kind.SWITCH, "", [(Way.ROLE, role) for role in _ROLES]),
    ("Every working day: what is due", Kind.DUE, "0 8 * * 1-5", [(Way.ROLE, role) for role in _ROLES]),
)


def put(world: World, pair: Pair) -> None:
    """Idempotent: what is there already, and what somebody has changed, stays."""
    for owner in sorted(set(world.owners.values())):
        address = f"{owner.lower().replace(' ', '-')}@example.org"
        OwnerAddress.objects.get_or_create(owner=owner, defaults={"address": address})
    # One of the two approvers reads Chinese: both languages can be seen in the mailbox.
    names = sorted(name for name, (role, _full) in world.people.items() if role == "approver")
    for reader in User.objects.filter(username__in=names[-1:]):
        MailPreference.objects.get_or_create(
            user=reader, defaults={"language": "zh-hans", "zone": "Asia/Shanghai"}
        )
    if ReportSchedule.objects.exists():
        return
    actor = User.objects.filter(groups__name="administrator").order_by("pk").first()
    if actor is None:
        return
    for name, kind, cron, recipients in _SCHEDULES:
        wanted = Wanted(
            name=name,
            kind=kind,
            cron=cron,
            zone="UTC",
            pair=pair if kind is not Kind.POSTURE else None,
            recipients=[WantedRecipient(way, value) for way, value in recipients],
        )
        made = schedules.save(actor, wanted)
        if cron:
            ReportIssue.objects.create(schedule=made, due_at=timezone.now() + FIRST_AFTER)
