"""Whether switches wait for a Gateway. Only a person can decide that they need not: a Gateway that is cut off keeps
serving its clients with its last known bindings, and only a person can see that its process is gone.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied

from hadash import confirmations
from hadash.accounts.roles import EXCLUDE_GATEWAY, may
from hadash.audit import reasons
from hadash.audit.write_ahead import recorded_ahead
from hadash.bindings.errors import BindingError, NoSuchMember, UnknownOutcome
from hadash.bindings.membership import set_excluded
from hadash.bindings.model import GatewayMember
from hadash.inventory.gateways import gateway_members, zookeeper
from hadash.inventory.installation import claimed
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.refusals import EnginesAway


class NoSuchGateway(Refused):
    """ZooKeeper knows no member with this id."""


def exclude(user: Any, gateway_id: str, typed: str, reason: str, address: str | None = None) -> None:
    """Let switches continue without a Gateway that does not answer.

    :param typed: its id, typed again to confirm that its process is gone.
    :raises PermissionDenied: ``user`` may not.
    :raises NoSuchGateway: it is no member. :raises EnginesAway: ZooKeeper does not answer.
    :raises UnknownOutcome: the reply was lost.
    :raises Refused: it is not confirmed, there is no reason, or the Gateway answers.
    """
    _may(user)
    unconfirmed = say(
        "Type %(gateway)s to confirm that its process does not run any more.", gateway=gateway_id
    )
    confirmations.require(typed, gateway_id, unconfirmed)
    reason = reasons.given(reason, say("Say why it is excluded: others read it later."))
    if _member(gateway_id).live:
        raise Refused(
            say(
                "Gateway %(gateway)s answers ZooKeeper: it serves clients. Stop it instead.",
                gateway=gateway_id,
            )
        )
    _set(user, gateway_id, True, address, reason=reason)


def include(user: Any, gateway_id: str, address: str | None = None) -> None:
    """Let switches wait for it again. :raises NoSuchGateway: it is no member. Other errors as for :func:`exclude`."""
    _may(user)
    _member(gateway_id)
    _set(user, gateway_id, False, address)


def _member(gateway_id: str) -> GatewayMember:
    try:
        found = {member.id: member for member in gateway_members()}
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    if gateway_id not in found:
        raise NoSuchGateway(say("Gateway %(gateway)s is no member.", gateway=gateway_id))
    return found[gateway_id]


def _set(user: Any, gateway_id: str, excluded: bool, address: str | None, **details: Any) -> None:
    verb, subject = "exclude" if excluded else "include", f"Gateway {gateway_id}"
    try:
        with recorded_ahead(user, verb, subject, address, **details):
            set_excluded(claimed(zookeeper()), gateway_id, excluded)
    except UnknownOutcome:  # (a BindingError, too)
        raise
    except NoSuchMember as error:
        raise NoSuchGateway(say("%(error)s", error=error)) from None
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


def _may(user: Any) -> None:
    if not may(user, EXCLUDE_GATEWAY):
        raise PermissionDenied("You may not exclude Gateways.")
