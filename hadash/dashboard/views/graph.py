"""The binding graph: the map of all islands of a pair, one island, and one thing with its surroundings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.roles import pairs_where
from hadash.dashboard.charts import island_map, one_island
from hadash.dashboard.charts.chart import Chart, asked_csv
from hadash.dashboard.graph import maps
from hadash.dashboard.graph.focusing import flows_of
from hadash.dashboard.graph.nodes import Focus, focus_of, word_of
from hadash.dashboard.graph.surroundings import Surroundings, surroundings_of
from hadash.dashboard.views.common import address_with, searched, user_of
from hadash.governance import selectors
from hadash.governance.models.published import Island
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, Pair
from hadash.presentation.tables import THING_WORDS
from hadash.radius.nodes import APPID, GROUP, INSTANCE, TOPIC

#: The kinds of things that have a page with their surroundings.
KINDS = (APPID, INSTANCE, TOPIC, GROUP)


def _pairs(request: HttpRequest) -> list[Pair]:
    return list(pairs_where(user_of(request)).select_related("first", "second").order_by("name"))


def _pair(request: HttpRequest, pairs: list[Pair]) -> Pair | None:
    """Return the pair that the address names, or the first.

    :raises Http404: there is no pair of that name.
    """
    name = searched(request, "pair")
    found = next((pair for pair in pairs if pair.name == name), None)
    if name and found is None:
        raise Http404(_("There is no pair %(name)s.") % {"name": name})
    return found or (pairs[0] if pairs else None)


def _run(request: HttpRequest, name: str, runs: list[Run]) -> Run | None:
    """Return the run that the address names; ``None`` also for a run that is gone."""
    wanted = searched(request, name)
    return next((run for run in runs if str(run.pk) == wanted), None)


#: Most cached maps of published runs, each in one language.
REMEMBERED = 32


@require_GET
def graph(request: HttpRequest) -> HttpResponseBase:
    """Render the map of a pair. ``?pair=``; ``?run=`` selects an earlier run, ``?since=`` a run to compare it with,
    ``?island=`` one island, or ``?kind=``, ``?appid=`` and ``?name=`` that of a thing; ``?csv=`` names a chart.
    """
    pairs = _pairs(request)
    pair = _pair(request, pairs)
    runs = maps.runs_with_map()
    run = _run(request, "run", runs) or (runs[-1] if runs else None)
    since = _run(request, "since", runs)
    if run is None or (since is not None and since.pk >= run.pk):
        since = None
    context: dict[str, Any] = {"pairs": pairs, "pair": pair, "run": run, "runs": runs, "since": since}
    if pair is None or run is None:
        return render(request, "graph/map.html", context)
    around = _around(request, pair)
    if around is not None and (number := maps.island_of(run, around)) is not None:
        here = address_with(request, island=str(number), kind=None, appid=None, name=None)
        return redirect(request.path + here)
    chart, island = _opened(request, run, pair, since) if searched(request, "island") else (None, None)
    chart = chart or _map(run, pair, since, _clusters(pair), get_language())
    if (asked := asked_csv(request, [chart])) is not None:
        return asked
    if island is not None:
        around = focus_of(pair.name, island.kind, island.appid, island.names)
    context |= {
        "chart": chart,
        "island": island,
        "unknown": around if island is None else None,
        "slider": [(each, _at(request, each, around)) for each in runs],
        "place": runs.index(run),
        "newest": run == selectors.published(Run.Job.TOPOLOGY),
        "earlier": [each for each in reversed(runs) if each.pk < run.pk],
        "whole": address_with(request, island=None),
    }
    return render(request, "graph/map.html", context)


def _around(request: HttpRequest, pair: Pair) -> Focus | None:
    """Return the thing whose island is asked for, instead of an island by its number; ``None`` for no thing."""
    kind = searched(request, "kind")
    if kind not in KINDS or searched(request, "island"):
        return None
    return Focus(pair.name, kind, searched(request, "appid"), searched(request, "name"))


def _at(request: HttpRequest, run: Run, around: Focus | None) -> str:
    """Return the address of this page for another run. Numbers of islands are only valid within one run: the island
    there is the one of the thing in the centre of this one.
    """
    named = {"kind": around.kind, "appid": around.appid, "name": around.name} if around is not None else {}
    return address_with(request, run=str(run.pk), island=None, **named)


def _opened(request: HttpRequest, run: Run, pair: Pair, since: Run | None) -> tuple[Chart, Island]:
    wanted = searched(request, "island")
    row = (
        Island.objects.filter(run=run, pair=pair.name, island=int(wanted)).first()
        if wanted.isdigit() and len(wanted) < 19
        else None
    )
    if row is None:
        raise Http404(_("There is no island %(number)s in this run.") % {"number": wanted})
    word = word_of(row.kind, row.appid, row.names)
    spots = maps.spots_of_island(run, pair, row.island, since)
    return one_island.one_island(_clusters(pair), word, spots, row.things, _since_word(since)), row


@lru_cache(maxsize=REMEMBERED)
def _map(run: Run, pair: Pair, since: Run | None, clusters: tuple[str, str], language: str) -> Chart:
    """Return the map in the active ``language``. Cached: published runs do not change."""
    islands, rest = maps.islands_of(run, pair)
    spots = maps.spots_of(run, pair, since)
    return island_map.island_map(clusters, islands, spots, rest, _since_word(since))


def _since_word(since: Run | None) -> str:
    return _("run %(number)s") % {"number": since.pk} if since is not None else ""


def _clusters(pair: Pair) -> tuple[str, str]:
    return pair.first.name, pair.second.name


@require_GET
def focus(request: HttpRequest) -> HttpResponseBase:
    """Render a thing with its surroundings. ``?pair=``, ``?kind=`` (appid, instance, topic or group), ``?appid=`` and
    ``?name=`` name it, ``?run=`` selects an earlier run; ``?internal=1`` draws internal Topics as well; ``?csv=``
    names the chart. Without them, redirect to the map.
    """
    pairs = _pairs(request)
    pair = _pair(request, pairs)
    asked = {name: searched(request, name) for name in ("kind", "appid", "name")}
    kind = asked["kind"] if asked["kind"] in KINDS else APPID
    needed = {APPID: ("appid",), INSTANCE: ("appid", "name"), TOPIC: ("name",), GROUP: ("name",)}[kind]
    if pair is None or not all(asked[name] for name in needed):
        return redirect("graph")
    newest = selectors.published(Run.Job.TOPOLOGY)
    past = _run(request, "run", maps.runs_with_map()) if searched(request, "run") else None
    run = past or newest
    wanted = Focus(
        pair.name, kind, **{name: asked[name] for name in needed}, run=past.pk if past is not None else None
    )
    with_internal = searched(request, "internal") == "1"
    found = surroundings_of(run, wanted, with_internal=with_internal) if run else Surroundings([])
    chart = flows_of(pair, wanted, found)
    if (csv := asked_csv(request, [chart])) is not None:
        return csv
    appid = AppID.objects.filter(pair=pair, name=wanted.appid).first() if wanted.appid else None
    context = {
        "pair": pair,
        "focus": wanted,
        "kind": THING_WORDS[kind],
        "chart": chart,
        "found": found,
        "run": run,
        "with_internal": address_with(request, internal="1") if found.internal_left_out else "",
        "as_it_is": "" if run == newest else address_with(request, run=None),
        "appid": appid,
        "island": _island_of(run, wanted) if run else "",
    }
    return render(request, "graph/focus.html", context)


def _island_of(run: Run, wanted: Focus) -> str:
    """Return the address of the island that a thing is on; empty when the run does not know the thing."""
    island = maps.island_of(run, wanted)
    return "" if island is None else f"{reverse('graph')}?pair={wanted.pair}&run={run.pk}&island={island}"
