"""The owners of AppIDs: set on an AppID's page, or imported from a file."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from hadash.accounts.roles import CHANGE_APPID
from hadash.dashboard.views import appids
from hadash.dashboard.views.common import address_of, denied, the_appid, user_of
from hadash.governance import owners
from hadash.governance.owners import OwnerRefused


def set_owner(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the owner of an AppID. Field ``owner``; empty for none."""
    if request.method != "POST":
        return redirect("appid", pk=pk)
    found = the_appid(user_of(request), pk)
    typed = request.POST.get("owner", "")
    try:
        held = owners.set_owner(user_of(request), found, typed, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, CHANGE_APPID, found.pair)
    except OwnerRefused as refused:
        return appids.page(request, found, status=409, refusals=refused.reasons, typed_owner=typed)
    if held.owner != found.owner:
        messages.success(request, _("The owner is saved."))
    return redirect("appid", pk=found.pk)


@require_POST
def import_owners(request: HttpRequest) -> HttpResponseBase:
    """Import owners. Field ``file``: CSV for :func:`hadash.governance.owners.import_owners`."""
    upload = request.FILES.get("file")
    try:
        # (One byte more than allowed shows that the file is too large.)
        content = upload.read(owners.MOST_BYTES + 1) if upload is not None else b""
        done = owners.import_owners(user_of(request), content, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, CHANGE_APPID)
    except OwnerRefused as refused:
        return appids.listed(request, refused.reasons)
    messages.success(
        request,
        ngettext(
            "The file is imported: %(changed)s AppID has another owner now, %(same)s had theirs already.",
            "The file is imported: %(changed)s AppIDs have another owner now, %(same)s had theirs already.",
            done.changed,
        )
        % {"changed": f"{done.changed:,}", "same": f"{done.same:,}"},
    )
    if done.left_out:
        names = ", ".join(done.unknown) + (" …" if done.left_out > len(done.unknown) else "")
        told = ngettext(
            "%(n)s AppID of the file is not known, or not yours to change: %(names)s",
            "%(n)s AppIDs of the file are not known, or not yours to change: %(names)s",
            done.left_out,
        )
        messages.warning(request, told % {"n": f"{done.left_out:,}", "names": names})
    return redirect("appids")
