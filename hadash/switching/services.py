"""The only door for changing switches: request, approve, decline, cancel, abort, run, retry, close, end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.utils import timezone

from hadash.audit.models import record, stored
from hadash.bindings.errors import BindingError
from hadash.bindings.model import Binding, BindingState
from hadash.bindings.store import BindingStore
from hadash.inventory.gateways import GatewaySilent, ask_all, ask_every, zookeeper
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
    Stage,
    Status,
    move,
)
from hadash.switching.models import Approval, StageRecord, Switch, log_event
from hadash.switching.plan import Plan, Scope
from hadash.switching.planning import Refused, plan_for
from hadash.switching.policy import MAX_AHEAD, blackout_now, limits_of, policy_of
from hadash.switching.stage_run import StageFailed

#: One lock in the database for everything that decides whether two radii overlap: requests are rare and short.
_RADIUS_LOCK = 0x68616461

#: Seconds of traffic that are kept before and after a switch.
TRAFFIC_MARGIN_SECONDS = 15.0

#: Characters of a comment: a page, not a book.
MAX_COMMENT = 2000

#: AppIDs of one switch whose traffic is kept and drawn: each is a question to every Gateway.
CHARTED_APPIDS = 20


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
        raise Refused(say("%(error)s", error=error)) from None


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
) -> Switch:
    """Ask for a switch.

    :param window: from when to when it may start; ``None`` for as soon as it is approved.
    :raises PermissionDenied: ``user`` may not request.
    :raises Refused: the radius is not closed, a check does not hold, or another switch holds the radius.
    """
    if not user.has_perm("switching.request_switch"):
        raise PermissionDenied("You may not request switches.")
    if not reason.strip():
        raise Refused(say("Say why: the approver reads it, and so does whoever looks at this later."))
    if window is not None:
        _check_window(*window)
    plan = plan_for(pair, scope, target)
    check_now(plan)
    with transaction.atomic():
        _lock_radii()
        other = overlapping(plan)
        if other is not None:
            raise Refused(
                say(
                    "Switch %(key)s of %(scope)s (%(status)s) holds part of this radius. Wait for its end or cancel it.",
                    key=other.key,
                    scope=other.scope,
                    status=other.get_status_display(),
                )
            )
        switch = Switch.objects.create(
            pair=pair,
            appid=scope.appid,
            instance_id=scope.instance_id,
            source=Cluster.objects.get(name=plan.source),
            target=target,
            asked=scope.to_json(),
            plan=plan.to_json(),
            plan_digest=plan.digest,
            reason=reason.strip(),
            requested_by=user,
            approvals_needed=policy_of(pair).approvals,
            start_at=window[0] if window else None,
            start_until=window[1] if window else None,
            expires_at=window[1]
            if window
            else timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
        )
        log_event(switch, say("%(user)s requested the switch.", user=user.get_username()), actor=user)
        record(
            user,
            "request",
            subject(switch),
            address,
            plan=plan.approved(),
            plan_digest=plan.digest,
            reason=switch.reason,
        )
    return switch


def _check_window(begins: datetime, ends: datetime) -> None:
    """:raises Refused: nothing can start then."""
    if ends <= begins:
        raise Refused(say("The end of the window has to be after its beginning."))
    if ends <= timezone.now():
        raise Refused(say("The window is over already."))
    if begins > timezone.now() + MAX_AHEAD:
        raise Refused(say("That is more than a year ahead: is the date right?"))


def _lock_radii() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_RADIUS_LOCK])


def subject(switch: Switch) -> str:
    """A switch as the audit log calls it."""
    return f"switch {switch.key} ({switch.scope}, {switch.source} → {switch.target})"


def approve(
    user: User,
    switch: Switch,
    digest: str,
    start: Callable[[Switch], None],
    address: str | None = None,
    seen: int | None = None,
) -> Switch:
    """Approve the plan with ``digest``. With the last approval that it needs the switch runs, or waits for its window.

    :param seen: how many approvals the person saw; ``None`` when nobody can have been misled.
    :param start: called after the commit with the running switch; the tasks pass what enqueues its first stage.
    :raises PermissionDenied: ``user`` may not decide, or is the requester.
    :raises Refused: it was decided already, has expired, or the plan has changed since it was shown.
    """
    _may_decide(user, switch)
    if digest != switch.plan_digest:
        raise Refused(say("The plan has changed since you saw it. Look at it again."))
    current = plan_for(switch.pair, switch.scope, switch.target)
    if current.digest != switch.plan_digest:
        raise Refused(
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
            raise Refused(say("Somebody else has approved it meanwhile. Look at it again."))
        missing = _add_approval(user, held, digest)
        if missing:
            held.status = Status.AWAITING_APPROVAL.value
        else:
            held.decided_by, held.decided_at = user, timezone.now()
            held.save()
            if held.start_at is None:
                _refuse_in_blackout(held)
                _run(held, start)
            elif held.start_at <= timezone.now() and blackout_now(held.pair) is None:
                _run(held, start)  # else it starts by itself when it may: see start_due
        record(user, "approve", subject(held), address, plan_digest=digest, approvals_missing=missing)
    return held


def _add_approval(user: User, held: Switch, digest: str) -> int:
    """Note one approval; how many are still missing. :raises Refused: this person has approved already."""
    _, new = Approval.objects.get_or_create(switch=held, user=user, defaults={"plan_digest": digest})
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
        log_event(held, say("It starts at %(at)s.", at=_utc(held.start_at)))
    return missing


def _utc(at: datetime) -> str:
    """A time in a sentence, which is read in every time zone."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _refuse_in_blackout(held: Switch) -> None:
    """:raises Refused: nothing of the pair may start now."""
    blackout = blackout_now(held.pair)
    if blackout is not None:
        raise Refused(
            say(
                "Nothing of pair %(pair)s may start before %(ends)s: %(reason)s",
                pair=held.pair,
                ends=_utc(blackout.ends),
                reason=blackout.reason,
            )
        )


def _run(held: Switch, start: Callable[[Switch], None]) -> None:
    """Let an approved switch run. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.RUN).value
    held.stage, held.started_at = FIRST.value, timezone.now()
    held.save()
    transaction.on_commit(lambda: start(held))


def start_due(start: Callable[[Switch], None]) -> int:
    """Start the approved switches whose window has come, and drop those whose window has passed; how many started.

    A switch that was missed is never run late: what was true when people agreed to it may be true no more.
    """
    count = 0
    now = timezone.now()
    for switch in Switch.objects.filter(status=Status.APPROVED.value, start_at__lte=now).select_related(
        "pair"
    ):
        try:
            with transaction.atomic():
                held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
                if held.current is not Status.APPROVED:
                    continue  # somebody was faster
                if held.start_until is not None and held.start_until < timezone.now():
                    _drop(held, say("Its window has passed, and it was not started: it is dropped."))
                    continue
                _refuse_in_blackout(held)
                log_event(held, say("Its window has come."))
                _run(held, start)
                record(None, "start", subject(held))
                count += 1
        except Refused as refused:
            say_once(switch, refused.reasons[0])
    return count


def may_begin(switch: Switch) -> Sentence | None:
    """Why a switch that was let run must not begin any more; ``None`` when it may.

    Between the two there may be hours: without a worker, or without ZooKeeper, nothing begins.
    """
    now = timezone.now()
    if switch.start_until is not None and switch.start_until < now:
        return say("Its window has passed before it could begin.")
    late = settings.SWITCH_BEGIN_SECONDS
    if switch.started_at is not None and (now - switch.started_at).total_seconds() > late:
        return say(
            "It could not begin within %(seconds)s s: what people agreed to then may be true no more. Request it anew.",
            seconds=late,
        )
    blackout = blackout_now(switch.pair)
    if blackout is not None:
        return say(
            "Nothing of pair %(pair)s may start before %(ends)s: %(reason)s",
            pair=switch.pair,
            ends=_utc(blackout.ends),
            reason=blackout.reason,
        )
    return None


def _drop(held: Switch, sentence: Sentence) -> None:
    held.status = move(held.current, Event.EXPIRE).value
    held.ended_at, held.outcome = timezone.now(), sentence.to_json()
    held.save()
    log_event(held, sentence)
    record(None, "expire", subject(held), outcome=str(sentence))


def say_once(switch: Switch, sentence: Sentence) -> None:
    """A line in the log, unless it is its last one already."""
    last = switch.events.order_by("-pk").first()
    if last is None or last.sentence != sentence.to_json():
        log_event(switch, sentence, switch.stage)


def comment(user: User, switch: Switch, text: str, address: str | None = None) -> None:
    """Say something about a switch, for all who look at it.

    :raises PermissionDenied: ``user`` has no part in switches. :raises Refused: nothing is said, or too much.
    """
    if not (user.has_perm("switching.request_switch") or user.has_perm("switching.decide_switch")):
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
        record(user, "comment", subject(switch), address, text=said)


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
        record(user, "decline", subject(held), address, reason=held.decision_note)
    return held


def _may_decide(user: User, switch: Switch) -> None:
    if not user.has_perm("switching.decide_switch"):
        raise PermissionDenied("You may not decide on switches.")
    if user.pk == switch.requested_by_id:
        raise PermissionDenied("You requested this switch: somebody else has to decide on it.")


def cancel(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Take a request back before it runs."""
    if not user.has_perm("switching.request_switch"):
        raise PermissionDenied("You may not cancel switches.")
    with transaction.atomic():
        held = _move(switch, Event.CANCEL)
        held.ended_at = timezone.now()
        held.save()
        log_event(held, say("%(user)s cancelled the request.", user=user.get_username()), actor=user)
        record(user, "cancel", subject(held), address)
    return held


def abort(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Ask a running switch to return to the start.

    :raises Refused: it is past forward, where going back is a switch of its own.
    """
    if not (user.has_perm("switching.request_switch") or user.has_perm("switching.decide_switch")):
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
            record(user, "abort", subject(held), address, stage=held.stage)
    return held


def retry(user: User, switch: Switch, start: Callable[[Switch], None], address: str | None = None) -> Switch:
    """Run the stage again in which a switch asked for a person."""
    if not user.has_perm("switching.request_switch"):
        raise PermissionDenied("You may not run switches.")
    there = _still_there(switch) if switch.stage == Stage.VERIFY else None
    with transaction.atomic():
        held = _move(switch, Event.RETRY)
        held.ended_at = None
        if there is not None:
            held.facts = {**held.facts, "seen": there}
        held.save()
        log_event(held, say("%(user)s lets the stage run again.", user=user.get_username()), held.stage, user)
        record(user, "retry", subject(held), address, stage=held.stage)
        transaction.on_commit(lambda: start(held))
    return held


def _still_there(switch: Switch) -> dict[str, Any]:
    """What a verify that a person lets run again has to see: those that are connected now. Clients that were stopped
    meanwhile would otherwise hold the switch, and with it the way back, for ever."""
    plan = switch.the_plan()
    try:
        found = ask_about(plan, ask_every, "/clients", "clients")
    except (BindingError, GatewaySilent) as error:
        raise Refused(say("%(error)s", error=error)) from None
    there = {plan.who(c["appid"], c["client_id"]) for c in found if plan.covers(c["appid"], c["client_id"])}
    return seen_to_json(RecordSeen(tuple(sorted(there)), (), ()))


def close_as_it_is(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """End a switch that needs attention and leave everything as it is, so that its radius is free again.

    :raises Refused: without a reason, or when something is not whole yet: clients wait, or the mirror has not been
        turned round. Then only the stage itself can go on.
    """
    if not user.has_perm("switching.request_switch"):
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
        record(user, "close", subject(held), address, stage=held.stage, reason=reason.strip())
    return held


def _where_clients_are(switch: Switch) -> list[str]:
    """The clusters that the identities of a switch are bound to. :raises Refused: while one is not forwarded."""
    plan = switch.the_plan()
    try:
        store = BindingStore(zookeeper())
        documents = {appid: store.document(appid) for appid in plan.appids}
    except BindingError as error:
        raise Refused(say("%(error)s", error=error)) from None
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


def record_stages(switch: Switch) -> None:
    """Put the attempts at stages that have ended into the audit log, those that are not there yet.

    Not while clients wait: all entries of the log wait for each other.
    """
    with transaction.atomic():
        ended = StageRecord.objects.select_for_update().filter(
            switch=switch, audited=False, result__in=[StageRecord.Result.DONE, StageRecord.Result.FAILED]
        )
        for attempt in ended.order_by("pk"):
            record(
                None,
                f"stage {attempt.result}",
                subject(switch),
                stage=attempt.stage,
                began=attempt.started_at.isoformat(),
                ended=attempt.ended_at.isoformat() if attempt.ended_at else None,
                said=str(Sentence.from_json(attempt.sentence)),
                token=attempt.token,
                effects=attempt.effects,
            )
            attempt.audited = True
            attempt.save(update_fields=["audited"])


def record_forgotten_stages() -> None:
    """The same for switches whose worker was lost in between."""
    forgotten = StageRecord.objects.filter(
        audited=False,
        result__in=[StageRecord.Result.DONE, StageRecord.Result.FAILED],
        ended_at__lt=timezone.now() - timedelta(seconds=settings.SWITCH_BEGIN_SECONDS),
    )
    for switch in Switch.objects.filter(pk__in=forgotten.values("switch")):
        record_stages(switch)


def end(held: Switch, event: Event, outcome: Sentence) -> None:
    """End a running switch. ``held`` is locked by the caller."""
    held.status = move(held.current, event).value
    held.outcome = outcome.to_json()
    held.ended_at = timezone.now()
    held.save(update_fields=["status", "outcome", "ended_at"])
    record(None, held.status, subject(held), outcome=str(outcome))


def expire_requests() -> int:
    """End the requests that nobody decided on in time; how many."""
    count = 0
    for switch in Switch.objects.filter(status=Status.AWAITING_APPROVAL.value, expires_at__lt=timezone.now()):
        try:
            with transaction.atomic():
                held = _move(switch, Event.EXPIRE)
                held.ended_at = timezone.now()
                held.save()
                log_event(held, say("Nobody decided in time: the request has expired."))
                record(None, "expire", subject(held))
            count += 1
        except Refused:
            continue  # somebody decided in this moment
    return count


# -- traffic ------------------------------------------------------------------------------------------------------


def traffic_since(switch: Switch, since: float) -> list[dict[str, Any]]:
    """Samples of the switch's clients that ended after ``since`` (seconds since 1970), over all Gateways."""
    samples = [
        sample
        for asked in traffic_questions(switch)
        for sample in ask_all("/traffic", "samples", None, since=str(since), **asked)
    ]
    return sorted(samples, key=lambda sample: float(sample["at"]))


def traffic_questions(switch: Switch) -> list[dict[str, str]]:
    """What to ask Gateways for, to get the traffic of a switch's clients: of one InstanceID, or of each AppID."""
    plan = switch.the_plan()
    if len(plan.identities) == 1 and plan.instances:
        (identity,) = plan.identities
        return [{"appid": identity.appid, "instance": identity.instance_id or ""}]
    return [{"appid": appid} for appid in plan.appids[:CHARTED_APPIDS]]


def keep_traffic(switch: Switch) -> None:
    """Keep the samples around a switch that has ended: the Gateways forget them."""
    switch.refresh_from_db()
    if switch.started_at is None:
        return
    samples = traffic_since(switch, switch.started_at.timestamp() - TRAFFIC_MARGIN_SECONDS)
    Switch.objects.filter(pk=switch.pk).update(traffic=samples)
