"""Previews of a requested switch: what would move and why, and whether it can be carried out now."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.dashboard import radius_chart
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.forms import RequestForm
from hadash.dashboard.views.common import (
    the_appid,
    the_pair,
    the_switch,
    user_of,
)
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import appid_rows, badges, connections, engines, radius
from hadash.radius.scope import Scope, ScopeKind
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.models.switches import Switch
from hadash.switching.planning import overlaps
from hadash.switching.planning.one_preview import PreviewRunning, one_preview
from hadash.switching.planning.proposals import proposal_for
from hadash.switching.planning.risks import stops
from hadash.switching.previews import Checks, preview_of
from hadash.switching.refusals import EnginesAway
from hadash.switching.retirement import terms

#: The fields that say what moves and where to. (A reason is nobody else's until the switch is requested.)
CHOICES = (
    "appid", "pair", "scope", "instance", "topics", "roots", "dimension", "widen", "target", "kind_of_switch",
    "restores",
)  # fmt: skip
#: The longest address that every browser and proxy takes. Of a longer choice only the AppID or pair is in it.
LONGEST_ADDRESS = 2000


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


def zookeeper_is_away(fault: str) -> Sentence:
    return say("ZooKeeper does not answer (%(fault)s): no switch can be planned.", fault=fault)


def _form_as_it_stands(request: HttpRequest) -> RequestForm:
    """Return the form with its present content, which need not be valid.

    :raises Http404: neither an AppID nor a pair is named.
    """
    subject = subject_of(user_of(request), request.GET)
    if subject is None:
        raise Http404(_("Say whose switch it is about."))
    form = RequestForm(request.GET, pair=subject[0], appid=subject[1])
    form.is_valid()
    return form


def _checked(form: RequestForm, user: User) -> dict[str, Any]:
    """Return the result of the checks for a form: ``checks`` and the ``reasons`` against the request."""
    pair, scope, look = form.pair, form.the_scope(), engines.look()
    if look.fault:
        return {"checks": Checks.UNKNOWN, "reasons": [zookeeper_is_away(look.fault)]}
    target = _target(form, scope, look) if scope is not None else None
    if scope is None or target is None:
        return {"checks": Checks.NOT_MADE, "reasons": []}
    before = gone_back_from(user, form.cleaned_data.get("restores") or "")
    try:
        with one_preview(user, pair):
            found = preview_of(proposal_for(pair, scope, target, form.the_kind()), before)
    except (PreviewRunning, EnginesAway) as unknown:
        return {"checks": Checks.UNKNOWN, "reasons": unknown.reasons}
    except Refused as refusal:
        return {"checks": Checks.NOT_MADE, "reasons": refusal.reasons}
    shown = form.cleaned_data.get("digest")
    return {
        "checks": found.checks,
        "reasons": found.blockers,
        "has_changed": bool(shown) and shown != found.proposal.plan.digest,
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


def asked_in(form: RequestForm) -> dict[str, Any]:
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


def chosen_in(form: RequestForm) -> dict[str, Any]:
    """Return :func:`asked_in`, with the clusters that it is about: ``source`` and ``target`` stay ``None`` when that
    cannot be said.
    """
    shown = asked_in(form)
    scope, look = shown["scope"], shown["engines"]
    if scope is None or look.fault:
        return shown
    target = _target(form, scope, look)
    if target is not None:
        shown["source"], shown["target"] = form.pair.other(target), target
    return shown


def proposal(form: RequestForm) -> dict[str, Any]:
    """Return the context for the plan to move to the other cluster, with the reasons against it that need no checks;
    :func:`checks` asks the servers.
    """
    shown = chosen_in(form)
    pair, scope, target, look = form.pair, shown["scope"], shown["target"], shown["engines"]
    if target is None:
        return shown
    try:
        proposal = proposal_for(pair, scope, target, form.the_kind())
    except EnginesAway as away:
        return {**shown, "reasons": away.reasons, "checks": Checks.UNKNOWN}
    except Refused as refusal:
        return {**shown, "reasons": refusal.reasons}
    plan = proposal.plan
    moving, silent = connections.moving(pair, plan, look.answering)
    mirrors = Mirror.objects.filter(pair=pair, name__in=plan.mirrors).select_related(
        "source", "pair__first", "pair__second"
    )
    return {
        **shown,
        "plan": plan,
        "whole": proposal.whole,
        "carried": radius.carried(plan),
        "reasons": proposal.blockers,
        "told": [finding for finding in proposal.findings if not stops(finding, pair, plan.kind)],
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
        way = appid_rows.target_of(form.appid, scope.instance_id or None, look)
        return way[1] if way else None
    if scope.kind is ScopeKind.TOPICS:
        carrying = [m for m in Mirror.objects.filter(pair=form.pair) if set(m.topics) & set(scope.topics)]
        if carrying:
            return form.pair.other(carrying[0].source)
    return form.pair.other(form.pair.default)


def number_of(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 18 else None


def subject_of(user: Any, values: Any) -> tuple[Pair, AppID | None] | None:
    """Return the pair and the AppID that a request is about: ``appid=<pk>``, or ``pair=<pk>`` for Topics and whole
    clusters; ``None`` when neither is named.
    """
    pk = number_of(values.get("appid"))
    if pk is not None:
        appid = the_appid(user, pk)
        return appid.pair, appid
    pk = number_of(values.get("pair"))
    if pk is None:
        return None
    return the_pair(user, pk), None


def gone_back_from(user: Any, key: str) -> Switch | None:
    """Return the switch that a restore goes back from; ``None`` when none is named.

    :raises Http404: there is none of that key, or ``user`` may not see it.
    """
    return the_switch(user, key) if key else None
