"""Notices: the list, the notices that a person wants, and the channels."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from hadash.accounts.roles import MANAGE_REPORTS, may, pairs_where
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.notice_forms import ChannelForm, OwnNoticesForm, wish_of
from hadash.dashboard.sorting import Fields, part_order
from hadash.dashboard.views.common import address_of, denied, faults_of, paged, part_of, user_of
from hadash.dashboard.views.deliveries import CSV, csv_row, own_unsubscriptions
from hadash.governance.selectors import pair_names
from hadash.inventory.models import Pair
from hadash.notices import channels
from hadash.notices.channels import ChannelRefused
from hadash.notices.models import KIND_CHOICES, Channel, Notice, PersonalWish
from hadash.outbox.models import STATES, Delivery, Transport
from hadash.presentation import badges
from hadash.presentation.localized import sentence
from hadash.sentences import Sentence

#: Deliveries on the page of a channel.
DELIVERIES_SHOWN = 20

#: The sort keys of these.
DELIVERY_FIELDS: Fields = {
    "when": ("queued_at",),
    "state": ("state",),
    "tries": ("tries",),
    "said": ("said",),
}

#: The columns of the notices as CSV.
NOTICE_COLUMNS = ("at", "kind", "pair", "notice", "path")


def _notice_row(notice: Notice) -> tuple[Any, ...]:
    """Return the values of :data:`NOTICE_COLUMNS`."""
    said = " ".join(sentence(each) for each in (notice.sentence, notice.detail) if each)
    return notice.at, notice.kind, notice.pair.name if notice.pair else None, said, notice.path


def _denied(request: HttpRequest, error: PermissionDenied | None = None) -> HttpResponse:
    return denied(request, error or PermissionDenied("You may not change channels."), MANAGE_REPORTS)


@require_http_methods(["GET", "POST"])
def notices(request: HttpRequest) -> HttpResponseBase:
    """List the notices, with the user's own wishes; ``?format=csv`` returns all of them. POST: the fields of
    :class:`OwnNoticesForm`.
    """
    user = user_of(request)
    visible = Notice.objects.filter(Q(pair=None) | Q(pair__in=pairs_where(user))).select_related("pair")
    if request.GET.get("format") == "csv":
        return csv_response("notices", NOTICE_COLUMNS, map(_notice_row, visible.iterator(chunk_size=500)))
    kept = PersonalWish.objects.filter(user=user).first() or PersonalWish(user=user)
    pairs = pair_names(user)
    form = OwnNoticesForm(
        request.POST if request.method == "POST" else None,
        pairs=pairs,
        initial={
            **wish_of(kept),
            "by_mail": kept.by_mail,
            "everybodys": kept.everybodys or [],
            "pairs": kept.pairs or [],
        },
    )
    refusals: list[Sentence] = []
    if request.method == "POST":
        if form.is_valid():
            channels.set_own(user, form.wish(), by_mail=form.cleaned_data["by_mail"])
            messages.success(request, _("You are told like that from now on."))
            return redirect("notices")
        refusals = faults_of(form)
    manages = may(user, MANAGE_REPORTS)
    context = {
        "page": paged(request, visible),
        "form": form,
        "kinds": KIND_CHOICES,
        "chosen": form["kinds"].value() or [],
        "everybodys": form["everybodys"].value() or [],
        "pairs": pairs,
        "chosen_pairs": form["pairs"].value() or [],
        "without": own_unsubscriptions(user),
        "refusals": refusals,
        "may_manage": manages,
        "channels": Channel.objects.select_related("endpoint", "pair") if manages else [],
        "report_zone": settings.REPORT_ZONE,
    }
    return render(request, "notices/list.html", context, status=409 if refusals else 200)


@require_http_methods(["GET", "POST"])
def new_channel(request: HttpRequest) -> HttpResponseBase:
    return _edit(request, None)


@require_http_methods(["GET", "POST"])
def channel(request: HttpRequest, pk: int) -> HttpResponseBase:
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    return _edit(request, _the_channel(pk))


def _the_channel(pk: int) -> Channel:
    found = Channel.objects.select_related("endpoint", "pair").filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no channel with number %(pk)s.") % {"pk": pk})
    return found


def _edit(request: HttpRequest, found: Channel | None) -> HttpResponseBase:
    """Create or change a channel. POST: the fields of :class:`ChannelForm`. What was sent there has pages
    (``?deliveries=``), an order (``?deliveries-sort=``) and a CSV (``?format=csv``).
    """
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    pairs = Pair.objects.order_by("name")
    form = ChannelForm(request.POST if request.method == "POST" else None, pairs=pairs, channel=found)
    refusals: list[Sentence] = []
    if request.method == "POST":
        if form.is_valid():
            try:
                saved = channels.save(user_of(request), form.wanted(), found, address_of(request))
            except ChannelRefused as refused:
                refusals = refused.reasons
            else:
                if found is None and saved.endpoint.transport == Transport.WEBHOOK:
                    # Once, as with tokens: it is encrypted, and never shown again.
                    messages.success(
                        request,
                        _("The channel is saved. Its secret, which is shown only now: %(secret)s")
                        % {"secret": saved.endpoint.secret},
                    )
                else:
                    messages.success(request, _("The channel is saved."))
                return redirect("channel", pk=saved.pk)
        else:
            refusals = faults_of(form)
    order = part_order(request, "deliveries", DELIVERY_FIELDS)
    sent = found.endpoint.deliveries.order_by("-pk") if found is not None else Delivery.objects.none()
    sent = order.query(sent, DELIVERY_FIELDS, ("-pk",))
    if request.GET.get("format") == "csv":
        return csv_response("deliveries", CSV, map(csv_row, sent.select_related("content")))
    part = part_of(request, "deliveries", sent, DELIVERIES_SHOWN)
    context = {
        "form": form,
        "channel": found,
        "kinds": KIND_CHOICES,
        "chosen": form["kinds"].value() or [],
        "languages": settings.LANGUAGES,
        "refusals": refusals,
        "deliveries": [(each, badges.of(STATES[each.current])) for each in part.page.object_list],
        "part": part,
        "order": order,
        "report_zone": settings.REPORT_ZONE,
    }
    if request.headers.get("HX-Request"):
        return render(request, "notices/deliveries.html", context)
    return render(request, "notices/channel.html", context, status=409 if refusals else 200)


@require_POST
def try_channel(request: HttpRequest, pk: int) -> HttpResponse:
    found = _the_channel(pk)
    try:
        channels.try_out(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return _denied(request, error)
    messages.success(request, _("A test is on its way: what the other side says stands below."))
    return redirect("channel", pk=pk)


@require_POST
def delete_channel(request: HttpRequest, pk: int) -> HttpResponse:
    found = _the_channel(pk)
    try:
        channels.delete(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return _denied(request, error)
    messages.success(request, _("The channel %(name)s is deleted.") % {"name": found.endpoint.name})
    return redirect("notices")
