"""Requesting a batch, with a preview of its waves and their blockers."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import REQUEST, may_somewhere, pairs_where
from hadash.dashboard.batch_forms import BatchForm
from hadash.dashboard.views.common import address_of, denied, searched_for_form, user_of
from hadash.presentation import engines
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.batches import requests
from hadash.switching.batches.plans import BatchPlan, build_batch_plan
from hadash.switching.refusals import PlanChanged


@require_http_methods(["GET", "POST"])
def request_batch(request: HttpRequest) -> HttpResponse:
    """Request a batch. GET: the form. POST: its fields; ``action=preview`` shows what would move, ``action=request``
    requests what was shown.
    """
    user = user_of(request)
    if not may_somewhere(user, REQUEST):
        return denied(request, PermissionDenied("You may not request switches."), REQUEST)
    pairs = list(pairs_where(user, REQUEST).select_related("first", "second"))
    if request.method == "GET":
        return _page(request, BatchForm(initial=searched_for_form(request), pairs=pairs))
    form = BatchForm(request.POST, pairs=pairs)
    valid = form.is_valid()
    if form.list_faults:
        return _page(request, form, refusals=form.list_faults, status=409)
    if not valid:
        return _page(request, form, status=409)
    try:
        fault = engines.look_at_gateways().fault
        if fault:
            raise Refused(
                say("ZooKeeper does not answer (%(fault)s): no switch can be planned.", fault=fault)
            )
        if request.POST.get("action") != "request":
            return _page(request, form, build_batch_plan(form.wanted()))
        asked = requests.BatchRequest(
            user, form.wanted(), form.cleaned_data["reason"], address_of(request), browser_of(request)
        )
        made = requests.request(asked, form.window(), form.cleaned_data["digest"])
    except PermissionDenied as error:
        return denied(request, error, REQUEST)
    except Refused as refusal:
        return _page(request, form, _again(form, refusal), refusal.reasons, status=409)
    messages.success(request, _("The batch is requested. Somebody else has to approve it."))
    return redirect("batch", key=made.key)


def _again(form: BatchForm, refusal: Refused) -> BatchPlan | None:
    """Return the present plan, if the refusal concerns a plan that was shown; ``None`` when it cannot be built."""
    if not isinstance(refusal, PlanChanged) and not form.cleaned_data["digest"]:
        return None
    try:
        return build_batch_plan(form.wanted())
    except Refused:
        return None


def _page(
    request: HttpRequest,
    form: BatchForm,
    drawn: BatchPlan | None = None,
    refusals: list[Sentence] | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "drawn": drawn,
        "refusals": refusals or [],
        "defaults": {"wave_size": settings.BATCH_WAVE_SIZE, "parallelism": settings.BATCH_PARALLELISM},
    }
    if drawn is not None:
        context |= {
            "waves": [(wave, list(rows)) for wave, rows in groupby(drawn.moving, key=lambda row: row.wave)],
            "clients": sum(row.clients for row in drawn.moving),
        }
    return render(request, "batches/request.html", context, status=status)
