"""The surroundings of a thing in a published run: its users, and what else they use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q

from hadash.dashboard.charts.flows import Flow
from hadash.dashboard.graph.maps import node_of
from hadash.dashboard.graph.nodes import Focus
from hadash.governance.models.published import Edge, Node
from hadash.governance.models.runs import Run
from hadash.radius.nodes import APPID, GROUP, INSTANCE, TOPIC

#: Most uses of the thing itself and of its surroundings that are read, and most other AppIDs whose uses are read.
MOST_OWN, MOST_AROUND, MOST_APPIDS = 3000, 1500, 12

#: What internal Topics are called: Kafka's own (``__consumer_offsets``), and by the same convention those of its tools.
INTERNAL_PREFIX = "__"

_FIELDS = ("appid", "client_id", "kind", "resource", "cluster", "records", "last_seen")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a thing.

    :param flows: uses by clients, those of the thing itself first.
    :param appids_left_out: the number of other AppIDs that use the same but are not included.
    :param uses_left_out: the number of uses of the thing itself beyond the limit.
    :param internal_left_out: the number of its uses of internal Topics, which are not drawn unless they are asked for.
    :param radius: how much moves with it by InstanceIDs, and ``radius_by_appid`` by AppIDs; ``None`` when unknown.
    """

    flows: list[Flow]
    appids_left_out: int = 0
    uses_left_out: int = 0
    internal_left_out: int = 0
    radius: int | None = None
    radius_by_appid: int | None = None


def surroundings_of(run: Run, focus: Focus, *, with_internal: bool = False) -> Surroundings:
    """Return the uses of a thing, then those of the AppIDs that share the most with it.

    :param with_internal: include internal Topics. One that is itself looked at is there in any case.
    """
    edges = Edge.objects.filter(run=run, pair=focus.pair)
    own_rows = edges.filter(_is_own(focus))
    read = list(own_rows.order_by("-records", "pk").values(*_FIELDS)[: MOST_OWN + 1])
    left_out = own_rows.count() - MOST_OWN if len(read) > MOST_OWN else 0
    own = read
    if not with_internal and not (focus.kind == TOPIC and focus.name.startswith(INTERNAL_PREFIX)):
        own = [row for row in read if not _is_internal(row)]
        edges = edges.exclude(Q(resource__startswith=INTERNAL_PREFIX) & ~Q(kind=GROUP))
    resources = {row["resource"] for row in own}
    sharing = edges.filter(resource__in=resources).exclude(_is_own(focus))
    if focus.kind in (TOPIC, GROUP):
        # Its users are included already: its surroundings are what else they use.
        sharing = edges.filter(appid__in={row["appid"] for row in own}).exclude(_is_own(focus))
    ranked = list(sharing.order_by().values("appid").annotate(uses=Count("pk")).order_by("-uses", "appid"))
    chosen = [row["appid"] for row in ranked[:MOST_APPIDS]]
    around = list(sharing.filter(appid__in=chosen).order_by("-records", "pk").values(*_FIELDS)[:MOST_AROUND])
    return Surroundings(
        _flows(own[:MOST_OWN], is_own=True) + _flows(around, is_own=False),
        max(0, len(ranked) - MOST_APPIDS),
        left_out,
        len(read) - len(own),
        *_radii(run, focus),
    )


def _is_internal(row: dict[str, Any]) -> bool:
    return row["kind"] != GROUP and row["resource"].startswith(INTERNAL_PREFIX)


def _is_own(focus: Focus) -> Q:
    if focus.kind == GROUP:
        return Q(resource=focus.name, kind=GROUP)
    if focus.kind == TOPIC:
        return Q(resource=focus.name) & ~Q(kind=GROUP)
    own = Q(appid=focus.appid)
    return own & Q(client_id=focus.name) if focus.kind == INSTANCE else own


def _flows(rows: Iterable[dict[str, Any]], *, is_own: bool) -> list[Flow]:
    return [
        Flow(
            row["appid"],
            row["client_id"] or "",
            row["kind"],
            row["resource"],
            row["cluster"],
            row["records"],
            row["last_seen"],
            is_own,
        )
        for row in rows
    ]


def _radii(run: Run, focus: Focus) -> tuple[int | None, int | None]:
    node = node_of(run, focus)
    if node is None:
        return None, None
    if focus.kind != APPID:
        return node.radius_instance, node.radius_appid
    whole = Node.objects.filter(run=run, pair=focus.pair, appid=focus.appid).aggregate(
        most=Max("radius_appid")
    )
    return node.radius_instance, whole["most"]
