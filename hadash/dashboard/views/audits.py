"""Differences that auditors have found: the page of one with both versions of the record, and accepting them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from hadash.accounts.roles import ACCEPT, VIEW_VALUES, may
from hadash.audit.models import record
from hadash.auditors import accepting, selectors
from hadash.auditors.models import AuditDifference
from hadash.auditors.versions import versions_of
from hadash.dashboard.mirrors.selectors import the_mirror
from hadash.dashboard.views.common import address_of, denied, typed, user_of
from hadash.mirroring.models import Mirror
from hadash.refusals import Refused
from hadash.sentences import Sentence


@require_GET
def difference(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponse:
    """Render a difference. Keys, values and headers are shown to who may see them, and that is noted in the audit
    log; others see their sizes and checksums.
    """
    return _page(request, the_mirror(user_of(request), pair, name), pk)


@require_POST
def accept(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponse:
    """Accept a difference, or with ``all`` every open one of its mirror. Fields ``reason`` and ``all``."""
    mirror = the_mirror(user_of(request), pair, name)
    only = None if request.POST.get("all") else [_the_difference(mirror, pk).pk]
    try:
        made = accepting.accept(user_of(request), mirror, typed(request, "reason"), address_of(request), only)
    except PermissionDenied as error:
        return denied(request, error, ACCEPT, mirror.pair)
    except Refused as refusal:
        return _page(request, mirror, pk, refusal.reasons, 409)
    count = sum(made.counts.values())
    said = ngettext("%(count)d difference is accepted.", "%(count)d differences are accepted.", count)
    messages.success(request, said % {"count": count})
    return redirect("mirror", pair=pair, name=name)


@require_POST
def withdraw(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponse:
    """Take an acceptance back. Idempotent."""
    mirror = the_mirror(user_of(request), pair, name)
    try:
        accepting.withdraw(user_of(request), mirror, pk, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, ACCEPT, mirror.pair)
    messages.success(request, _("The acceptance is taken back: its differences count again."))
    return redirect("mirror", pair=pair, name=name)


def _the_difference(mirror: Mirror, pk: int) -> AuditDifference:
    """Return a difference. :raises Http404: it is not there any more."""
    found = (
        selectors.differences(mirror)
        .select_related("audited__pair__first", "audited__pair__second", "source")
        .filter(pk=pk)
        .first()
    )
    if found is None:
        raise Http404(
            _("This difference is not there any more: its records are gone, or the standby was rebuilt.")
        )
    return found


def _page(
    request: HttpRequest,
    mirror: Mirror,
    pk: int,
    refusals: list[Sentence] | None = None,
    status: int = 200,
) -> HttpResponse:
    user, found = user_of(request), _the_difference(mirror, pk)
    may_see = may(user, VIEW_VALUES, mirror.pair)
    if may_see:
        place = f"{found.audited}, {found.source.name} {found.source_offset}"
        record(user, "see record", f"mirror {mirror.name} ({place})", address_of(request))
    context = {
        "mirror": mirror,
        "difference": found,
        "versions": versions_of(found, may_see=may_see),
        "may_see": may_see,
        "may_accept": may(user, ACCEPT, mirror.pair),
        "open_ones": selectors.standing(mirror).differences,
        "reason": typed(request, "reason"),
        "refusals": refusals or [],
    }
    return render(request, "mirrors/difference.html", context, status=status)
