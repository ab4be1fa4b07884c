"""What people do with a running or stopped switch: let it pause or continue, abort, retry, close."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import OPERATE, may, may_steer
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.bindings.errors import BindingError
from hadash.bindings.model import BindingState
from hadash.inventory.gateways import GatewaySilent, ask_every
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.execution.connections import connected
from hadash.switching.machines.switches import (
    ABORTABLE,
    FIRST,
    Event,
    Stage,
    Status,
)
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.planning.current_bindings import bound_to
from hadash.switching.refusals import EnginesAway
from hadash.switching.signals import switch_ended
from hadash.switching.stages.commands import RecordSeen
from hadash.switching.stages.context import StageContext

# -- what a page offers; each action checks again ----------------------------------------------------------------


def is_abortable(switch: Switch) -> bool:
    """Whether the switch runs and can still be aborted."""
    return switch.current is Status.RUNNING and Stage(switch.stage) in ABORTABLE


def is_pausable(switch: Switch) -> bool:
    """Whether the switch has not moved anybody yet, so that it can still be told to pause when its checks hold."""
    if not switch.the_kind.spec.may_pause or switch.pause_after_precheck or _is_of_a_batch(switch):
        return False
    return switch.current is Status.APPROVED or (
        switch.current is Status.RUNNING and Stage(switch.stage) is Stage.PRECHECK
    )


def _is_of_a_batch(switch: Switch) -> bool:
    """Whether it runs in a wave, which a person stops as a whole."""
    return hasattr(switch, "batch_item") and switch.batch_item is not None


def may_pause(user: User, switch: Switch) -> bool:
    return is_pausable(switch) and may_steer(user, switch.pair)


def may_resume(user: User, switch: Switch) -> bool:
    return switch.allows(Event.RESUME) and may_steer(user, switch.pair)


def may_abort(user: User, switch: Switch) -> bool:
    return is_abortable(switch) and may_steer(user, switch.pair)


def may_retry(user: User, switch: Switch) -> bool:
    return switch.allows(Event.RETRY) and may(user, OPERATE, switch.pair)


# -- the actions -------------------------------------------------------------------------------------------------


def pause(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Let a switch that has not moved anybody yet pause when its checks hold, until somebody resumes it.

    :raises PermissionDenied: ``user`` may neither request nor decide on switches.
    :raises Refused: its clients wait already, it is part of a batch, or its kind never pauses.
    """
    if not may_steer(user, switch.pair):
        raise PermissionDenied("You may not pause switches.")
    with transaction.atomic():
        held = switch.locked()
        if held.open and held.pause_after_precheck:
            return held
        if _is_of_a_batch(held):
            raise Refused(
                say("This switch is part of a batch. Stop the batch: its next switches do not begin then.")
            )
        if not is_pausable(held):
            raise Refused(
                say(
                    "This switch cannot pause any more, as clients would have to wait for a person. "
                    "Abort it to return them to where they were."
                )
                if is_abortable(held)
                else say("This switch cannot pause: only one that has not moved anybody yet can.")
            )
        held.pause_after_precheck = True
        held.save(update_fields=["pause_after_precheck"])
        log_event(
            held,
            say("%(user)s asked it to pause after its checks.", user=user.get_username()),
            held.stage,
            user,
        )
        record(user, "pause", held.subject, address, stage=held.stage)
    return held


def resume(user: User, switch: Switch, start: Callable[[Switch], None], address: str | None = None) -> Switch:
    """Let a paused switch continue. It begins with its checks again, because time has passed.

    :raises PermissionDenied: ``user`` may neither request nor decide on switches. :raises Refused: it is not paused
        (any more).
    """
    if not may_steer(user, switch.pair):
        raise PermissionDenied("You may not resume switches.")
    with transaction.atomic():
        held = switch.locked_and_moved(Event.RESUME)
        waited = timedelta(seconds=settings.SWITCH_RESUME_SECONDS)
        if held.paused_at is not None and held.paused_at + waited < timezone.now():
            raise Refused(say("It was paused for as long as it may be, and is dropped. Ask for it again."))
        held.stage, held.resumed_at, held.pause_after_precheck = FIRST.value, timezone.now(), False
        held.save()
        log_event(held, say("%(user)s resumed it.", user=user.get_username()), held.stage, user)
        record(user, "resume", held.subject, address)
        transaction.on_commit(lambda: start(held))
    return held


def abort(user: User, switch: Switch, address: str | None = None) -> Switch:
    """Ask a running switch to return to the start.

    :raises PermissionDenied: ``user`` may neither request nor decide on switches.
    :raises Refused: it is past forward, where going back is a switch of its own.
    """
    if not may_steer(user, switch.pair):
        raise PermissionDenied("You may not abort switches.")
    with transaction.atomic():
        held = switch.locked()
        if not is_abortable(held):
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
    """Run the stage again in which a switch needs attention. :raises Refused: it does not need attention (any
    more).
    """
    if not may(user, OPERATE, switch.pair):
        raise PermissionDenied("You may not run switches.")
    there = _still_there(switch) if switch.stage == Stage.VERIFY else None
    with transaction.atomic():
        held = switch.locked_and_moved(Event.RETRY)
        held.ended_at = None
        waived: dict[str, list[str]] = {}
        if there is not None:
            context = StageContext(held.facts)
            waived = _waived(context.seen, there)
            context.keep_seen(there)
            held.facts = context.values
        held.save()
        log_event(held, say("%(user)s lets the stage run again.", user=user.get_username()), held.stage, user)
        for what, names in waived.items():
            log_event(held, _WAIVED[what](names), held.stage, user)
        record(user, "retry", held.subject, address, stage=held.stage, **waived)
        transaction.on_commit(lambda: start(held))
    return held


def _still_there(switch: Switch) -> RecordSeen:
    """What a verify that is run again has to see: the clients that are connected now. Clients that were stopped
    meanwhile would otherwise hold up the switch, and with it the way back, for ever.
    """
    plan = switch.the_plan()
    try:
        found = connected(plan, ask_every, settings.SWITCH_ACTIVE_SECONDS)
    except (BindingError, GatewaySilent) as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    there = {plan.who(*name) for name in found}
    return RecordSeen(tuple(sorted(there)), (), ())


#: What is not waited for any more → the sentence that says so.
_WAIVED: dict[str, Callable[[list[str]], Sentence]] = {
    "clients": lambda names: say(
        "Not connected now, and not waited for any more: %(clients)s.", clients=names
    ),
    "groups": lambda names: say(
        "That these groups read is not waited for any more: %(groups)s.", groups=names
    ),
    "activity": lambda names: say("That records move is not waited for any more: %(topics)s.", topics=names),
}


def _waived(before: RecordSeen, there: RecordSeen) -> dict[str, list[str]]:
    """Return what a verify that is run again does not wait for any more, by what it is."""
    found = {
        "clients": sorted(set(before.clients) - set(there.clients)),
        "groups": sorted(set(before.groups) - set(there.groups)),
        "activity": sorted(
            {topic for _kind, topic in before.activity} - {topic for _kind, topic in there.activity}
        ),
    }
    return {what: names for what, names in found.items() if names}


def close_as_it_is(user: User, switch: Switch, reason: str, address: str | None = None) -> Switch:
    """End a switch that needs attention and leave everything as it is, so that its radius is free again.

    :raises Refused: there is no reason, or the switch is incomplete: clients wait, or the mirror is not turned round.
        Then only the stage itself can complete it.
    """
    if not may(user, OPERATE, switch.pair):
        raise PermissionDenied("You may not close switches.")
    reason = reasons.given(reason, say("Say why you close it: others read it later."))
    where = _where_clients_are(switch)
    with transaction.atomic():
        held = switch.locked_and_moved(Event.CLOSE)
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
            reason=reason,
        )
        held.ended_at = timezone.now()
        held.conclude(outcome)
        held.save()
        log_event(held, outcome, held.stage, user)
        switch_ended.send(Switch, switch=held)
        record(user, "close", held.subject, address, stage=held.stage, reason=reason)
    return held


def _where_clients_are(switch: Switch) -> list[str]:
    """The clusters that a switch's identities are bound to. :raises Refused: one of them is being changed."""
    try:
        found = bound_to(switch.pair, switch.the_plan()).values()
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    if any(binding.state is not BindingState.FORWARD for binding in found):
        raise Refused(say("Somebody changes the bindings of this switch at this moment. Try again."))
    return sorted({binding.cluster for binding in found})
