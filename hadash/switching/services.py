"""The only door for changing switches: request, approve, decline, cancel, abort, run, retry, close, end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.utils import timezone

from hadash.accounts.roles import DECIDE, OPERATE, REQUEST, may
from hadash.audit.models import record, stored
from hadash.bindings.errors import BindingError
from hadash.bindings.model import Binding, BindingState
from hadash.inventory.dialects import dialect_of
from hadash.inventory.gateways import GatewaySilent, ask_every
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.mirroring.services import MirrorError
from hadash.sentences import Sentence, say
from hadash.switching.checks import preflight
from hadash.switching.commands import RecordSeen
from hadash.switching.effects import Effects, Facts, ask_about, seen_to_json
from hadash.switching.machine import (
    ABORTABLE,
    FIRST,
    OPEN,
    Event,
    IllegalMove,
    Kind,
    Stage,
    Status,
    move,
)
from hadash.switching.models import Approval, Switch, log_event
from hadash.switching.plan import Plan, Scope
from hadash.switching.planning import Busy, EnginesAway, PlanChanged, Refused, plan_for
from hadash.switching.policy import blackout_now, limits_of, policy_of
from hadash.switching.stage_run import StageFailed
from hadash.switching.windows import check_window, refuse_in_blackout, run, utc

#: One lock in the database for everything that decides whether two radii overlap: requests are rare and short.
_RADIUS_LOCK = 0x68616461

#: Characters of a comment: a page, not a book.
MAX_COMMENT = 2000


# -- planning -----------------------------------------------------------------------------------------------------


def check_now(plan: Plan) -> None:
    """Run the read-only checks of the precheck. :raises Refused: with what stands against the switch."""
    run = preflight(plan, limits_of(Pair.objects.get(name=plan.pair)))
    try:
        effects = Effects(plan, None, Facts(), lambda sentence: None)
        answer: Any = None
        while True:
            answer = effects.carry_out(run.send(answer))
    except StopIteration:
        return
    except StageFailed as failure:
        raise Refused(failure.sentence) from None
    except (BindingError, KafkaError, ConnectError, MirrorError) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


def overlapping(plan: Plan) -> Switch | None:
    """An open switch that touches the same Topics, groups or identities."""
    for switch in Switch.objects.filter(pair__name=plan.pair, status__in=[s.value for s in OPEN]):
        if plan.overlaps(switch.the_plan()):
            return switch
    return None


# -- asking and deciding ------------------------------------------------------------------------------------------


def request(
    user: User,
    pair: Pair,
    scope: Scope,
    target: Cluster,
    reason: str,
    address: str | None = None,
    window: tuple[datetime, datetime] | None = None,
    browser: str = "",
    digest: str = "",
    ask_for_go: bool = False,
) -> Switch:
    """Ask for a planned switch.

    :param ask_for_go: whether it waits for somebody's go when all checks hold.
    :param browser: the one in which it is asked for: nobody approves it there.
    :param digest: of the plan that was shown; empty for whatever it is now.
    :param window: from when to when it may start; ``None`` for as soon as it is approved.
    :raises PermissionDenied: ``user`` may not request.
    :raises PlanChanged: it is not the plan of ``digest`` any more. :raises Busy: another switch holds part of it.
    :raises Refused: the radius is not closed, a check does not hold, or another switch holds the radius.
    """
    if window is not None:
        check_window(*window)
    asked = Asked(user, pair, scope, target, reason, address, browser)
    with transaction.atomic():
        return _create(
            asked,
            _planned(asked, digest),
            approvals_needed=policy_of(pair).approvals,
            ask_for_go=ask_for_go,
            start_at=window[0] if window else None,
            start_until=window[1] if window else None,
            expires_at=window[1]
            if window
            else timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, why, and from where."""

    user: User
    pair: Pair
    scope: Scope
    target: Cluster
    reason: str
    address: str | None = None
    browser: str = ""


def rehearse(asked: Asked, start: Callable[[Switch], None], digest: str = "") -> Switch:
    """Go through the checks and measure the mirror without touching a client. Nobody has to approve what changes nothing.

    :raises PermissionDenied: the user may not request. :raises PlanChanged: it is not the plan of ``digest`` any more.
    :raises Busy: another switch holds part of it. :raises Refused: the radius is not closed, or a check does not hold.
    """
    plan = _planned(asked, digest)
    with transaction.atomic():
        held = _create(asked, plan, **_at_once(Kind.REHEARSAL))
        run(held, start)
    return held


def emergency(asked: Asked, confirmed: str, start: Callable[[Switch], None], digest: str = "") -> Switch:
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
        held = _create(asked, plan, **_at_once(Kind.EMERGENCY))
        log_event(held, say("It runs at once; somebody else has to review it afterwards."))
        run(held, start)
    return held


def _at_once(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.value,
        "status": Status.APPROVED.value,
        "approvals_needed": 0,
        "expires_at": timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
    }


def _planned(asked: Asked, digest: str) -> Plan:
    """The plan of what is asked for, with all that can be checked before anybody decides."""
    user, pair, scope, target = asked.user, asked.pair, asked.scope, asked.target
    if not may(user, REQUEST, pair):
        raise PermissionDenied("You may not request switches.")
    if not asked.reason.strip():
        raise Refused(say("Say why: the approver reads it, and so does whoever looks at this later."))
    plan = plan_for(pair, scope, target)
    if digest and digest != plan.digest:
        raise PlanChanged(say("The plan has changed since you saw it. Look at it again."))
    check_now(plan)
    return plan


def _create(asked: Asked, plan: Plan, **values: Any) -> Switch:
    """The row of a new switch. In a transaction. :raises Busy: another switch holds part of its radius."""
    _lock_radii()
    other = overlapping(plan)
    if other is not None:
        raise Busy(
            say(
                "Switch %(key)s of %(scope)s (%(status)s) holds part of this radius. Wait for its end or cancel it.",
                key=other.key,
                scope=other.scope,
                status=other.get_status_display(),
            )
        )
    user, scope = asked.user, asked.scope
    switch = Switch.objects.create(
        pair=asked.pair,
        appid=scope.appid,
        instance_id=scope.instance_id,
        source=Cluster.objects.get(name=plan.source),
        target=asked.target,
        asked=scope.to_json(),
        plan=plan.to_json(),
        plan_digest=plan.digest,
        reason=asked.reason.strip(),
        requested_by=user,
        requested_in=asked.browser,
        **values,
    )
    log_event(switch, say("%(user)s requested the switch.", user=user.get_username()), actor=user)
    record(
        user,
        "request",
        switch.subject,
        asked.address,
        kind=switch.kind,
        plan=plan.approved(),
        plan_digest=plan.digest,
        reason=switch.reason,
    )
    return switch


def _lock_radii() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_RADIUS_LOCK])


def approve(
    user: User,
    switch: Switch,
    digest: str,
    start: Callable[[Switch], None],
    address: str | None = None,
    seen: int | None = None,
    browser: str = "",
) -> Switch:
    """Approve the plan with ``digest``. With the last approval that it needs the switch runs, or waits for its window.

    :param seen: how many approvals the person saw; ``None`` when nobody can have been misled.
    :param start: called after the commit with the running switch; the tasks pass what enqueues its first stage.
    :raises PermissionDenied: ``user`` may not decide, or is the requester.
    :raises Refused: it was decided already, has expired, or the plan has changed since it was shown.
    """
    _may_decide(user, switch)
    if digest != switch.plan_digest:
        raise PlanChanged(say("The plan has changed since you saw it. Look at it again."))
    current = plan_for(switch.pair, switch.scope, switch.target)
    if current.digest != switch.plan_digest:
        raise PlanChanged(
            say(
                "What would move has changed since the request (now: %(topics)s). Decline it and request it anew.",
                topics=current.topics,
            )
        )
    with transaction.atomic():
        held = _move(switch, Event.APPROVE)
        if held.expires_at < timezone.now():
            raise Refused(say("This request has expired. Ask for the switch anew."))
        if seen is not None and seen != held.approvals.count():
            raise PlanChanged(say("Somebody else has approved it meanwhile. Look at it again."))
        missing = _add_approval(user, held, digest, browser)
        if missing:
            held.status = Status.AWAITING_APPROVAL.value
        else:
            held.decided_by, held.decided_at = user, timezone.now()
            held.save()
            if held.start_at is None:
                refuse_in_blackout(held.pair)
                run(held, start)
            elif held.start_at <= timezone.now() and blackout_now(held.pair) is None:
                run(held, start)  # else it starts by itself when it may: see start_due
        record(user, "approve", held.subject, address, plan_digest=digest, approvals_missing=missing)
    return held


def _add_approval(user: User, held: Switch, digest: str, browser: str) -> int:
    """Note one approval; how many are still missing.

    :raises Refused: this person has approved already, or another one who has a part in it sat at the same browser.
    """
    others = held.approvals.exclude(user=user)
    if browser and (browser == held.requested_in or others.filter(browser=browser).exists()):
        raise Refused(
            say(
                "This browser was used to request or approve it already, with another account. "
                "Approve it in a browser of your own."
            )
        )
    _, new = Approval.objects.get_or_create(
        switch=held, user=user, defaults={"plan_digest": digest, "browser": browser}
    )
    missing = max(held.approvals_needed - held.approvals.count(), 0)
    if not new:
        raise Refused(
            say(
                "You have approved it already; somebody else has to, too (%(missing)s missing).",
                missing=missing,
            )
        )
    log_event(held, say("%(user)s approved the switch.", user=user.get_username()), actor=user)
    if missing:
        log_event(held, say("It needs %(missing)s more.", missing=missing))
    elif held.start_at is not None and held.start_at > timezone.now():
        log_event(held, say("It starts at %(at)s.", at=utc(held.start_at)))
    return missing


def comment(user: User, switch: Switch, text: str, address: str | None = None) -> None:
    """Say something about a switch, for all who look at it.

    :raises PermissionDenied: ``user`` has no part in switches. :raises Refused: nothing is said, or too much.
    """
    if not (may(user, REQUEST, switch.pair) or may(user, DECIDE, switch.pair)):
        raise PermissionDenied("You may not comment on switches.")
    said = str(stored(text)).strip()
    if not said:
        raise Refused(say("Type what you want to say."))
    if len(said) > MAX_COMMENT:
        raise Refused(
            say("That is %(length)s characters; at most %(most)s fit.", length=len(said), most=MAX_COMMENT)
        )
    with transaction.atomic():
        log_event(switch, say("“%(text)s”", text=said), actor=user)
        record(user, "comment", switch.subject, address, text=said)


def decline(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """Decline a request. :raises Refused: without a reason, or when it was decided already."""
    _may_decide(user, switch)
    if not reason.strip():
        raise Refused(say("Say why you decline: the requester reads it."))
    with transaction.atomic():
        held = _move(switch, Event.DECLINE)
        held.decided_by, held.decided_at, held.ended_at = user, timezone.now(), timezone.now()
        held.decision_note = reason.strip()
        held.save()
        log_event(
            held,
            say(
                "%(user)s declined the switch: %(reason)s",
                user=user.get_username(),
                reason=held.decision_note,
            ),
            actor=user,
        )
        record(user, "decline", held.subject, address, reason=held.decision_note)
    return held


def _may_decide(user: User, switch: Switch) -> None:
    if not may(user, DECIDE, switch.pair):
        raise PermissionDenied("You may not decide on switches.")
    if user.pk == switch.requested_by_id:
        raise PermissionDenied("You requested this switch: somebody else has to decide on it.")


def cancel(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Take a request back before it runs."""
    if not may(user, REQUEST, switch.pair):
        raise PermissionDenied("You may not cancel switches.")
    with transaction.atomic():
        held = _move(switch, Event.CANCEL)
        held.ended_at = timezone.now()
        held.outcome = say("%(user)s cancelled it. Nothing was changed.", user=user.get_username()).to_json()
        held.save()
        log_event(held, say("%(user)s cancelled the request.", user=user.get_username()), actor=user)
        record(user, "cancel", held.subject, address)
    return held


def pause(held: Switch) -> None:
    """Wait for a person's go: all checks hold, and no client has noticed anything. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.PAUSE).value
    held.paused_at = timezone.now()
    held.save(update_fields=["status", "paused_at"])
    until = held.paused_at + timedelta(seconds=settings.SWITCH_GO_SECONDS)
    log_event(
        held, say("All is ready. It waits for somebody's go until %(until)s.", until=utc(until)), held.stage
    )


def go(user: User, switch: Switch, start: Callable[[Switch], None], address: str | None = None) -> Switch:
    """Let a switch go on that waits for it. It begins with its checks once more: time has passed.

    :raises PermissionDenied: ``user`` has no part in switches. :raises Refused: it does not wait (any more).
    """
    if not (may(user, REQUEST, switch.pair) or may(user, DECIDE, switch.pair)):
        raise PermissionDenied("You may not let switches go on.")
    with transaction.atomic():
        held = _move(switch, Event.GO)
        held.stage, held.go_at = FIRST.value, timezone.now()
        held.save()
        log_event(held, say("%(user)s lets it go on.", user=user.get_username()), held.stage, user)
        record(user, "go", held.subject, address)
        transaction.on_commit(lambda: start(held))
    return held


def review(user: User, switch: Switch, note: str, address: str | None = None) -> Switch:
    """Say afterwards what is to be said of an emergency.

    :raises PermissionDenied: ``user`` may not decide, or is the one who ran it.
    :raises Refused: without a word, or when there is nothing to review (any more).
    """
    _may_decide(user, switch)
    if not note.strip():
        raise Refused(say("Say what you found: whoever looks at this later reads it."))
    with transaction.atomic():
        held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
        if not held.to_be_reviewed:
            raise Refused(say("This switch is not to be reviewed."))
        held.reviewed_by, held.reviewed_at, held.review_note = user, timezone.now(), note.strip()
        held.save(update_fields=["reviewed_by", "reviewed_at", "review_note"])
        sentence = say("%(user)s reviewed it: %(note)s", user=user.get_username(), note=held.review_note)
        log_event(held, sentence, actor=user)
        record(user, "review", held.subject, address, note=held.review_note)
    return held


def abort(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Ask a running switch to return to the start.

    :raises Refused: it is past forward, where going back is a switch of its own.
    """
    if not (may(user, REQUEST, switch.pair) or may(user, DECIDE, switch.pair)):
        raise PermissionDenied("You may not abort switches.")
    with transaction.atomic():
        held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
        if held.current is not Status.RUNNING or Stage(held.stage) not in ABORTABLE:
            raise Refused(
                say("This switch cannot be aborted any more. When it has ended you can switch back.")
            )
        if held.abort_requested_by_id is None:
            held.abort_requested_by = user
            held.save(update_fields=["abort_requested_by"])
            log_event(held, say("%(user)s asked to abort.", user=user.get_username()), held.stage, user)
            record(user, "abort", held.subject, address, stage=held.stage)
    return held


def retry(user: User, switch: Switch, start: Callable[[Switch], None], address: str | None = None) -> Switch:
    """Run the stage again in which a switch asked for a person."""
    if not may(user, OPERATE, switch.pair):
        raise PermissionDenied("You may not run switches.")
    there = _still_there(switch) if switch.stage == Stage.VERIFY else None
    with transaction.atomic():
        held = _move(switch, Event.RETRY)
        held.ended_at = None
        if there is not None:
            held.facts = {**held.facts, "seen": there}
        held.save()
        log_event(held, say("%(user)s lets the stage run again.", user=user.get_username()), held.stage, user)
        record(user, "retry", held.subject, address, stage=held.stage)
        transaction.on_commit(lambda: start(held))
    return held


def _still_there(switch: Switch) -> dict[str, Any]:
    """What a verify that a person lets run again has to see: those that are connected now. Clients that were stopped
    meanwhile would otherwise hold the switch, and with it the way back, for ever."""
    plan = switch.the_plan()
    try:
        found = ask_about(plan, ask_every, "/clients", "clients")
    except (BindingError, GatewaySilent) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    there = {plan.who(c["appid"], c["client_id"]) for c in found if plan.covers(c["appid"], c["client_id"])}
    return seen_to_json(RecordSeen(tuple(sorted(there)), (), ()))


def close_as_it_is(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """End a switch that needs attention and leave everything as it is, so that its radius is free again.

    :raises Refused: without a reason, or when something is not whole yet: clients wait, or the mirror has not been
        turned round. Then only the stage itself can go on.
    """
    if not may(user, OPERATE, switch.pair):
        raise PermissionDenied("You may not close switches.")
    if not reason.strip():
        raise Refused(say("Say why you close it: whoever looks at this later reads it."))
    where = _where_clients_are(switch)
    with transaction.atomic():
        held = _move(switch, Event.CLOSE)
        if held.stage != Stage.VERIFY:
            raise Refused(
                say(
                    "The stage “%(stage)s” has to be completed first: until then clients wait or the mirror does not "
                    "follow them. Repair the cause and let it run again.",
                    stage=held.stage,
                )
            )
        outcome = say(
            "%(user)s closed it, with %(scope)s on %(clusters)s: %(reason)s",
            user=user.get_username(),
            scope=switch.scope,
            clusters=where,
            reason=reason.strip(),
        )
        held.outcome, held.ended_at = outcome.to_json(), timezone.now()
        held.save()
        log_event(held, outcome, held.stage, user)
        record(user, "close", held.subject, address, stage=held.stage, reason=reason.strip())
    return held


def _where_clients_are(switch: Switch) -> list[str]:
    """The clusters that the identities of a switch are bound to. :raises Refused: while one is not forwarded."""
    plan = switch.the_plan()
    try:
        bindings = dialect_of(switch.pair)
        documents = {appid: bindings.document(appid) for appid in plan.appids}
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    default = Binding(switch.pair.default.name)
    found = [
        documents[i.appid].binding_of(i) or documents[i.appid].default or default for i in plan.identities
    ]
    if any(binding.state is not BindingState.FORWARD for binding in found):
        raise Refused(say("Somebody changes the bindings of this switch at this moment. Try again."))
    return sorted({binding.cluster for binding in found})


def _move(switch: Switch, event: Event) -> Switch:
    """The locked row with its new status, not saved yet. :raises Refused: the status does not allow it."""
    held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
    try:
        held.status = move(held.current, event).value
    except IllegalMove:
        raise Refused(
            say(
                "This switch is %(status)s: it cannot be changed that way any more.",
                status=held.get_status_display(),
            )
        ) from None
    return held


def end(held: Switch, event: Event, outcome: Sentence) -> None:
    """End a running switch. ``held`` is locked by the caller."""
    held.status = move(held.current, event).value
    held.outcome = outcome.to_json()
    held.ended_at = timezone.now()
    held.save(update_fields=["status", "outcome", "ended_at"])
    record(None, held.status, held.subject, outcome=str(outcome))
