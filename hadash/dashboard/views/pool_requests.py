"""Asking for changes of pools: a new pool, a Topic for one, and what else can be done to one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import OPERATE, pairs_where
from hadash.changes import Status
from hadash.coordinator.strategies import STRATEGIES
from hadash.dashboard.pool_forms import OFFERED, STRATEGY_WORDS, PoolForm, TopicForm, change_of
from hadash.dashboard.views.common import address_of, denied, faults_of, searched, typed, user_of
from hadash.inventory.models import Cluster
from hadash.pools import applier, consumers, requests
from hadash.pools.actions import Action, Change
from hadash.presentation import pools
from hadash.presentation.localized import sentence
from hadash.presentation.pool_actions import WORDS
from hadash.presentation.pools import PoolRow, PoolsLook
from hadash.refusals import Refused
from hadash.sentences import say


@require_http_methods(["GET", "POST"])
def new_pool(request: HttpRequest) -> HttpResponse:
    """Create a pool. POST: the fields of :class:`PoolForm` and ``reason``."""
    if not requests.may_change(user_of(request), None):
        return denied(request, PermissionDenied("You may not change pools of consumers."), OPERATE)
    form = PoolForm(request.POST) if request.method == "POST" else PoolForm()
    context: dict[str, Any] = {"form": form, "reason": typed(request, "reason"), "refusals": []}
    if request.method == "GET":
        return render(request, "pools/new.html", context)
    if not form.is_valid():
        return render(request, "pools/new.html", context | {"refusals": faults_of(form)}, status=409)
    values = form.cleaned_data
    change = Change(values["name"], Action.CREATE, strategy=values["strategy"])
    look = pools.look(user_of(request))
    try:
        taken = next((row for row in look.pools if row.name == values["name"]), None)
        return _submitted(request, change, taken, look, values["name"])
    except Refused as refusal:
        return render(request, "pools/new.html", context | {"refusals": refusal.reasons}, status=409)


@require_http_methods(["GET", "POST"])
def add_topic(request: HttpRequest, name: str) -> HttpResponse:
    """Let a pool read a Topic. POST: the fields of :class:`TopicForm` and ``reason``."""
    row, look = pools.the_pool(user_of(request), name)
    if not requests.may_change(user_of(request), row.pair if row is not None else None):
        return _may_not(request, row)
    clusters = _clusters(user_of(request))
    form = TopicForm(request.POST or None, clusters=clusters)
    context: dict[str, Any] = {
        "name": name,
        "form": form,
        "clusters": sorted(clusters),
        "reason": typed(request, "reason"),
        "refusals": [],
    }
    if request.method == "GET":
        return render(request, "pools/topic.html", context)
    if not form.is_valid():
        return render(request, "pools/topic.html", context | {"refusals": faults_of(form)}, status=409)
    values = form.cleaned_data
    try:
        change = consumers.adding(
            name, values["topic"], clusters[values["cluster"]], values["group"], values["more"]
        )
        return _submitted(request, change, row, look, name)
    except Refused as refusal:
        return render(request, "pools/topic.html", context | {"refusals": refusal.reasons}, status=409)


def _clusters(user: Any) -> dict[str, Cluster]:
    """Return the clusters of the pairs where a user may change pools, by name."""
    pairs = pairs_where(user, OPERATE).filter(first__generated=False).select_related("first", "second")
    return {cluster.name: cluster for pair in pairs for cluster in pair.clusters}


@require_http_methods(["GET", "POST"])
def change_pool(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for a change of a pool. GET: ``?action=``, with ``member``, ``topic`` or ``strategy``. POST: the same with
    ``reason`` and, where the change wants it, ``typed``. An action that there is not leads to the pool.
    """
    row, look = pools.the_pool(user_of(request), name)
    if not requests.may_change(user_of(request), row.pair if row is not None else None):
        return _may_not(request, row)
    values = request.POST if request.method == "POST" else request.GET
    asked = {
        key: (typed if request.method == "POST" else searched)(request, key)
        for key in ("member", "topic", "strategy")
    }
    action = next(
        (each for each in OFFERED if each is not Action.ADD_TOPIC and each == values.get("action")), None
    )
    if action is None:
        return redirect("pool", name=name)
    change = change_of(name, action, asked)
    context: dict[str, Any] = {
        "name": name,
        "row": row,
        "change": change,
        "words": WORDS[action],
        "chooses": action in (Action.STRATEGY, Action.SHADOW),
        "may_choose_none": action is Action.SHADOW,
        "isolates": action is Action.ISOLATE,
        "member": next((each for each in row.members if each.name == change.member), None) if row else None,
        "choices_of_strategy": [(each, STRATEGY_WORDS[each]) for each in sorted(STRATEGIES)],
        "approvals_needed": requests.approvals_of(row.pair if row is not None else None),
        "reason": typed(request, "reason"),
        "typed": typed(request, "typed"),
        "refusals": [],
    }
    if request.method == "GET":
        return render(request, "pools/change.html", context)
    try:
        return _submitted(request, change, row, look, name)
    except Refused as refusal:
        return render(request, "pools/change.html", context | {"refusals": refusal.reasons}, status=409)


def _submitted(
    request: HttpRequest, change: Change, row: PoolRow | None, look: PoolsLook, name: str
) -> HttpResponse:
    """Submit a change, and lead to its pool, or to the change while it waits. :raises Refused: it is refused."""
    if look.fault:
        raise Refused(say("ZooKeeper does not answer (%(fault)s): no pool can be changed.", fault=look.fault))
    pair = row.pair if row is not None else None
    asked = requests.ChangeRequest(
        user_of(request),
        pair,
        change,
        typed(request, "reason"),
        row.view if row is not None else None,
        {each.name for each in row.members} if row is not None else (),
        typed(request, "typed"),
        address_of(request),
        browser_of(request),
    )
    try:
        held = requests.request(asked, applier.apply)
    except PermissionDenied as error:
        return denied(request, error, OPERATE, pair)
    held.refresh_from_db()
    if held.current is Status.APPLIED:
        messages.success(request, _("Done: %(what)s") % {"what": sentence(held.sentence)})
        return redirect("pools") if change.action is Action.DELETE else redirect("pool", name=name)
    if held.current is Status.AWAITING_APPROVAL:
        messages.success(request, _("The change is requested. Somebody else has to approve it."))
    return redirect("pool-change", key=held.key)


def _may_not(request: HttpRequest, row: PoolRow | None) -> HttpResponse:
    error = PermissionDenied("You may not change pools of consumers.")
    return denied(request, error, OPERATE, row.pair if row is not None else None)
