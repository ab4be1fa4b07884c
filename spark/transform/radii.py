"""Computes the blast radius of every node of a fleet, as the plan of a switch would. Pure; no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from hadash.radius.closure import AccessGraph, Dimension, governing_of
from hadash.radius.fleet import Fleet, is_on
from hadash.radius.nodes import GROUP, TOPIC, Node
from hadash.radius.sizes import islands, radius_sizes
from spark.transform.layout import Position, drawn_of, neighbours_of


def node_rows(
    fleet: Fleet, before: Mapping[tuple[str, str, tuple[str, ...]], Position] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows of :data:`spark.schemas.NODES_DRAWN`, in the order of the nodes.

    :param before: the positions of nodes on the last map, by kind, AppID and names.
    """
    graphs = {d: AccessGraph(fleet.uses, fleet.documents, fleet.instances, d) for d in Dimension}
    sizes = {d: _sizes(graph, fleet) for d, graph in graphs.items()}
    main, other = graphs[Dimension.INSTANCE], graphs[Dimension.APPID]
    edges, _ = main.cut()
    _, labels = islands(edges)
    neighbours = neighbours_of(edges)
    were = {n: before[place] for n, place in enumerate(main.nodes) if place in before} if before else {}
    drawn = {each.number: each for each in drawn_of(edges, labels, neighbours, were)}
    places = {(TOPIC, topic): mirror.source for mirror in fleet.mirrors for topic in mirror.topics}
    places |= {(GROUP, group): cluster for group, cluster in _clusters_of_groups(fleet).items()}
    for number, node in enumerate(main.nodes):
        cluster = _cluster_of(node, fleet, places)
        target = fleet.clusters[cluster == fleet.clusters[0]]
        place = other.number(node)
        on_map = drawn.get(number)
        yield {
            "pair": fleet.pair,
            "kind": node.kind,
            "appid": node.appid,
            "names": list(node.names),
            "cluster": cluster,
            "island": int(labels[number]),
            "radius_instance": int(sizes[Dimension.INSTANCE][target][number]),
            "radius_appid": 0 if place is None else int(sizes[Dimension.APPID][target][place]),
            "number": number,
            "neighbours": int(neighbours[number]),
            "x": on_map.x if on_map else None,
            "y": on_map.y if on_map else None,
            "leads_to": on_map.lines if on_map else [],
        }


def _sizes(graph: AccessGraph, fleet: Fleet) -> dict[str, np.ndarray[Any, Any]]:
    """Return, by target, how many nodes move with each; nodes that are already there pull in none."""
    return {
        target: radius_sizes(
            graph.cut(partial(is_on, fleet, target), there_by_default=fleet.default == target)[0]
        )
        for target in fleet.clusters
    }


def _clusters_of_groups(fleet: Fleet) -> dict[str, str]:
    """Return the cluster of each group whose members are all on one cluster."""
    found: dict[str, set[str]] = {}
    for use in fleet.uses:
        if use.kind == GROUP:
            registered = use.client_id in fleet.instances.get(use.appid, frozenset())
            who = governing_of(use, fleet.documents.get(use.appid), registered)
            found.setdefault(use.resource, set()).add(fleet.cluster_of(who))
    return {group: next(iter(clusters)) for group, clusters in found.items() if len(clusters) == 1}


def _cluster_of(node: Node, fleet: Fleet, places: Mapping[tuple[str, str], str]) -> str:
    """Return a node's cluster: that of an identity's binding, that from which a Topic is mirrored, or that of a
    group's members; else the pair's default.
    """
    found = places.get((node.kind, node.names[0])) if node.identity is None else fleet.cluster_of(node)
    return found if found in fleet.clusters else fleet.default
