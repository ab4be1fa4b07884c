"""A graph of a fleet, as runs of the job Topology publish it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from hadash.governance.models.published import Edge, Island, Mark, Node
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.radius.fleet import Fleet
from hadash.radius.nodes import GROUP, TOPIC, AccessEdge
from spark.transform.packing import packed
from spark.transform.radii import node_rows


def publish_graph(
    pair: Pair, uses: Iterable[AccessEdge], *, west: Iterable[str] = (), at: datetime | None = None
) -> Run:
    """:param west: the Topics that are mirrored from west, with the clients that use them there."""
    from hadash.radius.fleet import MirrorOf

    used, at = list(uses), at or timezone.now()
    run = Run.objects.create(job=Run.Job.TOPOLOGY, state=Run.State.PUBLISHED, began_at=at, ended_at=at)
    mirrors = (MirrorOf("back", "west", frozenset(west)),) if west else ()
    fleet = Fleet(pair.name, ("east", "west"), "east", tuple(used), {}, {}, mirrors)
    rows = list(node_rows(fleet))
    for row in rows:
        common = {n: row[n] for n in ("kind", "appid", "names", "cluster", "island", "radius_instance")}
        Node.objects.create(run=run, pair=pair.name, radius_appid=row["radius_appid"], **common)
        drawn = {name: row[name] for name in ("number", "neighbours", "x", "y", "leads_to")}
        Mark.objects.create(run=run, pair=pair.name, **common, **drawn)
    _islands(run, pair, rows)
    Edge.objects.bulk_create(
        Edge(
            run=run,
            pair=pair.name,
            appid=use.appid,
            client_id=use.client_id,
            kind=use.kind,
            resource=use.resource,
            cluster="east",
            hosts=1,
            requests=10,
            records=100,
            bytes=1000,
            first_seen=at - timedelta(days=3),
            last_seen=at,
        )
        for use in used
    )
    return run


def _islands(run: Run, pair: Pair, rows: list[dict[str, Any]]) -> None:
    by_island: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_island[row["island"]].append(row)
    ordered = sorted(by_island.items(), key=lambda item: (-len(item[1]), item[0]))
    places = packed(((island, len(own)) for island, own in ordered), {})
    for island, own in ordered:
        hub = max(own, key=lambda row: (row["neighbours"], -row["number"]))
        clusters = {row["cluster"] for row in own}
        Island.objects.create(
            run=run,
            pair=pair.name,
            island=island,
            kind=hub["kind"],
            appid=hub["appid"],
            names=hub["names"],
            things=len(own),
            appids=len({row["appid"] for row in own} - {""}),
            identities=sum(row["kind"] not in (TOPIC, GROUP) for row in own),
            topics=sum(row["kind"] == TOPIC for row in own),
            groups=sum(row["kind"] == GROUP for row in own),
            cluster=clusters.pop() if len(clusters) == 1 else "",
            radius_instance=max(row["radius_instance"] for row in own),
            radius_appid=max(row["radius_appid"] for row in own),
            x=places[island].x,
            y=places[island].y,
            r=places[island].r,
        )


def uses_of(
    appid: str, *, produce: Iterable[str] = (), consume: Iterable[str] = (), group: str = ""
) -> list[AccessEdge]:
    """Those of one client of an AppID."""
    client = f"{appid}-1"
    found = [AccessEdge(appid, client, "produce", topic) for topic in produce]
    found += [AccessEdge(appid, client, "consume", topic) for topic in consume]
    return [*found, AccessEdge(appid, client, "group", group)] if group else found


#: The shop writes what two others read; a ledger has its own Topic.
FLEET = [
    *uses_of("shop", produce=["orders", "clicks"]),
    *uses_of("audit", consume=["orders"], group="auditors"),
    *uses_of("search", consume=["clicks"], group="indexers"),
    *uses_of("ledger", produce=["bookings"], consume=["bookings"], group="ledger"),
]
