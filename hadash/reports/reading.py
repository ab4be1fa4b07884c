"""Queries for the reports that a user may read, and for the deliveries of their mail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet

from hadash.accounts.roles import MANAGE_REPORTS, may, pairs_where
from hadash.outbox.models import Delivery
from hadash.outbox.states import State
from hadash.reports.models import MailPreference, ReportEdition, ReportIssue, ReportSchedule


def editions_for(user: Any) -> QuerySet[ReportEdition]:
    """Return the editions that ``user`` may read, without their reports, the newest first. Editions of an owner are
    only for managers of reports.
    """
    found = ReportEdition.objects.filter(pairs__contained_by=sorted(_visible(user))).exclude(pairs=[])
    if not may(user, MANAGE_REPORTS):
        found = found.filter(owner="")
    return found.select_related("issue__schedule").defer("report").order_by("-pk")


def may_read(user: Any, edition: ReportEdition) -> bool:
    """Return whether a user may read an edition: they have to see all its pairs; an owner's one is only for
    managers.
    """
    if edition.owner and not may(user, MANAGE_REPORTS):
        return False
    visible = _visible(user)
    return bool(edition.pairs) and set(edition.pairs) <= visible


def _visible(user: Any) -> set[str]:
    known: set[str] | None = getattr(user, "_hadash_pairs", None)
    if known is None:
        known = set(pairs_where(user).values_list("name", flat=True))
        user._hadash_pairs = known
    return known


def schedules_for(user: Any) -> QuerySet[ReportSchedule]:
    """Return all schedules for managers of reports, and none for other users."""
    found = ReportSchedule.objects.select_related("pair", "created_by").annotate(readers=Count("recipients"))
    return found if may(user, MANAGE_REPORTS) else found.none()


def last_issues(schedules: Iterable[ReportSchedule]) -> dict[int, ReportIssue]:
    """Return schedule → its newest issue, for those that have one. One query."""
    found = (
        ReportIssue.objects.filter(schedule__in=schedules)
        .order_by("schedule_id", "-due_at", "-pk")
        .distinct("schedule_id")
    )
    return {issue.schedule_id: issue for issue in found}


def deliveries_of(issue: ReportIssue) -> QuerySet[Delivery]:
    """Return the deliveries of all editions of an issue."""
    contents = issue.editions.exclude(content=None).values("content")
    return Delivery.objects.filter(content__in=contents).order_by("pk")


def delivery_counts(issues: list[ReportIssue]) -> dict[int, Counter[State]]:
    """Return the number of deliveries of each issue in each state. One query."""
    rows = (
        ReportEdition.objects.filter(issue__in=issues)
        .order_by()
        .values_list("issue", "content__deliveries__state")
        .annotate(Count("content__deliveries"))
    )
    found: dict[int, Counter[State]] = {}
    for issue, state, count in rows:
        if state is not None:
            found.setdefault(issue, Counter())[State(state)] += count
    return found


def zone_of(user: Any) -> str:
    """Return the name of the time zone in which a user gets reports."""
    own = MailPreference.objects.filter(user=user).values_list("zone", flat=True).first()
    return own or settings.REPORT_ZONE
