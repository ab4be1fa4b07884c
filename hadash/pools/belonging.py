"""Which clusters and which pair a pool reads, as far as its documents tell. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hadash.coordinator.pool_view import PoolView
from hadash.inventory.by_address import cluster_of
from hadash.inventory.models import Cluster, Pair


def clusters_of(view: PoolView, clusters: Iterable[Cluster]) -> Mapping[str, Cluster | None]:
    """Topic → the cluster that a pool reads it from; ``None``: not known here."""
    known = list(clusters)
    return {
        topic: cluster_of(str(assigned.document.consumer["bootstrap.servers"]), known)
        for topic, assigned in view.topics.items()
    }


def pair_of(read: Iterable[Cluster | None], pairs: Iterable[Pair]) -> Pair | None:
    """The pair of all clusters that a pool reads; ``None``: they are of several pairs or of none, or it reads nothing.

    :param pairs: with both clusters.
    """
    found = {cluster.pk if cluster is not None else None for cluster in read}
    if not found or None in found:
        return None
    return next((pair for pair in pairs if found <= {pair.first_id, pair.second_id}), None)
