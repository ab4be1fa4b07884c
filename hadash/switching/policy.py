"""The rules of a pair: how many approvals a switch needs, when none may start, how long stages wait.

A value that a policy leaves empty comes from the settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import CHANGE_POLICY, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.governance.catalogue import Code
from hadash.governance.findings import STOPPING
from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.models.policies import Blackout, Policy
from hadash.switching.stages.run import AuditRule, Limits

#: How far ahead a start or a blackout may lie: a later date is a typing error.
MAX_AHEAD = timedelta(days=366)

#: The most characters in a blackout's reason: a line.
MAX_REASON = 300


def policy_of(pair: Pair) -> Policy:
    """The pair's policy; the default one, unsaved, if the pair has none."""
    return Policy.objects.filter(pair=pair).first() or Policy(pair=pair)


def stopping(pair: Pair) -> frozenset[str]:
    """The codes of the findings that stop a switch of the pair."""
    chosen = policy_of(pair).stopping
    if chosen is not None:
        return frozenset(chosen)
    accepted = {Code.ACKS.value} if settings.SWITCH_ACCEPT_ACKS_1 else set()
    return frozenset(STOPPING) - accepted


def rpo_of(pair: Pair) -> float:
    """The RPO of the pair: seconds by which its mirrors may be late."""
    own = policy_of(pair).rpo_seconds
    return float(settings.RPO_SECONDS if own is None else own)


def rpos(pairs: Iterable[Pair]) -> dict[int, float]:
    """The RPOs of several pairs, by their primary keys, with one query."""
    wanted = [pair.pk for pair in pairs]
    own = dict(
        Policy.objects.filter(pair__in=wanted, rpo_seconds__isnull=False).values_list("pair", "rpo_seconds")
    )
    return {pk: float(own.get(pk) or settings.RPO_SECONDS) for pk in wanted}


def limits_of(pair: Pair) -> Limits:
    """The limits of a switch: how long its stages wait, and what they accept."""
    policy = policy_of(pair)

    def own(value: float | None, otherwise: float) -> float:
        return otherwise if value is None else value

    return Limits(
        hold_heartbeats=settings.SWITCH_HOLD_HEARTBEATS_SECONDS,
        quiesce=own(policy.quiesce_seconds, settings.SWITCH_QUIESCE_SECONDS),
        block=min(own(policy.block_seconds, settings.SWITCH_BLOCK_SECONDS), settings.SWITCH_BLOCKED_SECONDS),
        drain=min(own(policy.drain_seconds, settings.SWITCH_DRAIN_SECONDS), settings.SWITCH_BLOCKED_SECONDS),
        blocked=settings.SWITCH_BLOCKED_SECONDS,
        forward=own(policy.forward_seconds, settings.SWITCH_FORWARD_SECONDS),
        reverse=own(policy.reverse_seconds, settings.SWITCH_REVERSE_SECONDS),
        verify=own(policy.verify_seconds, settings.SWITCH_VERIFY_SECONDS),
        active=settings.SWITCH_ACTIVE_SECONDS,
        verify_hold=own(policy.verify_hold_seconds, settings.SWITCH_VERIFY_HOLD_SECONDS),
        max_lag=int(own(policy.max_lag, settings.SWITCH_MAX_LAG)),
        audit=AuditRule(policy.audit or settings.SWITCH_AUDIT),
        accept_quotas=settings.SWITCH_ACCEPT_QUOTAS,
        accept_acks_1=Code.ACKS.value not in stopping(pair),
        accept_self_assigned=Code.SELF_ASSIGNED.value not in stopping(pair),
        last_records=settings.SWITCH_LAST_RECORDS,
        poll=settings.SWITCH_POLL_SECONDS,
        fast_poll=settings.SWITCH_FAST_POLL_SECONDS,
    )


def set_policy(user: Any, pair: Pair, values: dict[str, Any], address: str | None = None) -> Policy:
    """Change the rules of a pair. Switches that were requested before still need the number of approvals of then.

    :param values: by field of :class:`Policy`; missing ones stay.
    :raises PermissionDenied: ``user`` may not. :raises Refused: a value is out of its bounds.
    """
    _may_change(user, pair)
    with transaction.atomic():
        # Two people may create the first one at once. (No key: rows that only refer to the pair need not wait.)
        Pair.objects.select_for_update(of=("self",), no_key=True).get(pk=pair.pk)
        policy = policy_of(pair)
        before = policy.values()
        for name, value in values.items():
            setattr(policy, name, value)
        try:
            policy.full_clean(exclude=["pair"])
        except ValidationError as error:
            raise Refused(*_faults(error)) from None
        if policy.values() != before or policy.pk is None:
            policy.save()
            record(user, "policy", f"pair {pair.name}", address, before=before, after=policy.values())
    return policy


def _faults(error: ValidationError) -> Iterator[Sentence]:
    for name, texts in error.message_dict.items():
        label = getattr(Policy._meta.get_field(name), "verbose_name", name)
        yield say("%(field)s: %(fault)s", field=str(label).capitalize(), fault=" ".join(texts))


def add_blackout(
    user: Any, pair: Pair, begins: datetime, ends: datetime, reason: str, address: str | None = None
) -> Blackout:
    """Add a time in which no switch of the pair starts; a running one continues.

    :raises PermissionDenied: ``user`` may not. :raises Refused: the times or the reason are not acceptable.
    """
    _may_change(user, pair)
    reason = reasons.given(
        reason, say("Say why nothing may start then: those who are refused read it."), MAX_REASON
    )
    if ends <= begins:
        raise Refused(say("The end has to be after the beginning."))
    if ends <= timezone.now():
        raise Refused(say("This time is over already."))
    if begins > timezone.now() + MAX_AHEAD:
        raise Refused(say("That is more than a year ahead: is the date right?"))
    with transaction.atomic():
        made = Blackout.objects.create(pair=pair, begins=begins, ends=ends, reason=reason)
        record(user, "blackout", f"pair {pair.name}", address, **made.values())
    return made


def end_blackout(user: Any, blackout: Blackout, address: str | None = None) -> None:
    """Delete a blackout. :raises PermissionDenied: ``user`` may not."""
    _may_change(user, blackout.pair)
    with transaction.atomic():
        held = Blackout.objects.select_for_update().filter(pk=blackout.pk).first()
        if held is not None:
            held.delete()
            record(user, "blackout ended", f"pair {blackout.pair.name}", address, **blackout.values())


def blackout_now(pair: Pair) -> Blackout | None:
    """The current blackout; of several, the one that ends last."""
    now = timezone.now()
    return Blackout.objects.filter(pair=pair, begins__lte=now, ends__gt=now).order_by("-ends").first()


def _may_change(user: Any, pair: Pair) -> None:
    if not may(user, CHANGE_POLICY, pair):
        raise PermissionDenied("You may not change the rules of a pair.")
