"""Asking for switches: the plan of what is asked for, its checks, and the row that others decide on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import FORCE, OPERATE, REQUEST, may
from hadash.audit.models import record
from hadash.bindings.errors import BindingError
from hadash.inventory.gateways import GatewaySilent
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.mirroring.services import MirrorError
from hadash.radius.scope import Scope
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.approvals import reasons
from hadash.switching.approvals.decisions import run
from hadash.switching.approvals.policy import limits_of, policy_of
from hadash.switching.approvals.windows import check_window
from hadash.switching.execution.effects import CommandHandler
from hadash.switching.machine import (
    Kind,
    Status,
)
from hadash.switching.models import Batch, Switch, log_event
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.planning.proposals import plan_for
from hadash.switching.recovery import restoring
from hadash.switching.refusals import EnginesAway, PlanChanged
from hadash.switching.retirement import terms
from hadash.switching.stages import failover
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.precheck import preflight
from hadash.switching.stages.run import StageFailed


def check_now(plan: Plan) -> None:
    """Run the read-only checks of the precheck.

    :raises Refused: with the first that does not hold. :raises EnginesAway: a server or a Gateway does not answer, or
        not all of them have answered within ``SWITCH_CHECK_SECONDS``.
    """
    deadline = time.monotonic() + settings.SWITCH_CHECK_SECONDS
    check = failover.preflight if plan.kind is Kind.FORCED else preflight
    run = check(plan, limits_of(Pair.objects.get(name=plan.pair)))
    try:
        effects = CommandHandler(plan, None, StageContext(), lambda sentence: None)
        answer: Any = None
        while True:
            command = run.send(answer)
            if time.monotonic() > deadline:
                raise EnginesAway(
                    say(
                        "The checks had not ended after %(seconds)s s: some server is slow. Ask again.",
                        seconds=settings.SWITCH_CHECK_SECONDS,
                    )
                )
            answer = effects.carry_out(command)
    except StopIteration:
        return
    except StageFailed as failure:
        raise Refused(failure.sentence) from None
    except GatewaySilent as error:
        raise EnginesAway(say("%(error)s Ask again when it answers.", error=error)) from None
    except (BindingError, KafkaError, ConnectError, MirrorError) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


@dataclass(frozen=True, slots=True)
class SwitchRequest:
    """Who asks for what, why, and from where."""

    user: User
    pair: Pair
    scope: Scope
    target: Cluster
    reason: str
    address: str | None = None
    #: The one in which it is asked for: nobody approves it there. Empty for a program.
    browser: str = ""
    kind: Kind = Kind.PLANNED
    #: The switch that a restore goes back from.
    restores: Switch | None = None
    #: Of a migration: days from its success until the old Topics are removed; ``None`` for the setting's.
    retire_after_days: int | None = None


def request(
    asked: SwitchRequest,
    window: tuple[datetime, datetime] | None = None,
    digest: str = "",
    ask_for_go: bool = False,
) -> Switch:
    """Ask for a switch that others have to approve.

    :param ask_for_go: whether it waits for somebody's go when all checks hold.
    :param digest: of the plan that was shown; empty for whatever it is now.
    :param window: from when to when it may start; ``None`` for as soon as it is approved.
    :raises PermissionDenied: the user may not request.
    :raises PlanChanged: it is not the plan of ``digest`` any more. :raises Busy: another switch holds part of it.
    :raises Refused: the radius is not closed, a check does not hold, or another switch holds the radius.
    """
    if window is not None:
        check_window(*window)
    plan = _planned(asked, digest)
    expires_at = window[1] if window else timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS)
    with transaction.atomic():
        return _create(
            asked,
            plan,
            # One more than usual for what loses records.
            approvals_needed=policy_of(asked.pair).approvals + (asked.kind is Kind.FORCED),
            ask_for_go=ask_for_go,
            start_at=window[0] if window else None,
            start_until=window[1] if window else None,
            expires_at=expires_at,
        )


def force(
    asked: SwitchRequest,
    confirmed: str,
    window: tuple[datetime, datetime] | None = None,
    digest: str = "",
) -> Switch:
    """Ask for a switch without the source, which is lost. It needs one approval more than others.

    :param confirmed: the lost cluster's name once more, as the person's word that records may be lost.
    :raises PermissionDenied: the user may not force switches. Otherwise as :func:`request`; and refused while the source
        answers.
    """
    if not may(asked.user, FORCE, asked.pair):
        raise PermissionDenied("You may not force switches.")
    lost = asked.pair.other(asked.target).name
    if confirmed.strip() != lost:
        raise Refused(
            say(
                "Type %(cluster)s to confirm that it is lost, and with it what the mirror has not copied.",
                cluster=lost,
            )
        )
    return request(asked, window, digest)


def rehearse(asked: SwitchRequest, start: Callable[[Switch], None], digest: str = "") -> Switch:
    """Go through the checks and measure the mirror without touching a client. Nobody has to approve what changes nothing.

    :raises PermissionDenied: the user may not request. :raises PlanChanged: it is not the plan of ``digest`` any more.
    :raises Busy: another switch holds part of it. :raises Refused: the radius is not closed, or a check does not hold.
    """
    plan = _planned(asked, digest)
    with transaction.atomic():
        held = _create(asked, plan, **_at_once())
        run(held, start)
    return held


def emergency(
    asked: SwitchRequest, confirmed: str, start: Callable[[Switch], None], digest: str = ""
) -> Switch:
    """Switch at once, also in a blackout; somebody else reviews it afterwards.

    :param confirmed: the target's name once more, as the person's word that this cannot wait for an approval.
    :raises PermissionDenied: the user may not operate switches. Otherwise as :func:`rehearse`.
    """
    if not may(asked.user, OPERATE, asked.pair):
        raise PermissionDenied("You may not run switches.")
    if confirmed.strip() != asked.target.name:
        raise Refused(
            say(
                "Type %(cluster)s to confirm that this switch cannot wait for an approval.",
                cluster=asked.target.name,
            )
        )
    plan = _planned(asked, digest)
    with transaction.atomic():
        held = _create(asked, plan, **_at_once())
        log_event(held, say("It runs at once; somebody else has to review it afterwards."))
        run(held, start)
    return held


def _at_once() -> dict[str, Any]:
    return {
        "status": Status.APPROVED.value,
        "approvals_needed": 0,
        "expires_at": timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
    }


def _planned(asked: SwitchRequest, digest: str) -> Plan:
    """The plan of what is asked for, with all that can be checked before anybody decides."""
    user, pair, scope, target = asked.user, asked.pair, asked.scope, asked.target
    if not may(user, REQUEST, pair):
        raise PermissionDenied("You may not request switches.")
    reasons.given(
        asked.reason, say("Say why: the approver reads it, and so does whoever looks at this later.")
    )
    if asked.kind is Kind.RESTORE:
        restoring.check(asked.restores, pair, scope, target)
    if asked.kind is Kind.MIGRATION:
        terms.check(asked.retire_after_days)
    plan = plan_for(pair, scope, target, asked.kind)
    if digest and digest != plan.digest:
        raise PlanChanged(say("The plan has changed since you saw it. Look at it again."))
    check_now(plan)
    return plan


def _create(asked: SwitchRequest, plan: Plan, **values: Any) -> Switch:
    """The row of a new switch. In a transaction. :raises Busy: another switch holds part of its radius."""
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
    """The row of a new switch, when its radius is free. In a transaction.

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
        reason=asked.reason.strip(),
        restores=asked.restores if asked.kind is Kind.RESTORE else None,
        retire_after_days=terms.days_of(asked.retire_after_days) if asked.kind is Kind.MIGRATION else None,
        requested_by=asked.user,
        requested_in=asked.browser,
        **values,
    )
