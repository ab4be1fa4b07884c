"""Rewrites FIND_COORDINATOR, DESCRIBE_CLUSTER and requests from one cluster's view to the virtual cluster's.

METADATA has its own module, because its answers can be large.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import Node, NodeMap
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, response_module
from hadash.gateway.protocol.since import Fetch, FindCoordinator
from hadash.gateway.protocol.wire import Request


def virtual_cluster_id(pair: str) -> str:
    """Return the cluster id that every client of a pair sees, whichever cluster serves it."""
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
    """Return a METADATA request that creates no Topic as a side effect, which would split the pair on the wrong
    cluster."""
    if getattr(message, "allow_auto_topic_creation", False):
        return replace(message, allow_auto_topic_creation=False)
    return message


def changed_by(change: Callable[[Any], Any], message: Any) -> Any | None:
    """Return the result of ``change`` on ``message``; ``None`` when it changes nothing."""
    changed = change(message)
    return None if changed is message else changed


def find_coordinator(message: Any, version: int, cluster: str, nodes: NodeMap) -> Any:
    """Return a FIND_COORDINATOR response of ``cluster`` as the virtual cluster's."""

    def moved(entity: Any) -> Any:
        if entity.node_id < 0:
            return entity
        node = Node(cluster, entity.node_id)
        return replace(
            entity, node_id=nodes.node_id(cluster, entity.node_id), host=nodes.host, port=nodes.port(node)
        )

    if version >= FindCoordinator.KEYS:
        return replace(message, coordinators=tuple(moved(c) for c in message.coordinators))
    return moved(message)


def coordinators(
    version: int,
    groups: Sequence[str],
    own: Mapping[str, Any],
    found: Mapping[str, tuple[ErrorCode, str, Broker]],
    nodes: NodeMap,
) -> Any:
    """Return a FIND_COORDINATOR response for ``groups`` in their order.

    :param own: the rewritten answers of the client's cluster, by group.
    :param found: error, cluster and broker of the other groups.
    """
    module: Any = response_module(ApiKey.FIND_COORDINATOR, version)

    def values(group: str) -> dict[str, Any]:
        code, cluster, broker = found[group]
        there = broker.id >= 0 and code is ErrorCode.none
        return {
            "key": group,
            "node_id": nodes.node_id(cluster, broker.id) if there else -1,
            "host": nodes.host if there else "",
            "port": nodes.port(Node(cluster, broker.id)) if there else -1,
            "error_code": code,
            "error_message": None,
        }

    if version >= FindCoordinator.KEYS:
        entries = tuple(
            own[group] if group in own else build(module.Coordinator, **values(group)) for group in groups
        )
        return build(module.FindCoordinatorResponse, coordinators=entries)
    return build(module.FindCoordinatorResponse, **values(groups[0]))


def describe_cluster(message: Any, version: int, pair: str, cluster: str, nodes: NodeMap) -> Any:
    """Return a DESCRIBE_CLUSTER response of ``cluster`` as the virtual cluster's."""
    module: Any = response_module(ApiKey.DESCRIBE_CLUSTER, version)
    return replace(
        message,
        cluster_id=virtual_cluster_id(pair),
        controller_id=nodes.node_id(cluster, message.controller_id),
        brokers=_broker_list(module.DescribeClusterBroker, "broker_id", nodes),
    )


def without_leader_epochs(message: Any) -> Any:
    """Return an OFFSET_COMMIT request whose offsets carry no leader epoch.

    Clients commit the epoch of the record batch that they read, although METADATA said -1. Read back on the other
    cluster, an epoch higher than that cluster's makes the client wait for one that never comes.
    """
    topics = tuple(
        replace(t, partitions=tuple(replace(p, committed_leader_epoch=-1) for p in t.partitions))
        for t in message.topics
    )
    return replace(message, topics=topics)


#: Where a FETCH from version 7 on names its session, from the beginning of its body: after replica id, max wait, min
#: and max bytes and isolation level.
_SESSION_AT = 4 + 4 + 4 + 4 + 1
_NO_SESSION = struct.pack(">ii", 0, -1)


def without_session(request: Request) -> Request:
    """Return a FETCH outside of any session, so that each one names all its Topics and can be routed by them."""
    if request.version < Fetch.SESSION:
        return request
    at = request.body + _SESSION_AT
    frame = request.frame
    return replace(request, frame=frame[:at] + _NO_SESSION + frame[at + len(_NO_SESSION) :])
