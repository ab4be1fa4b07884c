"""What people do to Gateways."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from hadash.accounts.roles import EXCLUDE_GATEWAY, may
from hadash.bindings.errors import UnknownOutcome
from hadash.dashboard.views.common import address_of, denied, searched, typed, user_of
from hadash.sentences import Sentence
from hadash.switching import gateways
from hadash.switching.refusals import Refused


@require_http_methods(["GET", "POST"])
def exclude(request: HttpRequest) -> HttpResponse:
    """GET: ``?gateway=<id>``. POST: ``gateway``, ``typed`` and ``reason``; or ``include`` to take it back."""
    if not may(user_of(request), EXCLUDE_GATEWAY):
        return denied(request, PermissionDenied("You may not exclude Gateways."), EXCLUDE_GATEWAY)
    if request.method == "GET":
        return _page(request, searched(request, "gateway"), [])
    name = typed(request, "gateway")
    try:
        if request.POST.get("include"):
            gateways.include(user_of(request), name, address_of(request))
            messages.success(request, _("Switches wait for this Gateway again."))
        else:
            confirmed, reason = typed(request, "typed"), typed(request, "reason")
            gateways.exclude(user_of(request), name, confirmed, reason, address_of(request))
            messages.success(request, _("Switches do not wait for this Gateway any more."))
    except Refused as refusal:
        return _page(request, name, refusal.reasons, 409)
    except UnknownOutcome:
        return _page(request, name, [], 503, unknown=True)
    return redirect(f"{reverse('overview')}#gateways")


def _page(
    request: HttpRequest, name: str, refusals: list[Sentence], status: int = 200, *, unknown: bool = False
) -> HttpResponse:
    """:param unknown: whether switches wait for it now is not known."""
    context = {
        "gateway": name,
        "typed": typed(request, "typed"),
        "reason": typed(request, "reason"),
        "refusals": refusals,
        "unknown": unknown,
    }
    return render(request, "gateways/exclude.html", context, status=status)
