"""Requesting a switch, with a preview of what would move and why."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import FORCE, OPERATE, REQUEST, may, may_somewhere, pairs_where
from hadash.dashboard import radius_chart
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.forms import RequestForm
from hadash.dashboard.views.common import (
    address_of,
    denied,
    paged,
    searched,
    searched_for_form,
    the_appid,
    the_pair,
    the_switch,
    user_of,
)
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges, connections, engines, radius, selectors
from hadash.presentation.localized import sentence
from hadash.radius.scope import Scope, ScopeKind
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import requests
from hadash.switching.drafts import services as drafts
from hadash.switching.handovers import handing_over
from hadash.switching.machines.switches import KINDS, Kind, KindSpec
from hadash.switching.models.drafts import RequestDraft
from hadash.switching.models.switches import Switch
from hadash.switching.planning import overlaps
from hadash.switching.planning.one_preview import PreviewRunning, one_preview
from hadash.switching.planning.proposals import proposal_for
from hadash.switching.planning.risks import stops
from hadash.switching.previews import Checks, preview_of
from hadash.switching.refusals import EnginesAway, PlanChanged
from hadash.switching.retirement import terms

#: The fields that say what moves and where to. (A reason is nobody else's until the switch is requested.)
CHOICES = (
    "appid", "pair", "scope", "instance", "topics", "roots", "dimension", "widen", "target", "kind_of_switch",
    "restores",
)  # fmt: skip
#: The longest address that every browser and proxy takes. Of a longer choice only the AppID or pair is in it.
LONGEST_ADDRESS = 2000


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 18 else None


def _subject(user: Any, values: Any) -> tuple[Pair, AppID | None] | None:
    """Return the pair and the AppID that a request is about: ``appid=<pk>``, or ``pair=<pk>`` for Topics and whole
    clusters; ``None`` when neither is named.
    """
    pk = _number(values.get("appid"))
    if pk is not None:
        appid = the_appid(user, pk)
        return appid.pair, appid
    pk = _number(values.get("pair"))
    if pk is None:
        return None
    return the_pair(user, pk), None


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
    subject = (draft.pair, draft.appid) if draft is not None else _subject(user, values)
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
    asked = _asked(form)
    asked["follows"] = not asked["incomplete"] and not asked["fault"]
    return _page(request, form, asked, draft=draft)


def _draft(user: Any, values: Any) -> RequestDraft | None:
    """Return the draft that ``draft=<pk>`` names; ``None`` also for a draft that is gone."""
    pk = _number(values.get("draft"))
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
    found = selectors.appids(user_of(request)).filter(pair__in=pairs)
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
    wanted = proposal(form)
    scope, target = wanted["scope"], wanted["target"]
    if not valid or scope is None:
        return _page(request, form, wanted, status=409, draft=draft)
    try:
        if wanted["fault"]:
            raise Refused(_zookeeper_is_away(wanted["fault"]))
        _refuse_unseen(form, wanted)
        switch = _asked_for(request, form, scope, target)
    except PermissionDenied as error:
        return denied(request, error, f"switching.{form.the_kind().spec.permission}", pair)
    except PlanChanged as refusal:
        now = proposal(form)
        how = radius.changes(form.cleaned_data["shown"], now["plan"]) if now["plan"] else []
        return _page(request, form, now, [*refusal.reasons, *how], status=409, draft=draft)
    except Refused as refusal:
        return _page(request, form, wanted, refusal.reasons, status=409, draft=draft)
    if (
        draft is not None and not switch.the_kind.spec.changes_nothing
    ):  # (a draft may be rehearsed before it is requested, so a rehearsal keeps it)
        drafts.discard(draft)
    messages.success(request, sentence(form.the_kind().spec.requested))
    return redirect("switch", key=switch.key)


def _refuse_unseen(form: RequestForm, wanted: dict[str, Any]) -> None:
    """Refuse a request without a digest if its kind requires that the requester has seen the plan.

    :raises Refused: the plan was not seen, and the switch runs without another person's approval, or loses records.
    """
    if not form.the_kind().spec.seen_first or form.cleaned_data["digest"]:
        return
    if wanted["plan"] is None and wanted["reasons"]:
        raise Refused(*wanted["reasons"])
    raise Refused(say("Look at what would move: it is shown now. Then send it again."))


def _asked_for(request: HttpRequest, form: RequestForm, scope: Scope, target: Cluster) -> Switch:
    """Submit the request and return the new switch."""
    values = form.cleaned_data
    digest = values["digest"]
    reason, address, browser = values["reason"], address_of(request), browser_of(request)
    user, kind = user_of(request), form.the_kind()
    before = _gone_back_from(user, values["restores"])
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


def _gone_back_from(user: Any, key: str) -> Switch | None:
    """Return the switch that a restore goes back from; ``None`` when none is named.

    :raises Http404: there is none of that key, or ``user`` may not see it.
    """
    return the_switch(user, key) if key else None


def _page(
    request: HttpRequest,
    form: RequestForm,
    wanted: dict[str, Any],
    refusals: list[Sentence] | None = None,
    status: int = 200,
    draft: RequestDraft | None = None,
) -> HttpResponse:
    values = form.cleaned_data if form.is_bound else form.initial
    context = {
        "form": form,
        "draft": draft,
        "before": _gone_back_from(user_of(request), values.get("restores") or ""),
        "names": _names(form.appid) if form.appid is not None else [],
        "topics": selectors.topics(form.pair, form.appid),
        "refusals": refusals or [],
        "kind_of_switch": form.the_kind(),
        "offered": _offered(user_of(request), form.pair, values),
        "term": form.term(),
        "least_term": settings.RETIREMENT_MIN_DAYS,
        "most_term": settings.RETIREMENT_MAX_DAYS,
        "may_operate": may(user_of(request), OPERATE, form.pair),
        "may_force": may(user_of(request), FORCE, form.pair),
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
    observed = {client.client_id for client in selectors.observed_clients(appid)} - {""}
    return [
        {"name": name, "registered": name in registered, "observed": name in observed}
        for name in sorted(registered | observed)
    ]


@require_GET
def preview(request: HttpRequest) -> HttpResponseBase:
    """Render what would move for the form's present content; ``?csv=blast-radius`` returns it as a table."""
    form = _form_as_it_stands(request)
    if request.GET.get("csv") == radius_chart.RADIUS:
        return _table_of_radius(request, form)
    answer = render(request, "requests/preview.html", proposal(form))
    # (A draft has an address of its own, which is nobody else's.)
    if request.headers.get("HX-Request") and not request.GET.get("draft"):
        answer.headers["HX-Replace-Url"] = _address_of(request)
    return answer


def _address_of(request: HttpRequest) -> str:
    """Return the address of the page that shows this choice: it can be kept and sent to others."""
    chosen = {name: value for name in CHOICES if (value := request.GET.get(name))}
    address = f"{reverse('request-switch')}?{urlencode(chosen)}"
    if len(address) <= LONGEST_ADDRESS:
        return address
    subject = {name: value for name, value in chosen.items() if name in {"appid", "pair"}}
    return f"{reverse('request-switch')}?{urlencode(subject)}"


@require_GET
def checks(request: HttpRequest) -> HttpResponse:
    """Render whether the plan for the form's present content can be carried out now.

    Clusters, mirrors, Connect and Gateways are asked, which can take ``SWITCH_CHECK_SECONDS``: the page shows the plan
    meanwhile.
    """
    return render(request, "requests/checks.html", _checked(_form_as_it_stands(request), user_of(request)))


def _zookeeper_is_away(fault: str) -> Sentence:
    return say("ZooKeeper does not answer (%(fault)s): no switch can be planned.", fault=fault)


def _form_as_it_stands(request: HttpRequest) -> RequestForm:
    """Return the form with its present content, which need not be valid.

    :raises Http404: neither an AppID nor a pair is named.
    """
    subject = _subject(user_of(request), request.GET)
    if subject is None:
        raise Http404(_("Say whose switch it is about."))
    form = RequestForm(request.GET, pair=subject[0], appid=subject[1])
    form.is_valid()
    return form


def _checked(form: RequestForm, user: User) -> dict[str, Any]:
    """Return the result of the checks for a form: ``checks`` and the ``reasons`` against the request."""
    pair, scope, look = form.pair, form.the_scope(), engines.look()
    if look.fault:
        return {"checks": Checks.UNKNOWN.value, "reasons": [_zookeeper_is_away(look.fault)]}
    target = _target(form, scope, look) if scope is not None else None
    if scope is None or target is None:
        return {"checks": Checks.NOT_MADE.value, "reasons": []}
    before = _gone_back_from(user, form.cleaned_data.get("restores") or "")
    try:
        with one_preview(user, pair):
            found = preview_of(proposal_for(pair, scope, target, form.the_kind()), before)
    except (PreviewRunning, EnginesAway) as unknown:
        return {"checks": Checks.UNKNOWN.value, "reasons": unknown.reasons}
    except Refused as refusal:
        return {"checks": Checks.NOT_MADE.value, "reasons": refusal.reasons}
    shown = form.cleaned_data.get("digest")
    return {
        "checks": found.checks.value,
        "reasons": found.blockers,
        "has_changed": bool(shown) and shown != found.draft.plan.digest,
    }


def _table_of_radius(request: HttpRequest, form: RequestForm) -> HttpResponseBase:
    """Return everything that would move, and why, as CSV.

    :raises Http404: no plan can be built now.
    """
    plan = proposal(form)["plan"]
    chart = radius_chart.drawn(plan, everything=True) if plan is not None else None
    answer = asked_csv(request, [chart]) if chart is not None else None
    if answer is None:
        raise Http404(_("There is no plan to be taken along now."))
    return answer


def _asked(form: RequestForm) -> dict[str, Any]:
    """Return the context for a request, as far as it is known without asking a cluster."""
    scope, look = form.the_scope(), engines.look()
    return {
        "pair": form.pair,
        "appid": form.appid,
        "kind": form.kind().value,
        "scope": scope,
        "incomplete": scope is None,
        "engines": look,
        "fault": look.fault,
        "plan": None,
        "reasons": [],
        "holder": None,
        "source": None,
        "target": None,
    }


def proposal(form: RequestForm) -> dict[str, Any]:
    """Return the context for the plan to move to the other cluster, with the reasons against it that need no checks;
    :func:`checks` asks the servers.
    """
    shown = _asked(form)
    pair, scope, look = form.pair, shown["scope"], shown["engines"]
    if scope is None or look.fault:
        return shown
    target = _target(form, scope, look)
    if target is None:
        return shown
    shown["source"], shown["target"] = pair.other(target), target
    try:
        draft = proposal_for(pair, scope, target, form.the_kind())
    except EnginesAway as away:
        return {**shown, "reasons": away.reasons, "checks": Checks.UNKNOWN.value}
    except Refused as refusal:
        return {**shown, "reasons": refusal.reasons}
    plan = draft.plan
    moving, silent = connections.moving(pair, plan, look.answering)
    mirrors = Mirror.objects.filter(pair=pair, name__in=plan.mirrors).select_related(
        "source", "pair__first", "pair__second"
    )
    return {
        **shown,
        "plan": plan,
        "whole": draft.whole,
        "carried": radius.carried(plan),
        "reasons": draft.blockers,
        "told": [finding for finding in draft.findings if not stops(finding, pair, plan.kind)],
        "uncovered": draft.uncovered,
        "members": radius.rows(plan),
        "radius_chart": radius_chart.drawn(plan, reverse("request-preview")),
        "holder": overlaps.overlapping(plan),
        "plan_mirrors": [(mirror, badges.of_mirror(mirror)) for mirror in mirrors],
        "plan_clients": sorted(plan.who(*name) for name in moving),
        "read_split": plan.kind.spec.readers_only,
        "from_mirror": radius.reads_from_mirrors(plan),
        "records_at_risk": radius.records_at_risk(mirrors),
        "pause": radius.expected_pause(pair, plan.kind),
        "removed_on": terms.expected(form.term()) if form.the_kind().spec.removes_old_topics else None,
        "term": form.term(),
        "silent": silent,
    }


def _target(form: RequestForm, scope: Scope, look: engines.Engines) -> Cluster | None:
    """Return the target: the cluster that was shown or requested, else the one that the scope is not on now."""
    values = form.cleaned_data if form.is_bound else form.initial
    for cluster in form.pair.clusters:
        if cluster.name == values.get("target"):
            return cluster
    if form.appid is not None and scope.identity is not None:
        way = selectors.target_of(form.appid, scope.instance_id or None, look)
        return way[1] if way else None
    if scope.kind is ScopeKind.TOPICS:
        carrying = [m for m in Mirror.objects.filter(pair=form.pair) if set(m.topics) & set(scope.topics)]
        if carrying:
            return form.pair.other(carrying[0].source)
    return form.pair.other(form.pair.default)
