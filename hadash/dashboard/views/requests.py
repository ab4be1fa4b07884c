"""Asking for a switch, with a preview of what would move."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from hadash.dashboard import engines, selectors, states
from hadash.dashboard.forms import RequestForm
from hadash.dashboard.views.common import address_of, denied, the_appid, user_of
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID
from hadash.mirroring.models import Mirror
from hadash.sentences import Sentence, say
from hadash.switching import services

PERMISSION = "switching.request_switch"


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and len(text) < 18 else None


@require_http_methods(["GET", "POST"])
def request_switch(request: HttpRequest) -> HttpResponse:
    """GET: ``?appid=<pk>&instance=<name>``. POST: ``appid``, ``scope``, ``instance``, ``target``, ``reason``."""
    if not request.user.has_perm(PERMISSION):
        return denied(request, PermissionDenied("You may not request switches."), PERMISSION)
    pk = _number(request.POST.get("appid") or request.GET.get("appid"))
    if pk is None:
        return render(request, "requests/choose.html", {"appids": selectors.appids()})
    appid = the_appid(pk)
    if request.method == "POST":
        return _post(request, appid)
    instance = request.GET.get("instance", "")
    form = RequestForm(
        initial={"appid": appid.pk, "scope": "instance" if instance else "appid", "instance": instance}
    )
    return _page(request, appid, form, proposal(appid, instance or None))


def _post(request: HttpRequest, appid: AppID) -> HttpResponse:
    form = RequestForm(request.POST)
    if not form.is_valid():
        return _page(request, appid, form, proposal(appid, None), status=409)
    wanted = proposal(appid, form.instance_id)
    try:
        if wanted["fault"]:
            raise services.Refused(
                say("ZooKeeper does not answer (%(fault)s): no switch can be planned.", fault=wanted["fault"])
            )
        switch = services.request(
            user_of(request),
            appid,
            form.instance_id,
            _target(appid, form.cleaned_data["target"], wanted),
            form.cleaned_data["reason"],
            address_of(request),
        )
    except PermissionDenied as error:
        return denied(request, error, PERMISSION)
    except services.Refused as refusal:
        return _page(request, appid, form, wanted, refusal.reasons, status=409)
    messages.success(request, _("The switch is requested. Somebody else has to approve it."))
    return redirect("switch", key=switch.key)


def _target(appid: AppID, name: str, wanted: dict[str, Any]) -> Any:
    """What was shown to the requester, else the other side."""
    for cluster in appid.pair.clusters:
        if cluster.name == name:
            return cluster
    return wanted["target"]


def _page(
    request: HttpRequest,
    appid: AppID,
    form: RequestForm,
    wanted: dict[str, Any],
    refusals: list[Sentence] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "appid": appid,
        "form": form,
        "scope": form["scope"].value() or ("instance" if form["instance"].value() else "appid"),
        "names": _names(appid),
        "refusals": refusals or [],
        **wanted,
    }
    return render(request, "requests/page.html", context, status=status)


def _names(appid: AppID) -> list[dict[str, Any]]:
    """The AppID's client.ids to choose from: registered or observed."""
    registered = {instance.name for instance in appid.instances.all()}
    observed = {client.client_id for client in selectors.observed_clients(appid)} - {""}
    return [
        {"name": name, "registered": name in registered, "observed": name in observed}
        for name in sorted(registered | observed)
    ]


@require_GET
def preview(request: HttpRequest) -> HttpResponse:
    """What would move, for the form as it stands: ``?appid=&scope=&instance=``."""
    appid = the_appid(_number(request.GET.get("appid")) or 0)
    form = RequestForm(request.GET)
    form.is_valid()
    scope, instance = request.GET.get("scope"), form.instance_id
    if scope == "instance" and not instance:
        return render(request, "requests/preview.html", {"appid": appid, "incomplete": True})
    return render(request, "requests/preview.html", {"appid": appid, **proposal(appid, instance)})


def proposal(appid: AppID, instance_id: str | None) -> dict[str, Any]:
    """The plan for the other cluster, or the reasons against it."""
    look = engines.look()
    shown: dict[str, Any] = {
        "engines": look,
        "fault": look.fault,
        "scope_name": Identity(appid.name, instance_id),
        "plan": None,
        "reasons": [],
        "holder": None,
        "source": None,
        "target": None,
    }
    way = selectors.target_of(appid, instance_id, look)
    if way is None:
        return shown
    shown["source"], shown["target"] = way
    try:
        plan = services.plan_for(appid, instance_id, way[1])
    except services.Refused as refusal:
        return {**shown, "reasons": refusal.reasons}
    connections, silent = engines.ask_each(look.answering, "/clients", "clients", appid=appid.name)
    mirrors = Mirror.objects.filter(pair=appid.pair_id, name__in=plan.mirrors).select_related(
        "source", "pair__first", "pair__second"
    )
    return {
        **shown,
        "plan": plan,
        "holder": services.overlapping(plan),
        "plan_mirrors": [(mirror, states.of_mirror(mirror)) for mirror in mirrors],
        "plan_clients": sorted({c["client_id"] for c in connections if plan.covers(c["client_id"])}),
        "silent": silent,
    }
