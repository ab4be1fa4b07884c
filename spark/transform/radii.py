"""The blast radius of every thing of an estate, as the plan of a switch would find it. Pure; no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from hadash.switching.closure import AccessGraph, Dimension
from hadash.switching.radius import Estate, is_on
from hadash.switching.reach import islands, radius_sizes
from hadash.switching.things import Thing


def node_rows(estate: Estate) -> Iterator[dict[str, Any]]:
    """Rows of :data:`spark.schemas.NODES`, in the order of the things."""
    graphs = {d: AccessGraph(estate.uses, estate.documents, estate.instances, d) for d in Dimension}
    sizes = {d: _sizes(graph, estate) for d, graph in graphs.items()}
    main, other = graphs[Dimension.INSTANCE], graphs[Dimension.APPID]
    edges, _ = main.cut()
    _, labels = islands(edges)
    source_of_topic = {topic: mirror.source for mirror in estate.mirrors for topic in mirror.topics}
    for number, thing in enumerate(main.things):
        cluster = _cluster_of(thing, estate, source_of_topic)
        target = estate.clusters[cluster == estate.clusters[0]]
        place = other.number(thing)
        yield {
            "pair": estate.pair,
            "kind": thing.kind,
            "appid": thing.appid,
            "names": list(thing.names),
            "cluster": cluster,
            "island": int(labels[number]),
            "radius_instance": int(sizes[Dimension.INSTANCE][target][number]),
            "radius_appid": 0 if place is None else int(sizes[Dimension.APPID][target][place]),
        }


def _sizes(graph: AccessGraph, estate: Estate) -> dict[str, np.ndarray[Any, Any]]:
    """By target, how many things move with each; who is there already pulls in nothing."""
    return {
        target: radius_sizes(
            graph.cut(partial(is_on, estate, target), there_by_default=estate.default == target)[0]
        )
        for target in estate.clusters
    }


def _cluster_of(thing: Thing, estate: Estate, source_of_topic: dict[str, str]) -> str:
    """Where an identity is bound; of a Topic the cluster that it is mirrored from; of both else the pair's default."""
    if thing.identity is not None:
        found = estate.cluster_of(thing)
        return found if found in estate.clusters else estate.default
    return source_of_topic.get(thing.names[0], estate.default)
