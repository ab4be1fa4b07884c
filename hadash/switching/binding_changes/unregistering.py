"""Unregister an InstanceID on which nothing depends."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash import confirmations
from hadash.accounts.roles import REGISTER, may
from hadash.audit.models import record
from hadash.bindings.errors import BindingConflict, BindingError
from hadash.identity.identity import Identity
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Declaration, InstanceID, Pair
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.machines.binding_changes import OPEN
from hadash.switching.models.binding_changes import BindingChange, radius_of
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy, EnginesAway


def unregister(user: Any, instance: InstanceID, confirmed: str, address: str | None = None) -> None:
    """Delete a registered InstanceID; its client.id counts as unknown from then on.

    :param confirmed: its name, typed again.
    :raises PermissionDenied: ``user`` may not register. :raises EnginesAway: ZooKeeper does not say whether it is
        bound.
    :raises Busy: an open switch or change concerns it. :raises Refused: it is bound or declared, or not confirmed.
    """
    appid = instance.appid
    pair = appid.pair
    if not may(user, REGISTER, pair):
        raise PermissionDenied("You may not register InstanceIDs.")
    unconfirmed = say(
        "Type %(name)s to confirm that its client.id is not known any more.", name=instance.name
    )
    confirmations.require(confirmed, instance.name, unconfirmed)
    identity = Identity(appid.name, instance.name)
    _refuse_bound(pair, identity)
    with transaction.atomic():
        overlaps.lock()
        _refuse_bound(pair, identity)  # a change may have been applied since
        radius = radius_of(pair.name, appid.name, {identity: None})
        overlaps.refuse_overlap(radius)
        for change in BindingChange.objects.filter(
            pair=pair, appid=appid.name, status__in=[s.value for s in OPEN]
        ):
            if radius.overlaps(change.radius):
                raise Busy(
                    say(
                        "Change %(key)s of the bindings of %(appid)s is about it. Wait for its end or cancel it.",
                        key=change.key,
                        appid=appid,
                    )
                )
        declared = Declaration.objects.filter(appid=appid, instance_id=instance.name).count()
        if declared:
            raise Refused(
                say(
                    "Relations of %(identity)s are declared (%(count)s). Withdraw them first.",
                    count=declared,
                    identity=identity,
                )
            )
        instance.delete()
        record(user, "unregister", f"InstanceID {identity}", address, note=instance.note)


def _refuse_bound(pair: Pair, identity: Identity) -> None:
    """:raises Refused: it is bound. :raises EnginesAway: ZooKeeper does not say."""
    try:
        bound = dialect_of(pair).document(identity.appid).binding_of(identity)
    except BindingConflict as error:
        raise Refused(say("%(error)s", error=error)) from None
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    if bound is not None:
        raise Refused(
            say(
                "%(identity)s is bound to %(cluster)s. Unbind it first.",
                identity=identity,
                cluster=bound.cluster,
            )
        )
