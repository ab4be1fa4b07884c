"""Acts on something that has a page of its own (a switch, a batch, a change of bindings): a POST that returns to the
page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from hadash.accounts.roles import DECIDE, may
from hadash.dashboard.views.common import denied, typed, user_of
from hadash.inventory.models import Pair
from hadash.presentation import engines
from hadash.refusals import Refused
from hadash.sentences import Sentence, say


class Requested(Protocol):
    """Something that a person has requested in a pair, and that acts are done to."""

    pair: Pair
    requested_by: User


Held = TypeVar("Held", bound=Any)

#: Carries out an act and returns the message for the page.
Act = Callable[[HttpRequest, Held], str]
View = Callable[[HttpRequest, str], HttpResponse]


def acts_on(
    look: Callable[[Any, str], Held],
    address: str,
    refused: Callable[[HttpRequest, Held, list[Sentence]], HttpResponse],
) -> Callable[[str], Callable[[Act[Held]], View]]:
    """Return a decorator for acts; it takes the permission that the act needs.

    A POST redirects to the page with the act's message. A refused act answers 409 with the page and the reasons, a
    forbidden one 403 with the people who may.

    :param look: returns the thing by user and key.
    :param address: the name of its page.
    :param refused: renders that page with the reasons.
    """

    def act(permission: str) -> Callable[[Act[Held]], View]:
        def decorate(carry_out: Act[Held]) -> View:
            @wraps(carry_out)
            def view(request: HttpRequest, key: str) -> HttpResponse:
                if (
                    request.method != "POST"
                ):  # an address that was copied, or a language changed after a refusal
                    return redirect(address, key=key)
                found = look(user_of(request), key)
                try:
                    messages.success(request, carry_out(request, found))
                except PermissionDenied as error:
                    besides = found.requested_by if permission == DECIDE else None
                    return denied(request, error, permission, found.pair, besides)
                except Refused as refusal:
                    return refused(request, look(user_of(request), key), refusal.reasons)
                return redirect(address, key=key)

            return view

        return decorate

    return act


def approvals_seen(request: HttpRequest) -> int | None:
    """Return how many approvals the page showed (field ``approvals``); ``None`` when the form does not say."""
    shown = typed(request, "approvals")
    return int(shown) if shown.isdecimal() and len(shown) < 4 else None


def approvals_need_zookeeper(user: User, held: Requested) -> None:
    """Refuse an approval while ZooKeeper is away instead of waiting: an approval plans again, which reads ZooKeeper.

    :raises Refused: ZooKeeper is away. (Not for users who may not approve: the approval itself tells them that.)
    """
    if not may(user, DECIDE, held.pair) or user.pk == held.requested_by.pk:
        return
    fault = engines.look_at_gateways().fault
    if fault:
        raise Refused(say("ZooKeeper does not answer (%(fault)s): no switch can run.", fault=fault))
