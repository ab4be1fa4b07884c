"""Requests for manual changes of bindings: what a change would write, what blocks it, and the row that others
decide on.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import REGISTER, REQUEST, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.bindings.dialect import Dialect
from hadash.bindings.errors import BindingConflict, BindingError
from hadash.bindings.model import BindingDocument
from hadash.governance.findings import two_pairs
from hadash.identity.identity import Identity
from hadash.inventory import selectors, services
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import AppID
from hadash.inventory.services import NotRegistered
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.binding_rule import Judgement, Known, Move, Wanted, judge
from hadash.switching.machines.binding_changes import OPEN
from hadash.switching.models.binding_changes import BindingChange, digest_of, radius_of
from hadash.switching.planning import overlaps
from hadash.switching.planning.appids_in_other_pairs import used_elsewhere
from hadash.switching.policy import policy_of
from hadash.switching.refusals import Busy, EnginesAway, PlanChanged


class WouldMove(Refused):
    """A manual change would move clients, which only a switch does. ``moves`` are these clients."""

    def __init__(self, moves: tuple[Move, ...], *reasons: Sentence) -> None:
        super().__init__(*reasons)
        self.moves = moves


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A request for a change: the person, the AppID and the change, the reason, and the person's address."""

    user: User
    appid: AppID
    wanted: Wanted
    reason: str
    address: str | None = None
    #: The browser of the request: nobody can approve it there. Empty for a program.
    browser: str = ""
    #: Whether InstanceIDs that are not registered yet are registered with it.
    register: bool = False


def known_of(appid: AppID) -> Known:
    """What is known of an AppID besides its bindings."""
    uses = {*selectors.seen(appid.pair, appid), *selectors.declared(appid.pair, appid)}
    return Known(frozenset(uses), frozenset(appid.instances.values_list("name", flat=True)))


def unregistered(wanted: Wanted, known: Known) -> list[str]:
    """InstanceIDs to be bound that are not registered."""
    names = {identity.instance_id for identity in wanted.bind} - {None}
    return sorted(name for name in names if name is not None and name not in known.registered)


def look(appid: AppID, wanted: Wanted, *, register: bool = False) -> Judgement:
    """Judge what a change would write now, and everything that blocks it.

    :raises EnginesAway: ZooKeeper does not answer. :raises Refused: the document there cannot be read.
    """
    try:
        dialect = dialect_of(appid.pair)
        return look_at(appid, wanted, dialect, dialect.document(appid.name), register=register)
    except BindingConflict as error:
        raise Refused(say("%(error)s", error=error)) from None
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


def look_at(
    appid: AppID, wanted: Wanted, dialect: Dialect, document: BindingDocument, *, register: bool = False
) -> Judgement:
    """Like :func:`look`, for a document that was read. :raises BindingError: the engine's servers do not answer."""
    known = known_of(appid)
    if register:
        known = replace(known, registered={*known.registered, *unregistered(wanted, known)})
    found = judge(document, appid.pair.default.name, wanted, known)
    served: dict[str, list[Identity]] = defaultdict(list)
    for identity, cluster in found.edits.items():
        own = document.binding_of(identity)
        served[cluster or (own.cluster if own is not None else "")].append(identity)
    against = [s for cluster, some in sorted(served.items()) for s in dialect.blockers(some, cluster)]
    if any(cluster is not None for cluster in found.edits.values()):  # (unbinding is the way out)
        in_two = two_pairs(used_elsewhere(appid.pair, [appid.name]))
        against += [in_two.sentence] if in_two is not None else []
    return replace(found, faults=(*found.faults, *against))


def refuse(found: Judgement) -> None:
    """:raises Refused: with all blockers. :raises Busy: all of them may be gone later. :raises WouldMove: the only
    blockers are clients that would move.
    """
    if found.faults:
        raise Refused(*found.blockers)
    if found.busy:
        raise Busy(*found.blockers)
    if found.moves:
        raise WouldMove(found.moves, *found.blockers)


def request(asked: ChangeRequest, digest: str = "") -> BindingChange:
    """Request a change that others have to approve.

    :param digest: of the change that was shown; empty accepts the current one.
    :raises PermissionDenied: the user may not request, or may not register the InstanceIDs that it needs.
    :raises PlanChanged: it is not what was shown any more. :raises Busy: a switch or another change holds part of it.
    :raises Refused: something blocks it. :raises WouldMove: it would move clients.
    """
    user, appid, pair = asked.user, asked.appid, asked.appid.pair
    if not may(user, REQUEST, pair):
        raise PermissionDenied("You may not request changes of bindings.")
    if asked.register and not may(user, REGISTER, pair):
        raise PermissionDenied("You may not register InstanceIDs.")
    asked = replace(asked, reason=reasons.for_requesting(asked.reason))
    found = look(appid, asked.wanted, register=asked.register)
    refuse(found)
    shown = digest_of(pair.name, appid.name, found.edits)
    if digest and digest != shown:
        raise PlanChanged(say("What would be written has changed since you saw it. Look at it again."))
    with transaction.atomic():
        return _create(asked, found, shown)


def _create(asked: ChangeRequest, found: Judgement, digest: str) -> BindingChange:
    """Create the row of a new change, in a transaction. :raises Busy: something else holds part of it."""
    appid, pair = asked.appid, asked.appid.pair
    overlaps.lock()
    radius = radius_of(pair.name, appid.name, found.edits)
    overlaps.refuse_overlap(radius)
    for other in BindingChange.objects.filter(
        pair=pair, appid=appid.name, status__in=[s.value for s in OPEN]
    ):
        if radius.overlaps(other.radius):
            raise Busy(
                say(
                    "Change %(key)s of the bindings of %(appid)s (%(status)s) holds part of this. Wait for its end "
                    "or cancel it.",
                    key=other.key,
                    appid=other.appid,
                    status=other.get_status_display(),
                )
            )
    registered = unregistered(asked.wanted, known_of(appid)) if asked.register else []
    change = BindingChange.objects.create(
        pair=pair,
        appid=appid.name,
        edits={identity.key: cluster for identity, cluster in found.edits.items()},
        digest=digest,
        reason=asked.reason,
        registered=registered,
        requested_by=asked.user,
        requested_in=asked.browser,
        approvals_needed=policy_of(pair).approvals,
        expires_at=timezone.now() + timedelta(hours=settings.SWITCH_EXPIRY_HOURS),
    )
    # The log entry comes after the last row: a row locks the pair, which other transactions hold while they wait for
    # the log.
    try:
        services.register_instances(asked.user, appid, registered, address=asked.address)
    except NotRegistered as refusal:
        raise Refused(refusal.sentence) from None
    record(
        asked.user,
        "request",
        change.subject,
        asked.address,
        edits=change.edits,
        digest=digest,
        registered=registered,
        reason=change.reason,
    )
    return change
