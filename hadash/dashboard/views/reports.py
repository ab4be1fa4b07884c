"""Reports: the list, one as a page, as PDF and as its mail, a preview before it is sent, and the settings of the
user's own mail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from csp.constants import NONE, UNSAFE_INLINE
from csp.decorators import csp_replace
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_http_methods

from hadash.accounts.roles import MANAGE_REPORTS, may, pairs_where
from hadash.audit.models import stored
from hadash.dashboard.report_forms import OwnMailForm
from hadash.dashboard.report_pdf import download, pdf_response
from hadash.dashboard.views.common import address_of, user_of
from hadash.dashboard.views.deliveries import own_unsubscriptions
from hadash.outbox.rendering import as_in_a_browser
from hadash.reports import addressing, editions, reading
from hadash.reports.models import Kind, MailPreference, ReportEdition
from hadash.reports.recipients import View
from hadash.reports.report import report_from_json
from hadash.reports.schedules import newest_ended
from hadash.switching.models.switches import Switch

#: The parameters of a preview.
_ASKED = ("kind", "pair", "language", "owner", "about")

#: Most reports in the list.
LISTED = 30


@require_http_methods(["GET", "POST"])
def reports(request: HttpRequest) -> HttpResponse:
    """List the newest reports and the schedules, with the settings of the user's own mail. POST: the fields of
    :class:`OwnMailForm`.
    """
    user = user_of(request)
    wanted = MailPreference.objects.filter(user=user).first() or MailPreference()
    own = {"address": user.email, "language": wanted.language, "zone": wanted.zone}
    form = OwnMailForm(request.POST if request.method == "POST" else None, initial=own)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        addressing.set_own(user, values["address"], values["language"], values["zone"], address_of(request))
        messages.success(request, _("Your mail comes like that from now on."))
        return redirect("reports")
    schedules = list(reading.schedules_for(user))
    last = reading.last_issues(schedules)
    context = {
        "editions": list(reading.editions_for(user)[:LISTED]),
        "schedules": [(each, last.get(each.pk)) for each in schedules],
        "may_manage": may(user, MANAGE_REPORTS),
        "form": form,
        "address_is_own": addressing.address_is_own(user),
        "mail_goes": bool(settings.SMTP_HOST),
        "without": own_unsubscriptions(user),
        "report_zone": settings.REPORT_ZONE,
        "kinds": Kind.choices,
    }
    return render(request, "reports/list.html", context, status=409 if form.errors else 200)


def the_edition(user: Any, pk: int) -> ReportEdition:
    """Return the edition with this number.

    :raises Http404: there is none, or ``user`` may not read it.
    """
    found = ReportEdition.objects.select_related("issue__schedule").filter(pk=pk).first()
    if found is None or not reading.may_read(user, found):
        raise Http404(_("There is no report with number %(pk)s.") % {"pk": pk})
    return found


@require_GET
def report(request: HttpRequest, pk: int) -> HttpResponse:
    """Render a report as it was made, in its recipient's language."""
    found = the_edition(user_of(request), pk)
    context = {"edition": found, "report": report_from_json(found.report), "files": _files(found)}
    return render(request, "reports/page.html", context)


def _files(edition: ReportEdition) -> list[str]:
    if edition.content is None:
        return []
    return list(edition.content.parts.filter(cid="").values_list("name", flat=True))


@require_GET
def report_file(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Return a file that was attached to the report's mail."""
    found = the_edition(user_of(request), pk)
    part = found.content.parts.filter(cid="", name=name).first() if found.content is not None else None
    if part is None:
        raise Http404(_("That file is gone."))
    return download(bytes(part.data), part.media_type, part.name)


@require_GET
def report_pdf(request: HttpRequest, pk: int) -> HttpResponse:
    found = the_edition(user_of(request), pk)
    made = report_from_json(found.report)
    return pdf_response(made, found.language, found.zone, f"hadash-{made.kind}-{found.pk}")


# A mail has its own styles and pictures. It must run no scripts and open no pages by itself, and only hadash's own
# pages may show it in a frame.
mail_policy = csp_replace(
    {
        "default-src": [NONE],
        "script-src": [NONE],
        "style-src": [UNSAFE_INLINE],
        "img-src": ["data:"],
        "frame-ancestors": ["'self'"],
        "sandbox": ["allow-popups", "allow-popups-to-escape-sandbox"],
    }
)


@mail_policy  # type: ignore[arg-type]
@xframe_options_sameorigin
@require_GET
def report_mail(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the report's mail as a mail program shows it, without the recipient's personal link."""
    found = the_edition(user_of(request), pk)
    if found.content is None:
        raise Http404(_("Its mail is gone."))
    return HttpResponse(as_in_a_browser(found.content.html, found.content.parts.all()))


@require_http_methods(["GET", "POST"])
def preview(request: HttpRequest) -> HttpResponse:
    """Render a report as it would be made now. Nothing is sent or kept.

    ``kind`` is its kind, ``pair`` its pair by name or number (else all that the user may see), ``language`` its
    language (else the user's); managers of reports may see what an ``owner`` gets. The form of a schedule uses POST,
    because the mail addresses in it must not get into a URL.
    """
    user = user_of(request)
    given = request.POST if request.method == "POST" else request.GET
    asked = {name: str(stored(given.get(name, ""))).strip() for name in _ASKED}
    pairs = list(pairs_where(user).order_by("name"))
    pair = next((each for each in pairs if asked["pair"] in (each.name, str(each.pk))), None)
    if asked["kind"] not in Kind.values:
        raise Http404(_("There is no report %(name)s.") % {"name": asked["kind"]})
    kind = Kind(asked["kind"])
    languages = dict(settings.LANGUAGES)
    language = asked["language"] if asked["language"] in languages else translation.get_language()
    owner = asked["owner"] if kind is Kind.COVERAGE and may(user, MANAGE_REPORTS) else ""
    view = View(
        language or settings.LANGUAGE_CODE,
        timezone.get_current_timezone_name(),
        tuple(each.name for each in ([pair] if pair is not None else pairs)),
        owner,
    )
    about = asked["about"] or (_last_switch(view) if kind is Kind.SWITCH else "")
    with translation.override(view.language):
        made = editions.preview(kind, view, about)
    context = {
        "report": made and replace(made, url=""),
        "kind": kind,
        "kinds": Kind.choices,
        "pair": pair.name if pair is not None else "",
        "pairs": [each.name for each in pairs],
        "language": view.language,
        "languages": settings.LANGUAGES,
        "owner": owner,
        "may_see_owners": kind is Kind.COVERAGE and may(user, MANAGE_REPORTS),
    }
    return render(request, "reports/preview.html", context)


def _last_switch(view: View) -> str:
    return newest_ended(Switch.objects.filter(pair__name__in=view.pairs))
