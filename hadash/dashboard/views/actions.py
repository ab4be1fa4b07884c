"""Actions on something that has a page of its own (a switch, a batch, a change of bindings): a POST that returns to the
page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import DECIDE, REQUEST
from hadash.dashboard.views.common import address_of, denied, typed, user_of
from hadash.presentation import engines
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.four_eyes import AWAITING
from hadash.switching.approvals.workflow import Start, Workflow

Held = TypeVar("Held", bound=Any)

#: Carries out an action and returns the message for the page.
Action = Callable[[HttpRequest, Held], str]
View = Callable[[HttpRequest, str], HttpResponse]


def actions_on(
    look: Callable[[Any, str], Held],
    address: str,
    refused: Callable[[HttpRequest, Held, list[Sentence]], HttpResponse],
) -> Callable[[str], Callable[[Action[Held]], View]]:
    """Return a decorator for actions; it takes the permission that the action needs.

    A POST redirects to the page with the action's message. A refused one answers 409 with the page and the reasons, a
    forbidden one 403 with the people who may.

    :param look: returns the thing by user and key.
    :param address: the name of its page.
    :param refused: renders that page with the reasons.
    """

    def action(permission: str) -> Callable[[Action[Held]], View]:
        def decorate(carry_out: Action[Held]) -> View:
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

    return action


def decisions_on(
    action: Callable[[str], Callable[[Action[Held]], View]],
    workflow: Workflow[Held],
    start: Start[Held],
    approved: Callable[[Held], str],
    digest: str = "digest",
) -> tuple[View, View, View]:
    """Return the actions by which people decide on a request: approve, decline and cancel.

    :param action: see :func:`actions_on`.
    :param start: hands what begins with the last approval to a worker.
    :param approved: returns the message after the last approval.
    :param digest: the field for the digest of what the page showed.
    """

    @action(DECIDE)
    def approve(request: HttpRequest, found: Held) -> str:
        """Fields ``digest`` (or another name) and ``approvals``: as they were shown."""
        user = user_of(request)
        if workflow.is_decider(user, found):  # (others hear from the approval itself that they may not)
            refuse_without_zookeeper()
        held = workflow.approve(
            user,
            found,
            typed(request, digest),
            start,
            address_of(request),
            seen=approvals_seen(request),
            browser=browser_of(request),
        )
        if held.status == AWAITING:
            return _("You have approved it. Somebody else has to, too.")
        return approved(held)

    @action(DECIDE)
    def decline(request: HttpRequest, found: Held) -> str:
        """Field ``reason``."""
        workflow.decline(user_of(request), found, typed(request, "reason"), address_of(request))
        return _("Declined. The requester sees your reason.")

    @action(REQUEST)
    def cancel(request: HttpRequest, found: Held) -> str:
        """Field ``reason``."""
        workflow.cancel(user_of(request), found, typed(request, "reason"), address_of(request))
        return _("The request is cancelled.")

    return approve, decline, cancel


def approvals_seen(request: HttpRequest) -> int | None:
    """Return how many approvals the page showed (field ``approvals``); ``None`` when the form does not say."""
    shown = typed(request, "approvals")
    return int(shown) if shown.isdecimal() and len(shown) < 4 else None


def refuse_without_zookeeper() -> None:
    """Refuse while ZooKeeper is away, instead of waiting for it: what is approved or requested is planned again,
    which reads ZooKeeper.

    :raises Refused: ZooKeeper does not answer.
    """
    fault = engines.look_at_gateways().fault
    if fault:
        raise Refused(
            say(
                "ZooKeeper does not answer (%(fault)s): no switch can run, and no binding can be changed.",
                fault=fault,
            )
        )
