"""The first page: everything at a glance, from the running system."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from hadash.accounts.roles import VIEW, may_somewhere, pairs_where
from hadash.dashboard import batches, changes, engines, selectors, states
from hadash.dashboard.views.common import user_of
from hadash.switching.handovers import counting as handovers

#: AppIDs on the overview; the rest are one click away.
APPIDS_SHOWN = 40

#: Changes of bindings that wait; the inbox has all of them.
CHANGES_SHOWN = 10


def overview(request: HttpRequest) -> HttpResponse:
    """The page, or with htmx only what changes."""
    template = "overview/live.html" if request.headers.get("HX-Request") else "overview/page.html"
    return render(request, template, _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    user = user_of(request)
    look = engines.look()
    appids = list(selectors.appids(user)[: APPIDS_SHOWN + 1])
    gateways = [(gateway, states.of_gateway(gateway, look.epoch)) for gateway in look.gateways]
    connected, silent = engines.ask_each(look.answering, "/clients", "clients")
    observed, covered = selectors.estate_coverage(user)
    visible = {
        cluster.name
        for pair in pairs_where(user).select_related("first", "second")
        for cluster in pair.clusters
    }
    connected = [client for client in connected if client["cluster"] in visible]
    pairs = [_pair(pair) for pair in selectors.pairs(user)]
    return {
        "now": timezone.now(),
        "nothing_to_see": not may_somewhere(user, VIEW),
        "engines": look,
        "pairs": pairs,
        "mirror_count": sum(len(pair["mirrors"]) for pair in pairs),
        "worst_mirror": _worst(pairs),
        "appids": selectors.bound_appids(appids[:APPIDS_SHOWN], look),
        "more_appids": len(appids) > APPIDS_SHOWN,
        "gateways": gateways,
        "gateways_fine": sum(state.look == "fine" for _gateway, state in gateways),
        "silent": silent,
        "handover_faults": handovers.faults(),
        "handover_days": handovers.SHOWN_DAYS,
        "clients": len({(c["appid"], c["client_id"]) for c in connected}) if look.answering else None,
        "parked": sum(bool(c.get("parked")) for c in connected),
        "observed": observed,
        "covered": covered,
        "retirements": _retirements(user),
        "batches": batches.rows(batches.running(user)),
        "waiting_batches": batches.rows(batches.waiting_for(user)),
        "running": _with_state(selectors.running(user)),
        "waiting": [(switch, states.of_waiting(switch)) for switch in selectors.waiting_for(user)],
        "waiting_changes": [
            (change, states.of_change(change)) for change in changes.waiting_for(user)[:CHANGES_SHOWN]
        ],
        "recent": _with_state(selectors.recent(user)),
    }


def _retirements(user: Any) -> list[tuple[Any, states.State]]:
    return [(one, states.of_retirement(one)) for one in selectors.retirements(user)]


def _pair(pair: Any) -> dict[str, Any]:
    return {
        "pair": pair,
        "clusters": [(cluster, states.of_cluster(cluster)) for cluster in pair.clusters],
        "mirrors": [(mirror, states.of_mirror(mirror)) for mirror in pair.the_mirrors],
    }


def _worst(pairs: list[dict[str, Any]]) -> Any:
    """The mirror that is furthest behind, among those whose lag is known."""
    known = [
        mirror
        for pair in pairs
        for mirror, state in pair["mirrors"]
        if state.look == "fine" and mirror.lag_records is not None
    ]
    return max(known, key=lambda mirror: mirror.lag_records, default=None)


def _with_state(switches: Any) -> list[tuple[Any, states.State]]:
    return [(switch, states.of_status(switch)) for switch in switches]
