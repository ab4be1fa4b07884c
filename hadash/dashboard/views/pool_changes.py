"""One change of a pool that somebody has asked for: its page, and the actions on it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.roles import DECIDE
from hadash.changes import Status
from hadash.dashboard.views.actions import actions_on, decisions_on
from hadash.dashboard.views.common import typed, user_of
from hadash.pools import applier, decisions
from hadash.pools.models import PoolChange
from hadash.presentation import badges, pools, selectors
from hadash.sentences import Sentence
from hadash.switching.approvals import four_eyes


@require_GET
def change(request: HttpRequest, key: str) -> HttpResponse:
    return _change_page(request, pools.the_change(user_of(request), key))


def _change_page(
    request: HttpRequest,
    found: PoolChange,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    reason: str = "",
) -> HttpResponse:
    user = user_of(request)
    awaiting = found.current is Status.AWAITING_APPROVAL
    approvals = four_eyes.shown(found)
    context = {
        "change": found,
        "state": badges.of_row(found),
        "awaiting": awaiting,
        "writing": found.current is Status.APPROVED,
        "own": found.requested_by_id == user.pk,
        "approvals": approvals,
        "approvals_missing": four_eyes.missing_of(found, len(approvals)),
        "may_decide": decisions.POOL_CHANGES.may_decide(user, found, approvals),
        "may_cancel": decisions.POOL_CHANGES.may_cancel(user, found),
        "deciders": selectors.people_who(
            DECIDE, found.pair, found.requested_by, *(given.user for given in approvals)
        )
        if awaiting
        else [],
        "refusals": refusals or [],
        "typed_reason": reason,
    }
    part = "pools/change_live.html" if request.headers.get("HX-Request") else "pools/change_page.html"
    return render(request, part, context, status=status)


def _refused(request: HttpRequest, found: PoolChange, reasons: list[Sentence]) -> HttpResponse:
    return _change_page(request, found, reasons, 409, typed(request, "reason"))


action = actions_on(pools.the_change, "pool-change", _refused)

approve, decline, cancel = decisions_on(
    action, decisions.POOL_CHANGES, applier.apply, lambda change: _("Approved. It is being written.")
)
