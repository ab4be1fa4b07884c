"""The pages of the demo's mailbox. They exist only where a demo has one (``HADASH_DEMO_MAIL``)."""

from __future__ import annotations

from pathlib import Path

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from hadash.dashboard.views.reports import download, mail_policy
from hadash_sandbox.mailbox import reading
from hadash_sandbox.mailbox.reading import Mail


def _folder() -> Path:
    return Path(settings.DEMO_MAIL)


def _the_mail(key: str) -> Mail:
    found = reading.one(_folder(), key)
    if found is None:
        raise Http404(_("That mail is gone."))
    return found


@csp_update({"frame-src": ["'self'"]})
@require_GET
def mails(request: HttpRequest, key: str = "") -> HttpResponse:
    """All mail, the newest first, and one message as its reader sees it: that of the address, else the newest."""
    every = list(reading.newest(_folder()))
    shown = _the_mail(key) if key else (every[0] if every else None)
    context = {"mails": every, "shown": shown, "total": reading.count(_folder())}
    if request.headers.get("HX-Request"):
        return render(request, "mailbox/list.html", context)
    return render(request, "mailbox/page.html", context)


@mail_policy  # type: ignore[arg-type]
@xframe_options_sameorigin
@require_GET
def html(request: HttpRequest, key: str) -> HttpResponse:
    return HttpResponse(_the_mail(key).html)


@require_GET
def attachment(request: HttpRequest, key: str, number: int) -> HttpResponse:
    found = _the_mail(key).attachments
    if number >= len(found):
        raise Http404(_("That file is gone."))
    return download(found[number].data, found[number].media_type, found[number].name)
