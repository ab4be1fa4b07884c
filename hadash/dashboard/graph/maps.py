"""Data for the map from a published run, and its changes since an earlier one."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from django.db import connection
from django.db.models import Count, Max, Sum
from django.urls import reverse

from hadash.dashboard.charts.island_map import IslandSpot, Rest, spread
from hadash.dashboard.charts.map_marks import Spot, Turn
from hadash.dashboard.graph.nodes import SYMBOLS, Focus, focus_of, word_of
from hadash.governance.models.published import Island, Mark, Node
from hadash.governance.models.runs import Run
from hadash.governance.selectors import published_runs
from hadash.inventory.models import Pair
from hadash.radius.nodes import APPID, INSTANCE

#: Most runs that can be chosen: all that are kept.
MOST_RUNS = 40

#: The identity of a thing within its pair, across runs: (kind, AppID, names).
Named = tuple[str, str, tuple[str, ...]]


def runs_with_map() -> list[Run]:
    """Return the published runs, the oldest first."""
    return list(published_runs(Run.Job.TOPOLOGY)[:MOST_RUNS])[::-1]


def islands_of(run: Run, pair: Pair) -> tuple[list[IslandSpot], Rest]:
    """Return (the islands that have a place on the map, the largest first; the others, counted together)."""
    rows = Island.objects.filter(run=run, pair=pair.name)
    placed = list(rows.filter(x__isnull=False).order_by("-things", "island"))
    rest = rows.filter(x__isnull=True).aggregate(
        islands=Count("pk"), most=Max("things"), all_things=Sum("things")
    )
    spots = [_island(row, run, pair) for row in placed]
    listed = f"{reverse('table', args=['islands'])}?pair={pair.name}&sort=-things"
    return spots, Rest(rest["islands"], rest["all_things"] or 0, rest["most"] or 0, listed)


def _island(row: Island, run: Run, pair: Pair) -> IslandSpot:
    return IslandSpot(
        word_of(row.kind, row.appid, row.names),
        row.things,
        row.appids,
        row.topics,
        row.groups,
        row.cluster,
        row.radius_instance,
        f"{reverse('graph')}?pair={pair.name}&run={run.pk}&island={row.island}",
        row.x,
        row.y,
        row.r,
    )


def spots_of(run: Run, pair: Pair, since: Run | None = None) -> list[Spot]:
    """Return all things that are drawn, in the map's units.

    :param since: an earlier run: things that are gone since then are included at their old places.
    """
    now, circles = _marks(run, pair), _circles(run, pair)
    spots = {
        name: _spot(mark, circles[mark.island], pair, run)
        for name, mark in now.items()
        if mark.island in circles
    }
    if since is None:
        return list(spots.values())
    before, were = _marks(since, pair), _circles(since, pair)
    # A thing that was not drawn may still have existed, with too few neighbours to be drawn; the same holds for
    # things that are not drawn now.
    clusters = {name: mark.cluster for name, mark in before.items()}
    clusters |= _clusters_of(since, pair, spots.keys() - before.keys())
    gone = [name for name, mark in before.items() if name not in now and mark.island in were]
    there = _clusters_of(run, pair, gone)
    return [replace(spot, turn=_turn(clusters.get(name), spot.cluster)) for name, spot in spots.items()] + [
        _spot(before[name], were[before[name].island], pair, since, Turn.GONE)
        for name in gone
        if name not in there
    ]


def _turn(before: str | None, now: str) -> Turn:
    if before is None:
        return Turn.NEW
    return Turn.SAME if before == now else Turn.MOVED


def _clusters_of(run: Run, pair: Pair, names: Collection[Named]) -> dict[Named, str]:
    """Return the clusters of those things that a run knows, drawn or not."""
    if not names:
        return {}
    kinds, appids, lists = zip(*((kind, appid, json.dumps(own)) for kind, appid, own in names), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, appid, names::text, cluster FROM governance_node JOIN unnest(%s::text[], "
            "%s::text[], %s::jsonb[])"
            " AS asked (kind, appid, names) USING (kind, appid, names) WHERE run_id = %s AND pair = %s",
            [list(kinds), list(appids), list(lists), run.pk, pair.name],
        )
        return {
            (kind, appid, tuple(json.loads(own))): cluster for kind, appid, own, cluster in cursor.fetchall()
        }


#: The circle of an island that is drawn by itself.
_ALONE = (0.0, 0.0, 1.0)


def spots_of_island(run: Run, pair: Pair, island: int, since: Run | None = None) -> list[Spot]:
    """Return the drawn things of one island, on a circle of radius 1.

    :param since: an earlier run: things that are gone since then are included, of the islands on which those that are
        still there were.
    """
    marks = Mark.objects.filter(run=run, pair=pair.name, island=island).order_by("number")
    now = {_name(mark): _spot(mark, _ALONE, pair, run) for mark in marks}
    if since is None:
        return list(now.values())
    before = _marks(since, pair)
    clusters = {name: mark.cluster for name, mark in before.items()}
    clusters |= _clusters_of(since, pair, now.keys() - before.keys())
    were = {mark.island for name, mark in before.items() if name in now}
    missing = {name: mark for name, mark in before.items() if mark.island in were and name not in now}
    there = _clusters_of(run, pair, missing.keys())
    # (Numbers are of one run: those of another must not be taken for them where lines are drawn.)
    gone = [
        replace(_spot(mark, _ALONE, pair, since, Turn.GONE), number=-1 - mark.number, lines=())
        for name, mark in missing.items()
        if name not in there
    ]
    return [replace(spot, turn=_turn(clusters.get(name), spot.cluster)) for name, spot in now.items()] + gone


def _name(mark: Mark) -> Named:
    return mark.kind, mark.appid, tuple(mark.names)


def _marks(run: Run, pair: Pair) -> dict[Named, Mark]:
    return {_name(mark): mark for mark in Mark.objects.filter(run=run, pair=pair.name).order_by("number")}


def _circles(run: Run, pair: Pair) -> dict[int, tuple[float, float, float]]:
    rows = Island.objects.filter(run=run, pair=pair.name, x__isnull=False)
    return {row.island: (row.x or 0.0, row.y or 0.0, row.r or 0.0) for row in rows}


def _spot(
    mark: Mark, circle: tuple[float, float, float], pair: Pair, run: Run, turn: Turn = Turn.SAME
) -> Spot:
    """Return a mark as a spot on the map.

    :param run: the run that has the mark: a click opens the thing as of that run.
    """
    x, y = spread(mark.x, mark.y, circle)
    return Spot(
        mark.number,
        mark.kind,
        SYMBOLS.get(mark.kind, "circle"),
        word_of(mark.kind, mark.appid, mark.names),
        mark.cluster,
        mark.radius_instance,
        mark.neighbours,
        x,
        y,
        focus_of(pair.name, mark.kind, mark.appid, mark.names, run.pk).href,
        tuple(mark.leads_to),
        turn,
    )


def island_of(run: Run, wanted: Focus) -> int | None:
    """Return the number of the island that a thing is on; ``None`` when the run does not know the thing."""
    node = node_of(run, wanted)
    return node.island if node else None


def node_of(run: Run, wanted: Focus) -> Node | None:
    """Return the row of a thing; for an AppID the row with the largest radius. An InstanceID that is not registered
    moves with its AppID, so it gets that row.
    """
    nodes = Node.objects.filter(run=run, pair=wanted.pair)
    own = nodes.filter(appid=wanted.appid).order_by("-radius_instance", "pk")
    if wanted.kind == APPID:
        return own.first()
    if wanted.kind == INSTANCE:
        return own.filter(kind=INSTANCE, names=[wanted.name]).first() or own.filter(kind=APPID).first()
    return nodes.filter(kind=wanted.kind, appid="", names=[wanted.name]).first()
