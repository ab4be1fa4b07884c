"""Deliveries of reports and notices: those that have not arrived, sending one again, and unsubscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from hadash.accounts.roles import MANAGE_REPORTS, may
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import address_of, denied, paged, searched, typed, user_of
from hadash.notices.gathering import TOPIC as NOTICES
from hadash.outbox import services as outbox
from hadash.outbox.addresses import BadAddress, normalised
from hadash.outbox.models import STATES, Delivery, Transport, Unsubscription
from hadash.outbox.states import State
from hadash.presentation import badges
from hadash.reports.models import ReportSchedule

#: The default filter: all deliveries that were neither accepted nor cancelled.
_NOT_ARRIVED = frozenset(State) - {State.ACCEPTED, State.CANCELLED}


def _denied(request: HttpRequest) -> HttpResponse:
    return denied(request, PermissionDenied("You may not see who gets which mail."), MANAGE_REPORTS)


#: The columns of deliveries as CSV. (Not the link that unsubscribes.)
CSV = ("key", "way", "address", "subject", "state", "tries", "queued_at", "settled_at", "said")


def csv_row(delivery: Delivery) -> tuple[Any, ...]:
    """Return the values of :data:`CSV`."""
    return (
        delivery.key,
        delivery.transport,
        delivery.address,
        delivery.content.subject,
        delivery.state,
        delivery.tries,
        delivery.queued_at,
        delivery.settled_at,
        delivery.said,
    )


#: The sort keys of the list.
FIELDS: Fields = {
    "when": ("wanted_at",),
    "to": ("address",),
    "what": ("content__subject",),
    "state": ("state",),
    "tries": ("tries",),
    "said": ("said",),
}


@require_GET
def deliveries(request: HttpRequest) -> HttpResponseBase:
    """List the deliveries, the newest first. ``?state=`` is a value of :class:`State`, or ``all``; ``?way=`` one of
    :class:`Transport`; ``?q=`` a part of an address; ``?sort=``; ``?format=csv``.
    """
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    chosen, way, query = searched(request, "state"), searched(request, "way"), searched(request, "q")
    found = Delivery.objects.select_related("content")
    if chosen in set(State):
        found = found.filter(state=chosen)
    elif chosen != "all":
        chosen = ""
        found = found.filter(state__in=_NOT_ARRIVED)
    if way in Transport.values:
        found = found.filter(transport=way)
    if query:
        found = found.filter(address__icontains=query)
    order = order_of(request, FIELDS)
    found = order.query(found.order_by("-pk"), FIELDS, ("-pk",))
    if request.GET.get("format") == "csv":
        return csv_response("deliveries", CSV, map(csv_row, found.iterator(chunk_size=500)))
    page = paged(request, found)
    context = {
        "order": order,
        "page": page,
        "deliveries": [(each, badges.of(STATES[each.current])) for each in page.object_list],
        "chosen": chosen,
        "labels": {state.value: each.label for state, each in STATES.items()},
        "way": way,
        "ways": Transport.choices,
        "query": query,
    }
    return render(request, "outbox/deliveries.html", context)


@require_POST
def send_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Send one message again. The person is warned that it may arrive a second time."""
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    delivery = Delivery.objects.filter(pk=pk).first()
    if delivery is None:
        raise Http404(_("That mail is gone."))
    told = {"address": delivery.address}
    try:
        if outbox.send_again(user_of(request), delivery, timezone.now(), address_of(request)):
            messages.success(request, _("It is sent to %(address)s again.") % told)
        else:
            messages.info(request, _("Nothing to do: it is on its way, or has arrived."))
    except outbox.Unsubscribed:
        messages.error(request, _("%(address)s has unsubscribed: it is not sent again.") % told)
    return redirect(_back(request, "deliveries"))


# -- unsubscriptions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Without:
    """A topic that an address has unsubscribed from."""

    topic: str
    word: Any
    at: datetime


def own_unsubscriptions(user: Any) -> Sequence[Without]:
    """Return what a person's address has unsubscribed from by a link in a mail."""
    try:
        address = normalised(user.email)
    except BadAddress:
        return []
    names = {schedule.topic: schedule.name for schedule in ReportSchedule.objects.all()}
    words = {NOTICES: _("all notices"), **names}
    found = Unsubscription.objects.filter(address__iexact=address)
    return [Without(each.topic, words[each.topic], each.at) for each in found if each.topic in words]


@require_POST
def subscribe_again(request: HttpRequest) -> HttpResponse:
    """Subscribe the signed-in person's own address again. Field ``topic``."""
    try:
        address = normalised(user_of(request).email)
    except BadAddress:
        address = ""
    if address and outbox.subscribe_again(address, typed(request, "topic")):
        messages.success(request, _("You get it again from now on."))
    return redirect(_back(request, "notices"))


def _back(request: HttpRequest, otherwise: str) -> str:
    """Return the page that the user came from, if it is one of hadash's; else ``otherwise``."""
    wanted = typed(request, "next")
    is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_ours else otherwise
