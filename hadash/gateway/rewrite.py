"""METADATA, FIND_COORDINATOR and DESCRIBE_CLUSTER, rewritten from one cluster's view to the virtual cluster's.

Two rules matter to clients (``kafka-client-facts.md`` sections 5.1 and 6): every answer lists the nodes of both
clusters, so that no node vanishes at a switch; and leader epochs are always -1, because a client that has seen
a higher epoch of the old cluster ignores the new cluster's lower one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hadash.bindings.model import Placement
from hadash.gateway.codec import ErrorCode, build, response_module
from hadash.gateway.kinds import Kind
from hadash.gateway.nodes import Node, NodeMap


def virtual_cluster_id(pair: str) -> str:
    """The cluster id that every client of a pair sees, whichever cluster serves it."""
    return f"hadash-{pair}"


def _broker_list(entity: Any, id_field: str, nodes: NodeMap) -> tuple[Any, ...]:
    return tuple(
        build(
            entity,
            **{id_field: nodes.node_id(node.cluster, node.broker_id)},
            host=nodes.host,
            port=nodes.port(node),
            rack=None,
        )
        for node in nodes.nodes()
    )


def without_topic_creation(message: Any) -> Any:
    """A METADATA request that creates no Topic as a side effect: on the wrong cluster it would split the pair."""
    if getattr(message, "allow_auto_topic_creation", False):
        return replace(message, allow_auto_topic_creation=False)
    return message


def metadata(message: Any, version: int, pair: str, cluster: str, nodes: NodeMap) -> Any:
    """A METADATA response of ``cluster`` as the virtual cluster's."""
    module: Any = response_module(Kind.METADATA, version)

    def node_ids(broker_ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(nodes.node_id(cluster, broker) for broker in broker_ids)

    def partition(p: Any) -> Any:
        values: dict[str, Any] = {
            "leader_id": nodes.node_id(cluster, p.leader_id),
            "replica_nodes": node_ids(p.replica_nodes),
            "isr_nodes": node_ids(p.isr_nodes),
        }
        if version >= 5:
            values["offline_replicas"] = node_ids(p.offline_replicas)
        if version >= 7:
            values["leader_epoch"] = -1
        return replace(p, **values)

    topics = tuple(replace(t, partitions=tuple(partition(p) for p in t.partitions)) for t in message.topics)
    return _metadata(message, version, pair, cluster, nodes, topics, module)


def metadata_moved(message: Any, version: int, pair: str, placement: Placement, nodes: NodeMap) -> Any:
    """A METADATA response of the *old* cluster, with the leaders that the Topics have on the new one.

    For a client that is signed in to the old cluster only: that cluster still says which Topics the client may
    see, the switch's placement says where they are now. What the placement does not know has no leader: the
    client asks again, on a connection that is signed in to the new cluster.
    """
    module: Any = response_module(Kind.METADATA, version)
    cluster = placement.cluster

    def partition(topic: str, p: Any) -> Any:
        leaders = placement.leaders.get(topic, ())
        leader = leaders[p.partition_index] if p.partition_index < len(leaders) else -1
        node = nodes.node_id(cluster, leader)
        known = (node,) if leader >= 0 else ()
        error = ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available
        values: dict[str, Any] = {
            "error_code": error,
            "leader_id": node,
            "replica_nodes": known,
            "isr_nodes": known,
        }
        if version >= 5:
            values["offline_replicas"] = ()
        if version >= 7:
            values["leader_epoch"] = -1
        return replace(p, **values)

    topics = tuple(
        replace(t, partitions=tuple(partition(t.name, p) for p in t.partitions)) for t in message.topics
    )
    return _metadata(message, version, pair, cluster, nodes, topics, module)


def _metadata(
    message: Any, version: int, pair: str, cluster: str, nodes: NodeMap, topics: tuple[Any, ...], module: Any
) -> Any:
    brokers = nodes.brokers(cluster)
    values: dict[str, Any] = {
        "brokers": _broker_list(module.MetadataResponseBroker, "node_id", nodes),
        "topics": topics,
    }
    if version >= 1:
        values["controller_id"] = nodes.node_id(cluster, brokers[0].id) if brokers else -1
    if version >= 2:
        values["cluster_id"] = virtual_cluster_id(pair)
    return replace(message, **values)


def find_coordinator(message: Any, version: int, cluster: str, nodes: NodeMap) -> Any:
    """A FIND_COORDINATOR response of ``cluster`` as the virtual cluster's."""

    def moved(entity: Any) -> Any:
        if entity.node_id < 0:
            return entity
        node = Node(cluster, entity.node_id)
        return replace(
            entity, node_id=nodes.node_id(cluster, entity.node_id), host=nodes.host, port=nodes.port(node)
        )

    if version >= 4:
        return replace(message, coordinators=tuple(moved(c) for c in message.coordinators))
    return moved(message)


def coordinators_from_placement(
    version: int, groups: tuple[str, ...], placement: Placement, nodes: NodeMap
) -> Any | None:
    """FIND_COORDINATOR answered from a switch's placement; ``None`` when it does not know one of the groups."""
    if any(group not in placement.coordinators for group in groups):
        return None
    module: Any = response_module(Kind.FIND_COORDINATOR, version)

    def values(group: str) -> dict[str, Any]:
        node = Node(placement.cluster, placement.coordinators[group])
        return {
            "key": group,
            "node_id": nodes.node_id(node.cluster, node.broker_id),
            "host": nodes.host,
            "port": nodes.port(node),
            "error_code": ErrorCode.none,
            "error_message": None,
        }

    if version >= 4:
        found = tuple(build(module.Coordinator, **values(group)) for group in groups)
        return build(module.FindCoordinatorResponse, coordinators=found)
    return build(module.FindCoordinatorResponse, **values(groups[0]))


def describe_cluster(message: Any, version: int, pair: str, cluster: str, nodes: NodeMap) -> Any:
    """A DESCRIBE_CLUSTER response of ``cluster`` as the virtual cluster's."""
    module: Any = response_module(Kind.DESCRIBE_CLUSTER, version)
    return replace(
        message,
        cluster_id=virtual_cluster_id(pair),
        controller_id=nodes.node_id(cluster, message.controller_id),
        brokers=_broker_list(module.DescribeClusterBroker, "broker_id", nodes),
    )


def without_leader_epochs(message: Any) -> Any:
    """An OFFSET_COMMIT request whose offsets carry no leader epoch.

    Clients commit the epoch of the record batch that they read, although METADATA said -1. Read back on the other
    cluster, an epoch higher than that cluster's makes the client wait for one that never comes.
    """
    topics = tuple(
        replace(t, partitions=tuple(replace(p, committed_leader_epoch=-1) for p in t.partitions))
        for t in message.topics
    )
    return replace(message, topics=topics)
