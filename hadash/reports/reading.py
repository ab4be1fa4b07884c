"""Which reports somebody may read, and what became of their mail."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Count, QuerySet

from hadash.accounts.roles import MANAGE_REPORTS, may, pairs_where
from hadash.outbox.models import Delivery
from hadash.outbox.states import State
from hadash.reports.models import ReportEdition, ReportIssue, ReportSchedule


def editions_for(user: Any, most: int) -> list[ReportEdition]:
    """The newest that ``user`` may read. Those of an owner are for managers of reports: others got them by mail."""
    found = ReportEdition.objects.filter(pairs__contained_by=sorted(_visible(user))).exclude(pairs=[])
    if not may(user, MANAGE_REPORTS):
        found = found.filter(owner="")
    return list(found.select_related("issue__schedule").defer("report").order_by("-pk")[:most])


def may_read(user: Any, edition: ReportEdition) -> bool:
    """Whoever may see all pairs that it tells of; what is an owner's, only managers of reports."""
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
    """All, for managers of reports; nobody else sees who gets what."""
    found = ReportSchedule.objects.select_related("pair", "created_by").annotate(readers=Count("recipients"))
    return found if may(user, MANAGE_REPORTS) else found.none()


def deliveries_of(issue: ReportIssue) -> QuerySet[Delivery]:
    """Of all its editions, those that did not arrive first."""
    contents = issue.editions.exclude(content=None).values("content")
    return Delivery.objects.filter(content__in=contents).order_by("pk")


def delivery_counts(issues: list[ReportIssue]) -> dict[int, Counter[State]]:
    """How many deliveries of each issue are in which state. One query."""
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
