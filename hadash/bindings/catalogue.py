"""Clusters, pairs and placements as the engines read them. The control plane publishes them, never a Gateway."""

from __future__ import annotations

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.model import ClusterDescription, PairDescription, Placement


def _put(client: KazooClient, path: str, data: bytes) -> None:
    """Create or set a node; unchanged data is left alone so that watchers stay asleep."""
    try:
        held, _ = client.get(path)
        if held != data:
            client.set(path, data)
    except NoNodeError:
        try:
            client.create(path, data, makepath=True)
        except NodeExistsError:
            client.set(path, data)


def publish_cluster(client: KazooClient, description: ClusterDescription) -> None:
    """Tell the engines about a cluster."""
    _put(client, layout.cluster(description.name), description.to_bytes())


def publish_pair(client: KazooClient, description: PairDescription) -> None:
    """Tell the engines about a pair."""
    _put(client, layout.pair(description.name), description.to_bytes())


def publish_placement(client: KazooClient, switch_id: str, placement: Placement) -> None:
    """Tell the engines where a switch's partitions and groups live on its target."""
    _put(client, layout.placement(switch_id), placement.to_bytes())


def read_cluster(client: KazooClient, name: str) -> ClusterDescription | None:
    """Return the description of a cluster; ``None`` when it is not published or cannot be parsed."""
    try:
        return ClusterDescription.from_bytes(client.get(layout.cluster(name))[0])
    except NoNodeError:
        return None


def read_pair(client: KazooClient, name: str) -> PairDescription | None:
    """Return the description of a pair; ``None`` when it is not published or cannot be parsed."""
    try:
        return PairDescription.from_bytes(client.get(layout.pair(name))[0])
    except NoNodeError:
        return None


def read_placement(client: KazooClient, switch_id: str) -> Placement | None:
    """Return the placement of a switch; ``None`` when it is not published or cannot be parsed."""
    try:
        return Placement.from_bytes(client.get(layout.placement(switch_id))[0])
    except NoNodeError:
        return None
