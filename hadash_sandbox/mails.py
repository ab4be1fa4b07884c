"""The demo's mail: one report schedule of each kind, with its readers.

The first reports are due as soon as the jobs have published.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.reports import schedules
from hadash.reports.models import Kind, MailPreference, OwnerAddress, ReportIssue, ReportSchedule
from hadash.reports.schedules import Wanted, WantedRecipient, Way
from hadash_sandbox.world import World

#: name, kind, cron, recipients.
_Schedules = Sequence[tuple[str, Kind, str, Sequence[tuple[Way, str]]]]

_ROLES = ("administrator", "approver")
_SCHEDULES: _Schedules = (
    ("Every morning", Kind.POSTURE, "0 7 * * *", [(Way.ROLE, role) for role in _ROLES]),
    ("Every Monday: risks", Kind.RISKS, "0 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Every Monday: mirrors", Kind.LAG, "5 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Every month: coverage", Kind.COVERAGE, "0 7 1 * *", [(Way.ROLE, "administrator"), (Way.OWNER, "")]),
    ("Whenever a switch ends", Kind.SWITCH, "", [(Way.ROLE, role) for role in _ROLES]),
    ("Every working day: what is due", Kind.DUE, "0 8 * * 1-5", [(Way.ROLE, role) for role in _ROLES]),
)

_OF_GENERATED: _Schedules = (
    ("Generated fleet: every morning", Kind.POSTURE, "0 7 * * *", [(Way.ROLE, "administrator")]),
    ("Generated fleet: risks", Kind.RISKS, "0 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Generated fleet: mirrors", Kind.LAG, "5 7 * * 1", [(Way.ROLE, "administrator")]),
    ("Generated fleet: coverage", Kind.COVERAGE, "0 7 1 * *", [(Way.ROLE, "administrator")]),
    ("Generated fleet: what is due", Kind.DUE, "0 8 * * 1-5", [(Way.ROLE, "administrator")]),
)


def put(world: World, pair: Pair) -> None:
    """Create owners' addresses, mail preferences and schedules. Idempotent: existing and changed ones stay."""
    for owner in sorted(set(world.owners.values())):
        address = f"{owner.lower().replace(' ', '-')}@example.org"
        OwnerAddress.objects.get_or_create(owner=owner, defaults={"address": address})
    # One of the two approvers reads Chinese, so that both languages can be seen in the mailbox.
    names = sorted(name for name, (role, _full) in world.people.items() if role == "approver")
    for reader in User.objects.filter(username__in=names[-1:]):
        MailPreference.objects.get_or_create(
            user=reader, defaults={"language": "zh-hans", "zone": "Asia/Shanghai"}
        )
    if not ReportSchedule.objects.exists():
        _save(_SCHEDULES, pair)


def put_generated(pair: Pair) -> None:
    """Create the schedules of a generated fleet, and make all waiting reports due now.

    Generating the fleet takes minutes, so the reports that were waiting meanwhile get the same due time.
    """
    _save(_OF_GENERATED, pair)
    ReportIssue.objects.filter(state=ReportIssue.State.WAITING).update(due_at=timezone.now())


def _save(wanted: _Schedules, pair: Pair) -> None:
    actor = User.objects.filter(groups__name="administrator").order_by("pk").first()
    if actor is None:
        return
    for name, kind, cron, recipients in wanted:
        schedule = Wanted(
            name=name,
            kind=kind,
            cron=cron,
            zone="UTC",
            pair=pair,
            recipients=[WantedRecipient(way, value) for way, value in recipients],
        )
        made = schedules.save(actor, schedule)
        if cron:
            ReportIssue.objects.create(schedule=made, due_at=timezone.now())
