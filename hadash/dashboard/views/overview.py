"""The first page: whether it is safe to switch now, and the state of the fleet, from the running system."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from hadash.accounts.roles import VIEW, may_somewhere, pairs_where
from hadash.dashboard import tiles
from hadash.dashboard.context import frame
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.views.common import user_of
from hadash.inventory import workers
from hadash.inventory.selectors import without_access
from hadash.pipeline import schedules
from hadash.presentation import badges, batches, changes, engines, pools, posture, selectors
from hadash.presentation.inbox import inbox_of
from hadash.presentation.pair_verdicts import pair_views
from hadash.presentation.published_tables import jobs_for
from hadash.switching.handovers import counting as handovers
from hadash.switching.machines.switches import Status

#: Most waiting changes of bindings that are shown; the inbox has all of them.
CHANGES_SHOWN = 10


def overview(request: HttpRequest) -> HttpResponseBase:
    """Render the page, or with htmx only the part that changes; ``?format=csv`` returns the trends of its figures."""
    if request.GET.get("format") == "csv":
        return csv_response("trends", *tiles.trends(_context(request)["tiles"]))
    template = "overview/live.html" if request.headers.get("HX-Request") else "overview/page.html"
    return render(request, template, _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    user = user_of(request)
    look = engines.look_at_gateways()
    connected = engines.look_at_connected()
    clusters = ("first", "second", "default")
    found = without_access(pairs_where(user).order_by("name").select_related(*clusters), *clusters)
    visible_pairs = sorted(found, key=lambda pair: pair.generated)  # (those that can be switched first)
    names = [pair.name for pair in visible_pairs]
    standing = posture.standing(names)
    now = timezone.now()
    known_workers = workers.known()
    there = [worker for worker in known_workers if workers.is_there(worker, now)]
    switching = sum(workers.SWITCHES in worker.queues for worker in there)
    pairs = pair_views(visible_pairs, look, connected.silent, standing, switching)
    visible = {cluster.name for each in pairs for cluster in each.pair.clusters}
    shown = [who for who in connected.connections if who[2] in visible]
    inbox = inbox_of(user)
    keys = [*inbox.running_switches, *inbox.waiting_switches]
    switches = list(selectors.switches(user).filter(pk__in=keys)) if keys else []
    running = _with_state(each for each in switches if each.pk in inbox.running_switches)
    waiting = [each for each in switches if each.pk in inbox.waiting_switches]
    gateways = [(gateway, badges.of_gateway(gateway, look.epoch)) for gateway in look.gateways]
    told = {gateway.id for gateway in look.answering} - {*connected.silent}
    clients = len({(appid, client_id) for appid, client_id, _cluster in shown}) if told else None
    parked = sum(connected.parked[who] for who in shown)
    days = posture.daily(names)
    every_job = schedules.overview()
    jobs = jobs_for(user, every_job)
    return {
        **frame(request, inbox, every_job),
        "now": now,
        "nothing_to_see": not may_somewhere(user, VIEW),
        "engines": look,
        "pairs": pairs,
        "tiles": [
            *tiles.of_posture(standing),
            tiles.of_lag(pairs),
            tiles.of_switches(user, sum(each.status == Status.RUNNING for each in switches)),
            tiles.of_inbox(user, inbox.waiting),
            tiles.of_pipeline(jobs, sum(job.alarm is not None for job in jobs), days),
            tiles.of_clusters(pairs, days),
            tiles.of_clients(clients, parked, days),
            tiles.of_gateways(gateways, look.epoch if not look.fault else None, days),
            tiles.of_workers(len(there), len(known_workers), days),
        ],
        "workers": [(worker, badges.of_worker(worker, now)) for worker in known_workers],
        "gateways": gateways,
        "silent": connected.silent,
        "handover_faults": handovers.faults(),
        "handover_days": handovers.SHOWN_DAYS,
        "retirements": [(one, badges.of_row(one)) for one in selectors.retirements(user)],
        "batches": batches.rows_of(user, inbox.running_batches),
        "waiting_batches": batches.rows_of(user, inbox.waiting_batches),
        "running": running,
        "waiting": [(switch, badges.of_waiting(switch)) for switch in waiting],
        "waiting_changes": [
            (change, badges.of_row(change))
            for change in changes.with_keys(user, inbox.waiting_changes)[:CHANGES_SHOWN]
        ],
        "waiting_pool_changes": [
            (change, badges.of_row(change))
            for change in pools.with_keys(user, inbox.waiting_pool_changes)[:CHANGES_SHOWN]
        ],
        "recent": _with_state(selectors.recent(user)),
    }


def _with_state(switches: Any) -> list[tuple[Any, badges.State]]:
    return [(switch, badges.of_row(switch)) for switch in switches]
