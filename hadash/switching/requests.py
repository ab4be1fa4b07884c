"""Requests for switches: making the plan, checking it, and creating the row that others decide on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash import confirmations
from hadash.accounts.roles import REQUEST, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.inventory.models import Cluster, Pair
from hadash.radius.scope import Scope
from hadash.sentences import Sentence, say
from hadash.switching import checking
from hadash.switching.approvals.decisions import run
from hadash.switching.approvals.windows import check_window
from hadash.switching.machines.switches import (
    Kind,
    Status,
)
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.planning.proposals import plan_for
from hadash.switching.policy import policy_of
from hadash.switching.recovery import restoring
from hadash.switching.refusals import PlanChanged
from hadash.switching.retirement import terms


@dataclass(frozen=True, slots=True)
class SwitchRequest:
    """A request for a switch: the person, the scope and target, the reason, and the person's address."""

    user: User
    pair: Pair
    scope: Scope
    target: Cluster
    reason: str
    address: str | None = None
    #: The browser of the request: nobody can approve it there. Empty for a program.
    browser: str = ""
    kind: Kind = Kind.PLANNED
    #: The switch that a restore goes back from.
    restores: Switch | None = None
    #: Of a migration: days from its success until the old Topics are removed; ``None`` for the setting.
    retire_after_days: int | None = None


def submit(
    asked: SwitchRequest,
    start: Callable[[Switch], None],
    window: tuple[datetime, datetime] | None = None,
    digest: str = "",
    *,
    confirmed: str = "",
    pause_after_precheck: bool = False,
) -> Switch:
    """Request a switch. It waits for approvals, or runs at once if its kind does
    (:data:`~hadash.switching.machines.switches.KINDS`).

    :param start: called after the commit with a switch that runs at once.
    :param window: the earliest and latest start; ``None``: as soon as it is approved. Ignored for kinds that run at
        once.
    :param digest: of the plan that was shown; empty accepts the current plan.
    :param confirmed: the cluster's name, typed again, where the kind asks for it: the person confirms that the
        source is lost, or that this cannot wait for an approval.
    :param pause_after_precheck: whether it pauses when all checks hold, until somebody resumes it; ignored for kinds
        that never wait.
    :raises PermissionDenied: the user may not ask for a switch of this kind.
    :raises PlanChanged: the plan is no longer that of ``digest``. :raises Busy: another switch holds part of it.
    :raises Refused: the radius is not closed, a check fails, or the confirmation is missing.
    """
    spec = asked.kind.spec
    _check_permission(asked)
    _check_confirmation(asked, confirmed)
    if window is not None and not spec.at_once:
        check_window(*window)
    asked = replace(asked, reason=reasons.for_requesting(asked.reason))
    plan = _planned(asked, digest)
    later = timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS)
    with transaction.atomic():
        if not spec.at_once:
            return _create(
                asked,
                plan,
                approvals_needed=policy_of(asked.pair).approvals + spec.more_approvals,
                pause_after_precheck=pause_after_precheck and spec.may_pause,
                start_at=window[0] if window else None,
                start_until=window[1] if window else None,
                expires_at=window[1] if window else later,
            )
        held = _create(
            asked, plan, status=Switch.MACHINE.begin(Status.APPROVED), approvals_needed=0, expires_at=later
        )
        if spec.reviewed:
            log_event(held, say("It runs at once; somebody else has to review it afterwards."))
        run(held, start)
    return held


def _check_permission(asked: SwitchRequest) -> None:
    """:raises PermissionDenied: the user may not ask for a switch of this kind."""
    spec = asked.kind.spec
    if not may(asked.user, f"switching.{spec.permission}", asked.pair):
        raise PermissionDenied(spec.denial)
    if not may(asked.user, REQUEST, asked.pair):
        raise PermissionDenied("You may not request switches.")


def _check_confirmation(asked: SwitchRequest, confirmed: str) -> None:
    """:raises Refused: the cluster's name that the kind asks for was not typed."""
    spec = asked.kind.spec
    if spec.confirm:
        cluster = asked.target if spec.confirm == "target" else asked.pair.other(asked.target)
        refusal = Sentence(spec.unconfirmed.text, {"cluster": cluster.name})
        confirmations.require(confirmed, cluster.name, refusal)


def _planned(asked: SwitchRequest, digest: str) -> Plan:
    """The plan of a request, after every check that can be made before anybody decides."""
    pair, scope, target = asked.pair, asked.scope, asked.target
    if asked.kind.spec.goes_back:
        restoring.check(asked.restores, pair, scope, target)
    if asked.kind.spec.removes_old_topics:
        terms.check(asked.retire_after_days)
    plan = plan_for(pair, scope, target, asked.kind)
    if digest and digest != plan.digest:
        raise PlanChanged(say("The plan has changed since you saw it. Look at it again."))
    checking.check_now(plan)
    return plan


def _create(asked: SwitchRequest, plan: Plan, **values: Any) -> Switch:
    """Create the row of a new switch and its log entries, in a transaction. :raises Busy: its radius is held."""
    switch = create_row(asked, plan, **values)
    user = asked.user
    log_event(switch, say("%(user)s requested the switch.", user=user.get_username()), actor=user)
    if switch.restores is not None:
        log_event(switch, say("It goes back from switch %(key)s.", key=switch.restores.key))
    if switch.retire_after_days is not None:
        log_event(switch, terms.said(switch))
    record(
        user,
        "request",
        switch.subject,
        asked.address,
        kind=switch.kind,
        restores=switch.restores.key if switch.restores is not None else None,
        retire_after_days=switch.retire_after_days,
        plan=plan.approved(),
        plan_digest=plan.digest,
        reason=switch.reason,
    )
    return switch


def create_row(asked: SwitchRequest, plan: Plan, besides: Batch | None = None, **values: Any) -> Switch:
    """Create the row of a new switch if its radius is free, in a transaction.

    :param besides: the batch that it belongs to. :raises Busy: a switch or another batch holds part of its radius.
    """
    overlaps.lock()
    overlaps.refuse_overlap(plan, besides)
    overlaps.refuse_while_bound_by_hand(plan)
    scope = asked.scope
    return Switch.objects.create(
        kind=asked.kind.value,
        pair=asked.pair,
        appid=scope.appid,
        instance_id=scope.instance_id,
        source=Cluster.objects.get(name=plan.source),
        target=asked.target,
        asked=scope.to_json(),
        plan=plan.to_json(),
        plan_digest=plan.digest,
        reason=asked.reason,
        restores=asked.restores if asked.kind.spec.goes_back else None,
        retire_after_days=terms.days_of(asked.retire_after_days)
        if asked.kind.spec.removes_old_topics
        else None,
        requested_by=asked.user,
        requested_in=asked.browser,
        **values,
    )
