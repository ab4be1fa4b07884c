"""Approvals and who gave them: counted alike for switches, batches, and changes of bindings and of pools."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from hadash.accounts.roles import DECIDE, people_who
from hadash.refusals import Refused
from hadash.sentences import say

#: The statuses of requests that wait for approvals, and of those that have them, in every machine.
AWAITING, APPROVED = "awaiting_approval", "approved"


def note_approval(user: User, held: Any, browser: str, **noted: Any) -> int:
    """Note one approval, and return how many are still missing. The caller has locked ``held``.

    :param held: a row with ``requested_in``, ``approvals_needed`` and ``approvals``, each of which has a ``user`` and
        a ``browser``.
    :param noted: further fields of the approval.
    :raises Refused: this person has already approved, or another person has requested or approved it in the same
        browser.
    """
    if used_by_another(user, held, browser):
        raise Refused(
            say(
                "This browser was used to request or approve it already, with another account. "
                "Approve it in a browser of your own."
            )
        )
    _, new = held.approvals.get_or_create(user=user, defaults={**noted, "browser": browser})
    missing = missing_of(held, valid(held).count())
    if not new:
        raise Refused(
            say(
                "You have approved it already; somebody else has to, too (%(missing)s missing).",
                missing=missing,
            )
        )
    return missing


def missing_of(held: Any, given: int) -> int:
    """The number of approvals that a request with ``given`` ones still needs."""
    return max(int(held.approvals_needed) - given, 0)


def valid(held: Any) -> QuerySet[Any]:
    """The approvals that count: those of people who may still decide."""
    found: QuerySet[Any] = held.approvals.filter(user__in=people_who(DECIDE, held.pair))
    return found


def shown(held: Any) -> list[Any]:
    """The approvals to show, with their people: those that count while the request waits, and all afterwards."""
    found = valid(held) if held.status == AWAITING else held.approvals.all()
    return list(found.select_related("user"))


def undecided_by(user: Any) -> Q:
    """The condition for requests on which ``user`` may decide as one of other people: they wait, somebody else made
    them, and ``user`` has not approved them. (In which pairs the person may decide is a condition of its own.)
    """
    return Q(status=AWAITING) & ~Q(requested_by=user) & ~Q(approvals__user=user)


def used_by_another(user: User, held: Any, browser: str) -> bool:
    """Whether another person requested or approved ``held`` in this browser, or with a token that was issued there."""
    others = held.approvals.exclude(user=user)
    return bool(browser and (browser == held.requested_in or others.filter(browser=browser).exists()))
