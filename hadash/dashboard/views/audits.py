"""The page of a difference that auditors have found: both versions of the record, side by side."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.roles import VIEW_VALUES, may
from hadash.audit.models import record
from hadash.auditors import selectors
from hadash.auditors.versions import versions_of
from hadash.dashboard.mirrors.looking import mirrors_for
from hadash.dashboard.views.common import address_of, user_of
from hadash.mirroring.models import Mirror


@require_GET
def difference(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponse:
    """Render a difference. Keys, values and headers are shown to who may see them, and that is noted in the audit
    log; others see their sizes and checksums.
    """
    user = user_of(request)
    mirror: Mirror | None = mirrors_for(user).filter(pair__name=pair, name=name).first()
    if mirror is None:
        raise Http404(_("There is no mirror %(name)s.") % {"name": name})
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
    may_see = may(user, VIEW_VALUES, mirror.pair)
    if may_see:
        place = f"{found.audited}, {found.source.name} {found.source_offset}"
        record(user, "see record", f"mirror {mirror.name} ({place})", address_of(request))
    versions = versions_of(found, may_see=may_see)
    context = {"mirror": mirror, "difference": found, "versions": versions, "may_see": may_see}
    return render(request, "mirrors/difference.html", context)
