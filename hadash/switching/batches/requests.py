"""Requests for batches: creating the rows that others decide on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import REQUEST, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.windows import check_window
from hadash.switching.batches.plans import BatchPlan, Row, Wanted, build_batch_plan
from hadash.switching.models.batches import Batch, BatchItem, tell
from hadash.switching.planning import overlaps
from hadash.switching.planning.overlaps import holders, index_of
from hadash.switching.policy import policy_of
from hadash.switching.refusals import Busy, PlanChanged

#: The most radii that a refusal names, and the most reasons that it gives; the preview has all of them.
_NAMED, _REASONS = 5, 20


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A request for a batch: the person, what is wanted, the reason, and the person's address."""

    user: User
    wanted: Wanted
    reason: str
    address: str | None = None
    #: The browser of the request: nobody can approve it there. Empty for a program.
    browser: str = ""


def request(asked: BatchRequest, window: tuple[datetime, datetime] | None = None, digest: str = "") -> Batch:
    """Request a batch that others have to approve.

    :param window: when its switches may start, and until when; ``None``: as soon as it is approved, without an end.
    :param digest: of the plan that was shown; empty accepts the current one.
    :raises PermissionDenied: the user may not request. :raises PlanChanged: the plan is not the one that was shown any
        more.
    :raises Busy: something else holds part of it. :raises Refused: some of it cannot move, or nothing is left.
    """
    pair = asked.wanted.pair
    if not may(asked.user, REQUEST, pair):
        raise PermissionDenied("You may not request switches.")
    asked = replace(asked, reason=reasons.for_requesting(asked.reason))
    if window is not None:
        check_window(*window)
    drawn = build_batch_plan(asked.wanted)
    if digest and digest != drawn.digest:
        raise PlanChanged(say("What would move has changed since you saw it. Look at it again."))
    if drawn.against:
        raise Refused(*_against(drawn.against, len(drawn.rows)))
    if not drawn.moving:
        raise Refused(say("There is nothing that could move."))
    with transaction.atomic():
        overlaps.lock()
        held = index_of(holders(pair.name))
        for row in drawn.moving:
            holder = held.first(row.plan)
            if holder is not None:
                raise Busy(holder.sentence)
        return _create(asked, drawn, window)


def _against(rows: list[Row], count: int) -> list[Sentence]:
    """What blocks a batch: the radii that cannot move, and each reason once."""
    names = [str(row.plan.scope) for row in rows[:_NAMED]]
    reasons = {str(reason): reason for row in rows for reason in row.blockers}
    return [
        say(
            "%(some)s of %(all)s radii cannot move (%(names)s). Repair what blocks them, or leave them out.",
            some=len(rows),
            all=count,
            names=[*names, "…"] if len(rows) > _NAMED else names,
        ),
        *list(reasons.values())[:_REASONS],
    ]


def _create(asked: BatchRequest, drawn: BatchPlan, window: tuple[datetime, datetime] | None) -> Batch:
    user, wanted = asked.user, asked.wanted
    batch = Batch.objects.create(
        pair=wanted.pair,
        source=drawn.source,
        target=wanted.target,
        reason=asked.reason,
        parallelism=wanted.parallelism,
        digest=drawn.digest,
        requested_by=user,
        requested_in=asked.browser,
        approvals_needed=policy_of(wanted.pair).approvals,
        start_at=window[0] if window else None,
        start_until=window[1] if window else None,
        expires_at=window[1] if window else timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
    )
    items = drawn.items()
    for item in items:
        item.batch = batch
    BatchItem.objects.bulk_create(items)
    tell(
        batch,
        say(
            "%(user)s requested the batch (radii: %(count)s, waves: %(waves)s).",
            user=user.get_username(),
            count=len(drawn.moving),
            waves=len(drawn.waves),
        ),
        user,
    )
    record(
        user,
        "request",
        batch.subject,
        asked.address,
        reason=batch.reason,
        digest=batch.digest,
        parallelism=batch.parallelism,
        radii=[[row.wave, str(row.plan.scope), row.plan.digest] for row in drawn.moving],
        left_out=[str(row.plan.scope) for row in drawn.left_out],
    )
    return batch
