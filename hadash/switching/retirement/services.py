"""The only code that changes a retirement's status: decisions of people, and what happens by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from hadash import confirmations
from hadash.accounts.roles import OPERATE, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.inventory.selectors import without_access
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.windows import nothing_may_start, refuse_in_blackout, utc
from hadash.switching.machines.retirements import MOVES, OPEN, Event, Status
from hadash.switching.machines.switches import Status as SwitchStatus
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy
from hadash.switching.retirement.terms import days_of

#: Hands a running retirement to a worker.
Start = Callable[[Retirement], None]


# -- with its switch -----------------------------------------------------------------------------------------------


def switch_ended(held: Switch) -> None:
    """Schedule the retirement of a migration that has succeeded; keep the old Topics of one that was gone back from.

    Called in the transaction that ends the switch.
    """
    if held.the_kind.spec.removes_old_topics and held.current is SwitchStatus.SUCCEEDED:
        ended = held.ended_at or timezone.now()
        days = days_of(held.retire_after_days)
        made, new = Retirement.objects.get_or_create(
            switch=held, defaults={"due_at": ended + timedelta(days=days)}
        )
        if new:
            log_event(
                held,
                say(
                    "The old Topics on %(cluster)s are removed on %(at)s.",
                    cluster=held.source,
                    at=utc(made.due_at),
                ),
            )
    if held.the_kind.spec.goes_back and held.current in (SwitchStatus.SUCCEEDED, SwitchStatus.CLOSED):
        found = Retirement.objects.select_for_update(of=("self",)).filter(switch=held.restores).first()
        # (It cannot be running: it and the restore would hold the same radius.)
        if found is not None and Event.KEEP in MOVES[found.current]:
            _keep(found, None, say("Switch %(key)s went back: the old Topics stay.", key=held.key), None)


# -- what people decide --------------------------------------------------------------------------------------------


def postpone(user: Any, switch: Switch, days: int, reason: str, address: str | None = None) -> Retirement:
    """Postpone the removal of the old Topics by ``days``.

    :raises PermissionDenied: ``user`` may not operate switches.
    :raises Refused: there is no reason, too many or too few days, or nothing to postpone (any more).
    """
    _check_may_decide(user, switch)
    reason = _reasoned(reason)
    least, most = settings.RETIREMENT_MIN_DAYS, settings.RETIREMENT_MAX_DAYS
    if not least <= days <= most:
        raise Refused(
            say("It can be postponed by %(least)s to %(most)s days at once.", least=least, most=most)
        )
    with transaction.atomic():
        held = _locked(switch)
        held.move_or_refuse(Event.POSTPONE)
        before = held.due_at
        held.due_at = max(held.due_at, timezone.now()) + timedelta(days=days)
        held.postponed += 1
        said = say(
            "%(user)s postponed the removal of the old Topics to %(at)s: %(reason)s",
            user=user.get_username(),
            at=utc(held.due_at),
            reason=reason,
        )
        _decided(held, user, said)
        record(
            user,
            "postpone",
            switch.subject,
            address,
            days=days,
            reason=reason,
            before=before.isoformat(),
            after=held.due_at.isoformat(),
        )
    return held


def keep(user: Any, switch: Switch, reason: str, address: str | None = None) -> Retirement:
    """Keep the old Topics for good: the retirement has ended. Errors as for :func:`postpone`."""
    _check_may_decide(user, switch)
    reason = _reasoned(reason)
    with transaction.atomic():
        held = _locked(switch)
        said = say(
            "%(user)s keeps the old Topics on %(cluster)s: %(reason)s",
            user=user.get_username(),
            cluster=switch.source,
            reason=reason,
        )
        _keep(held, user, said, address)
    return held


def retire_now(
    user: Any, switch: Switch, confirmed: str, start: Start, address: str | None = None
) -> Retirement:
    """Remove the old Topics before their day, or after a person has cleared away what blocked it.

    :param confirmed: the old cluster's name, typed again to confirm that these Topics are to be deleted there.
    :param start: called after the commit; it hands the removal to a worker.
    :raises PermissionDenied: ``user`` may not operate switches.
    :raises Busy: a switch holds the radius. :raises Refused: it is not confirmed, there is a blackout, or it has
        ended.
    """
    _check_may_decide(user, switch)
    unconfirmed = say(
        "Type %(cluster)s to confirm that its old Topics are to be deleted.", cluster=switch.source
    )
    confirmations.require(confirmed, switch.source.name, unconfirmed)
    return _begin(switch, user, start, address)


def may_decide(user: Any, switch: Switch) -> bool:
    """Whether ``user`` may decide what becomes of a switch's old Topics."""
    return may(user, OPERATE, switch.pair)


def may_retire(user: Any, switch: Switch, held: Retirement | None) -> bool:
    """Whether ``user`` may have the old Topics removed now."""
    return held is not None and held.allows(Event.RETIRE) and may_decide(user, switch)


def _check_may_decide(user: Any, switch: Switch) -> None:
    if not may_decide(user, switch):
        raise PermissionDenied("You may not decide on old Topics.")


def _reasoned(reason: str) -> str:
    return reasons.given(reason, say("Say why: others read it later."))


# -- what happens by itself ----------------------------------------------------------------------------------------


def begin_due(start: Start) -> int:
    """Begin the removals that are due, and return how many. None begins in a blackout; a blocked one fails."""
    due = Retirement.objects.filter(status=Status.WAITING.value, due_at__lte=timezone.now())
    count = 0
    for retirement in due.select_related("switch__pair"):
        switch = retirement.switch
        if nothing_may_start(switch.pair) is not None:
            continue
        try:
            _begin(switch, None, start, None)
            count += 1
        except Busy as busy:
            with transaction.atomic():
                held = _locked(switch)
                if held.current is Status.WAITING:
                    fail(held, busy.reasons[0])
        except Refused:
            continue  # a person has just decided otherwise
    return count


def orphans() -> list[Retirement]:
    """Running retirements whose worker has given no sign of life. In a blackout they wait for its end."""
    silent = Retirement.objects.filter(status=Status.RUNNING.value, lease_until__lt=Now())
    return [one for one in silent.select_related("switch__pair") if not nothing_may_start(one.switch.pair)]


def lease() -> Any:
    """The time until which a worker counts as alive, by the database's clock."""
    return Now() + timedelta(seconds=settings.RETIREMENT_LEASE_SECONDS)


def _begin(switch: Switch, user: Any, start: Start, address: str | None) -> Retirement:
    with transaction.atomic():
        overlaps.lock()
        held = _locked(switch)
        held.move_or_refuse(Event.RETIRE)
        refuse_in_blackout(switch.pair)
        other = overlaps.overlapping(switch.the_plan())
        if other is not None:
            raise Busy(
                say("Switch %(key)s holds part of this radius. Wait for its end or cancel it.", key=other.key)
            )
        held.token += 1
        held.lease_until = lease()
        if user is None:
            said = say("Its day has come: the old Topics on %(cluster)s are removed.", cluster=switch.source)
        else:
            said = say(
                "%(user)s lets the old Topics on %(cluster)s be removed now.",
                user=user.get_username(),
                cluster=switch.source,
            )
        _decided(held, user, said)
        record(user, "retire", switch.subject, address, due=held.due_at.isoformat())
        transaction.on_commit(lambda: start(held))
    return held


# -- moves; the caller is in a transaction -------------------------------------------------------------------------


def _locked(switch: Switch) -> Retirement:
    """The retirement of ``switch``, locked. :raises Refused: the switch has none."""
    held = Retirement.objects.select_for_update(of=("self",)).filter(switch=switch).first()
    if held is None:
        raise Refused(say("No old Topics wait for their removal after this switch."))
    held.switch = switch
    return held


def _decided(held: Retirement, user: Any, said: Sentence) -> None:
    if user is not None:
        held.decided_by = user
    held.outcome = said.to_json()
    held.save()
    log_event(held.switch, said, actor=user)


def _keep(held: Retirement, user: Any, why: Sentence, address: str | None) -> None:
    held.move_or_refuse(Event.KEEP)
    held.done_at = timezone.now()
    _decided(held, user, why)
    if held.removed:
        log_event(held.switch, say("Removed already: %(steps)s. What is left stays.", steps=held.removed))
    record(user, "keep", held.switch.subject, address, why=str(why), removed=held.removed)


def fail(held: Retirement, reason: Sentence) -> None:
    """End an attempt so that a person has to look. The caller has locked ``held``."""
    held.move_or_refuse(Event.FAIL)
    held.outcome = reason.to_json()
    held.save(update_fields=["status", "outcome", "facts"])
    log_event(
        held.switch, say("The old Topics are not removed, and somebody has to decide what becomes of them.")
    )
    log_event(held.switch, reason)
    record(None, "retire failed", held.switch.subject, reason=str(reason), removed=held.removed)


def defer(held: Retirement, reason: Sentence) -> None:
    """End an attempt because a server does not answer; it is retried later. The caller has locked ``held``."""
    held.move_or_refuse(Event.DEFER)
    held.due_at = timezone.now() + timedelta(seconds=settings.RETIREMENT_RETRY_SECONDS)
    held.outcome = reason.to_json()
    held.save(update_fields=["status", "due_at", "outcome", "facts"])
    log_event(held.switch, reason)
    log_event(
        held.switch, say("The removal of the old Topics is tried again at %(at)s.", at=utc(held.due_at))
    )


def finish(held: Retirement) -> None:
    """Note that everything is removed. The caller has locked ``held``."""
    held.move_or_refuse(Event.FINISH)
    held.done_at = timezone.now()
    plan = held.switch.the_plan()
    said = say(
        "The mirror is retired, and the old Topics on %(cluster)s are removed: %(topics)s.",
        cluster=plan.source,
        topics=list(plan.topics),
    )
    held.outcome = said.to_json()
    held.save(update_fields=["status", "done_at", "outcome", "facts"])
    log_event(held.switch, said)
    record(None, "retired", held.switch.subject, topics=list(plan.topics), groups=list(plan.groups))


def take(pk: int, token: int) -> Retirement | None:
    """Take the removal: return the row with its new token, or ``None`` if ``token`` is used up."""
    mine = Retirement.objects.filter(pk=pk, token=token, status=Status.RUNNING.value)
    if not mine.update(token=token + 1, lease_until=lease()):
        return None
    return Retirement.objects.select_related(
        "switch__pair__first",
        "switch__pair__second",
        "switch__pair__default",
        "switch__source",
        "switch__target",
    ).get(pk=pk)


def open_of(pair_pks: Any) -> list[Retirement]:
    """The retirements of some pairs that have not ended, the next one first."""
    found = Retirement.objects.filter(switch__pair__in=pair_pks, status__in=[s.value for s in OPEN])
    keys = list(found.order_by().values_list("pk", flat=True))
    if not keys:  # as mostly: then the switches' hundred columns need not be asked for on every overview
        return []
    found = Retirement.objects.filter(pk__in=keys)
    shown = found.select_related("switch__source", "switch__target", "switch__pair")
    return list(without_access(shown, "switch__source", "switch__target"))
