"""Requests for changes of pools: what speaks against one, and the row that is carried out, or that others decide on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash import confirmations
from hadash.accounts.roles import OPERATE, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.changes import Status
from hadash.coordinator.pool_view import PoolView
from hadash.coordinator.store import still_has
from hadash.inventory.models import Pair
from hadash.pools.actions import Action, Change, against
from hadash.pools.models import PoolChange, digest_of
from hadash.pools.moving import pairs_read_by, refuse_what_goes_on, refuse_while_moving
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.policy import policy_of
from hadash.switching.refusals import Busy

#: Called after the commit with a change that is to be written.
Start = Callable[[PoolChange], None]


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A request for a change of a pool: the person, the change, the reason, and the person's address.

    :param pair: of the pool's clusters (:func:`hadash.pools.belonging.pair_of`).
    :param view: the pool as it is; ``None``: there is none of this name.
    :param members: those that are known: listed, isolated, or with partitions.
    :param confirmed: the name that was typed to confirm it.
    """

    user: User
    pair: Pair | None
    change: Change
    reason: str
    view: PoolView | None
    members: Collection[str] = ()
    confirmed: str = ""
    address: str | None = None
    #: The browser of the request: nobody can approve it there. Empty for a program.
    browser: str = ""


def approvals_of(pair: Pair | None) -> int:
    """How many people besides the requester have to approve a change of a pool; 0: it is made at once."""
    own = policy_of(pair).pool_approvals if pair is not None else None
    return int(settings.POOL_APPROVALS if own is None else own)


def may_change(user: Any, pair: Pair | None) -> bool:
    """Whether ``user`` may ask for changes of a pool.

    :param pair: the one that the pool reads; ``None``: of no pair, or of several.
    """
    return may(user, OPERATE, pair)


def request(asked: ChangeRequest, start: Start) -> PoolChange:
    """Request a change. It is written at once, unless the rules want others to approve it.

    :raises PermissionDenied: the user may not. :raises Busy: the same is asked for already, or a switch moves the
        Topic.
    :raises Refused: it makes no sense now, is not confirmed, or has no reason.
    """
    change = asked.change
    if not may_change(asked.user, asked.pair):
        raise PermissionDenied("You may not change pools of consumers.")
    reason = reasons.given(asked.reason, say("Say why: others read it later."))
    if why := against(change, asked.view):
        raise Refused(why)
    if change.action is Action.ISOLATE and change.member not in asked.members:
        raise Refused(
            say("%(member)s is no member of the pool %(pool)s.", member=change.member, pool=change.pool)
        )
    there = {*asked.members} - (asked.view.isolated.keys() if asked.view is not None else set())
    if change.action is Action.DELETE and there:
        raise Refused(still_has(change.pool, sorted(there)))
    refuse_what_goes_on(change, asked.view)
    refuse_while_moving(change)
    if change.confirms:
        confirmations.require(
            asked.confirmed, change.confirms, say("Type %(name)s to confirm it.", name=change.confirms)
        )
    # (A Topic of another pair, or the first one of a pool: the rules of its pair count as well.)
    pairs = [*([asked.pair] if asked.pair is not None else []), *pairs_read_by(change)]
    needed = max(map(approvals_of, pairs), default=approvals_of(None))
    with transaction.atomic():
        digest = digest_of(change)
        waiting = [Status.AWAITING_APPROVAL.value, Status.APPROVED.value]
        same = PoolChange.objects.filter(digest=digest, status__in=waiting).first()
        if same is not None:
            raise Busy(say("%(user)s has asked for the same already.", user=same.requested_by.get_username()))
        held = PoolChange.objects.create(
            pair=pairs[0] if pairs else None,
            pool=change.pool,
            action=change.action.value,
            member=change.member,
            topic=change.topic,
            strategy=change.strategy,
            consumer=change.consumer,
            partitions=change.partitions,
            digest=digest,
            status=PoolChange.MACHINE.begin(Status.AWAITING_APPROVAL if needed else Status.APPROVED),
            reason=reason,
            requested_by=asked.user,
            requested_in=asked.browser,
            approvals_needed=needed,
            expires_at=timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
        )
        record(asked.user, "request", held.subject, asked.address, reason=reason, **held.values())
        if not needed:
            transaction.on_commit(lambda: start(held))
    return held
