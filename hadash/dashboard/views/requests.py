"""Requesting a switch. (``request_previews.py`` shows what would move and why.)"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import REQUEST, may, may_somewhere, pairs_where
from hadash.dashboard.forms import RequestForm
from hadash.dashboard.views.common import (
    address_of,
    denied,
    paged,
    searched,
    searched_for_form,
    user_of,
)
from hadash.dashboard.views.request_previews import (
    asked_in,
    chosen_in,
    gone_back_from,
    number_of,
    proposal,
    subject_of,
    zookeeper_is_away,
)
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.presentation import appid_rows, observed, radius, selectors
from hadash.presentation.localized import sentence
from hadash.radius.scope import Scope
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import requests
from hadash.switching.drafts import services as drafts
from hadash.switching.handovers import handing_over
from hadash.switching.machines.switches import KINDS, Kind, KindSpec
from hadash.switching.models.drafts import RequestDraft
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import PlanChanged


@require_http_methods(["GET", "POST"])
def request_switch(request: HttpRequest) -> HttpResponse:
    """Request a switch. GET: ``?appid=<pk>&instance=<name>``, ``?pair=<pk>&topics=<names>``, or ``?draft=<pk>``. POST:
    the same with the fields of the form; with ``keep`` they are only kept as a draft.
    """
    user = user_of(request)
    values = request.POST if request.method == "POST" else request.GET
    draft = _draft(user, values)
    if draft is None and request.method == "GET" and "draft" in values:
        raise Http404(_("You have no such draft: it was discarded, or asked for."))
    subject = (draft.pair, draft.appid) if draft is not None else subject_of(user, values)
    if not (may(user, REQUEST, subject[0]) if subject else may_somewhere(user, REQUEST)):
        pair = subject[0] if subject else None
        return denied(request, PermissionDenied("You may not request switches."), REQUEST, pair)
    if subject is None:
        return _choose(request, pairs_where(user, REQUEST))
    pair, appid = subject
    if request.method == "POST":
        keep = "keep" in request.POST
        return _keep(request, pair, appid, draft) if keep else _post(request, pair, appid, draft)
    initial = _of_draft(user, draft) if draft is not None else searched_for_form(request)
    form = RequestForm(initial=initial, pair=pair, appid=appid)
    # Planning asks clusters, which may be away: so the page is rendered at once, and loads the plan afterwards.
    asked = asked_in(form)
    asked["follows"] = not asked["incomplete"] and not asked["fault"]
    return _page(request, form, asked, draft=draft)


def _draft(user: Any, values: Any) -> RequestDraft | None:
    """Return the draft that ``draft=<pk>`` names; ``None`` also for a draft that is gone."""
    pk = number_of(values.get("draft"))
    return drafts.drafts_of(user).filter(pk=pk).first() if pk is not None else None


def _of_draft(user: Any, draft: RequestDraft) -> dict[str, Any]:
    """Return the form's initial values from a draft, without the switch to go back from if that is gone."""
    restores = draft.fields.get("restores")
    if not restores or selectors.switches(user).filter(key=restores).exists():
        return draft.fields
    return {name: value for name, value in draft.fields.items() if name not in ("restores", "kind_of_switch")}


def _keep(request: HttpRequest, pair: Pair, appid: AppID | None, draft: RequestDraft | None) -> HttpResponse:
    """Keep the form's content as a draft, which need not be valid."""
    try:
        kept = drafts.save(user_of(request), pair, appid, request.POST.dict(), draft)
    except PermissionDenied as error:
        return denied(request, error, REQUEST, pair)
    except Refused as refusal:
        form = RequestForm(request.POST, pair=pair, appid=appid)
        form.is_valid()
        return _page(request, form, proposal(form), refusal.reasons, status=409, draft=draft)
    messages.success(request, _("Kept as a draft. Nobody is asked yet; you find it under “My requests”."))
    return redirect(kept)


@require_POST
def discard_draft(request: HttpRequest, pk: int) -> HttpResponse:
    """Discard a draft. Idempotent."""
    found = drafts.drafts_of(user_of(request)).filter(pk=pk).first()
    if found is not None:
        drafts.discard(found)
    messages.success(request, _("The draft is discarded."))
    return redirect(f"{reverse('switches')}?inbox=mine")


def _choose(request: HttpRequest, pairs: QuerySet[Pair]) -> HttpResponse:
    """Render the choice of an AppID, searched by name with ``?q=``, or of a pair."""
    query = searched(request, "q")
    found = appid_rows.appids(user_of(request)).filter(pair__in=pairs)
    if query:
        found = found.filter(name__icontains=query)
    page = paged(
        request,
        found.prefetch_related(None).annotate(instance_count=Count("instances")).order_by("name", "pk"),
    )
    context = {
        "page": page,
        "query": query,
        "appids": page.object_list,
        "pairs": pairs.select_related("first", "second"),
    }
    return render(request, "requests/choose.html", context)


def _post(request: HttpRequest, pair: Pair, appid: AppID | None, draft: RequestDraft | None) -> HttpResponse:
    form = RequestForm(request.POST, pair=pair, appid=appid)
    valid = form.is_valid()
    # (The plan is made when it is submitted, and here only for the page that says why that was refused.)
    wanted = chosen_in(form)
    scope, target = wanted["scope"], wanted["target"]
    if not valid or scope is None:
        return _page(request, form, proposal(form), status=409, draft=draft)
    try:
        if wanted["fault"]:
            raise Refused(zookeeper_is_away(wanted["fault"]))
        _refuse_unseen(form)
        switch = _asked_for(request, form, scope, target)
    except PermissionDenied as error:
        return denied(request, error, f"switching.{form.the_kind().spec.permission}", pair)
    except PlanChanged as refusal:
        now = proposal(form)
        how = radius.changes(form.cleaned_data["shown"], now["plan"]) if now["plan"] else []
        return _page(request, form, now, [*refusal.reasons, *how], status=409, draft=draft)
    except Refused as refusal:
        return _page(request, form, proposal(form), refusal.reasons, status=409, draft=draft)
    if (
        draft is not None and not switch.the_kind.spec.changes_nothing
    ):  # (a draft may be rehearsed before it is requested, so a rehearsal keeps it)
        drafts.discard(draft)
    messages.success(request, sentence(form.the_kind().spec.requested))
    return redirect("switch", key=switch.key)


def _refuse_unseen(form: RequestForm) -> None:
    """Refuse a request without a digest if its kind requires that the requester has seen the plan.

    :raises Refused: the plan was not seen, and the switch runs without another person's approval, or loses records.
    """
    if not form.the_kind().spec.seen_first or form.cleaned_data["digest"]:
        return
    wanted = proposal(form)
    if wanted["plan"] is None and wanted["reasons"]:
        raise Refused(*wanted["reasons"])
    raise Refused(say("Look at what would move: it is shown now. Then send it again."))


def _asked_for(request: HttpRequest, form: RequestForm, scope: Scope, target: Cluster) -> Switch:
    """Submit the request and return the new switch."""
    values = form.cleaned_data
    digest = values["digest"]
    reason, address, browser = values["reason"], address_of(request), browser_of(request)
    user, kind = user_of(request), form.the_kind()
    before = gone_back_from(user, values["restores"])
    term = form.term() if kind.spec.removes_old_topics else None
    asked = requests.SwitchRequest(
        user, form.pair, scope, target, reason, address, browser, kind, before, term
    )
    return requests.submit(
        asked,
        handing_over.start_switch,
        form.window(),
        digest,
        confirmed=values["confirmed"],
        pause_after_precheck=values["pause_after_precheck"],
    )


def _page(
    request: HttpRequest,
    form: RequestForm,
    wanted: dict[str, Any],
    refusals: list[Sentence] | None = None,
    status: int = 200,
    draft: RequestDraft | None = None,
) -> HttpResponse:
    values = form.cleaned_data if form.is_bound else form.initial
    offered = _offered(user_of(request), form.pair, values)
    context = {
        "form": form,
        "draft": draft,
        "before": gone_back_from(user_of(request), values.get("restores") or ""),
        "names": _names(form.appid) if form.appid is not None else [],
        "topics": observed.topics(form.pair, form.appid),
        "refusals": refusals or [],
        "kind_of_switch": form.the_kind(),
        "offered": offered,
        "confirm_hints": [sentence(spec.confirm_hint) for _, spec in offered if spec.confirm],
        "term": form.term(),
        "least_term": settings.RETIREMENT_MIN_DAYS,
        "most_term": settings.RETIREMENT_MAX_DAYS,
        **wanted,
    }
    return render(request, "requests/page.html", context, status=status)


def _offered(user: User, pair: Pair, values: Any) -> list[tuple[Kind, KindSpec]]:
    """Return the kinds that the form offers: those that ``user`` may ask for, and a restore only if it is said of
    which switch.
    """
    return [
        (kind, spec)
        for kind, spec in KINDS.items()
        if may(user, f"switching.{spec.permission}", pair) and (not spec.goes_back or values.get("restores"))
    ]


def _names(appid: AppID) -> list[dict[str, Any]]:
    """Return the AppID's client.ids to choose from: registered or observed ones."""
    registered = {instance.name for instance in appid.instances.all()}
    seen = {client.client_id for client in observed.observed_clients(appid)} - {""}
    return [
        {"name": name, "registered": name in registered, "observed": name in seen}
        for name in sorted(registered | seen)
    ]
