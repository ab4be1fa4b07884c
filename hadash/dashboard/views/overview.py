"""The first page: whether it is safe to switch now, and the state of the fleet, from the running system."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from hadash.accounts.roles import VIEW, may_somewhere, pairs_where
from hadash.dashboard import tiles
from hadash.dashboard.views.common import user_of
from hadash.governance.selectors import pair_names
from hadash.inventory import workers
from hadash.presentation import badges, batches, changes, engines, posture, selectors
from hadash.presentation.pair_verdicts import pair_views
from hadash.presentation.published_tables import jobs_for
from hadash.switching import policy
from hadash.switching.handovers import counting as handovers

#: Most waiting changes of bindings that are shown; the inbox has all of them.
CHANGES_SHOWN = 10


def overview(request: HttpRequest) -> HttpResponse:
    """Render the page, or with htmx only the part that changes."""
    template = "overview/live.html" if request.headers.get("HX-Request") else "overview/page.html"
    return render(request, template, _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    user = user_of(request)
    look = engines.look_at_gateways()
    connected = engines.look_at_connected()
    names = pair_names(user)
    standing = posture.standing(names)
    now = timezone.now()
    known_workers = workers.known()
    there = [worker for worker in known_workers if workers.is_there(worker, now)]
    switching = sum(workers.SWITCHES in worker.queues for worker in there)
    visible_pairs = list(pairs_where(user).select_related("first", "second", "default"))
    pairs = pair_views(visible_pairs, look, connected.silent, standing, switching)
    visible = {cluster.name for each in pairs for cluster in each.pair.clusters}
    shown = [who for who in connected.connections if who[2] in visible]
    running, waiting = _with_state(selectors.running(user)), list(selectors.waiting_for(user))
    gateways = [(gateway, badges.of_gateway(gateway, look.epoch)) for gateway in look.gateways]
    clients = len({(appid, client_id) for appid, client_id, _cluster in shown}) if look.answering else None
    parked = sum(connected.parked[who] for who in shown)
    days = posture.daily(names)
    jobs = jobs_for(user)
    rpos = set(policy.rpos(each.pair for each in pairs).values())
    return {
        "now": now,
        "nothing_to_see": not may_somewhere(user, VIEW),
        "engines": look,
        "pairs": pairs,
        "tiles": [
            *tiles.of_posture(standing, names, rpos.pop() if len(rpos) == 1 else None),
            tiles.of_switches(user, len(running), len(waiting)),
            tiles.of_pipeline(jobs, sum(job.alarm is not None for job in jobs), days),
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
        "batches": batches.rows(batches.running(user)),
        "waiting_batches": batches.rows(batches.waiting_for(user)),
        "running": running,
        "waiting": [(switch, badges.of_waiting(switch)) for switch in waiting],
        "waiting_changes": [
            (change, badges.of_row(change)) for change in changes.waiting_for(user)[:CHANGES_SHOWN]
        ],
        "recent": _with_state(selectors.recent(user)),
    }


def _with_state(switches: Any) -> list[tuple[Any, badges.State]]:
    return [(switch, badges.of_row(switch)) for switch in switches]
