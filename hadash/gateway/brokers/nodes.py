"""Virtual nodes: one virtual cluster that holds the brokers of both clusters of a pair.

The node id is the cluster's number times :data:`NODE_ID_RANGE` plus the broker id, so two clusters may use the same
broker ids, and an id stands for the same broker for ever. The port is fixed in the same way.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hadash.bindings.model import Broker

#: Node ids reserved for each cluster. Ids stay small: the Java client computes the id of its coordinator connection by
#: subtracting the node id from the largest integer.
NODE_ID_RANGE = 10_000


class NodeOutOfRange(ValueError):
    """A broker id that has no port. The message says which setting to change."""


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """One broker of one cluster."""

    cluster: str
    broker_id: int


class NodeMap:
    """Node ids and ports for the brokers of a pair, as one Gateway advertises them.

    :param numbers: the clusters of the pair in order, name to integer id.
    """

    def __init__(self, numbers: dict[str, int], host: str, base_port: int, ports_per_cluster: int) -> None:
        self._numbers = numbers
        self._names = {number: name for name, number in numbers.items()}
        self._slots = {name: slot for slot, name in enumerate(numbers)}
        self.host = host
        self._base_port = base_port
        self._ports_per_cluster = ports_per_cluster
        self._brokers: dict[str, dict[int, Broker]] = {name: {} for name in numbers}

    def learn(self, cluster: str, brokers: tuple[Broker, ...]) -> list[Node]:
        """Remember the addresses of ``brokers``, and return the nodes that are new.

        :raises NodeOutOfRange: a broker id is beyond the reserved ports.
        """
        known = self._brokers[cluster]
        for broker in brokers:
            self.port(Node(cluster, broker.id))
        fresh = []
        for broker in brokers:
            if broker.id not in known:
                fresh.append(Node(cluster, broker.id))
            known[broker.id] = broker
        return fresh

    def nodes(self) -> list[Node]:
        """Return all known nodes of both clusters."""
        return [
            Node(cluster, broker) for cluster, brokers in self._brokers.items() for broker in sorted(brokers)
        ]

    def encoded(self, *, with_rack: bool) -> bytes:
        """Return all nodes as METADATA lists them: the count, then id, host, port and, from version 1 on, the rack."""
        host = self.host.encode()
        parts = [struct.pack(">i", sum(map(len, self._brokers.values())))]
        for node in self.nodes():
            node_id = self.node_id(node.cluster, node.broker_id)
            parts.append(struct.pack(f">ih{len(host)}si", node_id, len(host), host, self.port(node)))
            if with_rack:
                parts.append(b"\xff\xff")
        return b"".join(parts)

    def base(self, cluster: str) -> int:
        """Return the number that turns a broker id of ``cluster`` into a virtual node id when it is added."""
        return self._numbers[cluster] * NODE_ID_RANGE

    def brokers(self, cluster: str) -> list[Broker]:
        """Return the known brokers of a cluster, by id."""
        return [broker for _, broker in sorted(self._brokers[cluster].items())]

    def broker(self, node: Node) -> Broker | None:
        """Return the broker behind a node; ``None`` if it is not known."""
        return self._brokers[node.cluster].get(node.broker_id)

    def node_id(self, cluster: str, broker_id: int) -> int:
        """Return the virtual node id; ``-1`` (no node) stays ``-1``."""
        if broker_id < 0:
            return broker_id
        return self._numbers[cluster] * NODE_ID_RANGE + broker_id

    def port(self, node: Node) -> int:
        """Return the port of a node on this Gateway.

        :raises NodeOutOfRange: the broker id is beyond the reserved ports.
        """
        if not 0 <= node.broker_id < self._ports_per_cluster:
            raise NodeOutOfRange(
                f"Broker {node.broker_id} of cluster {node.cluster} has no port on this Gateway: "
                f"HADASH_GATEWAY_PORTS_PER_CLUSTER is {self._ports_per_cluster}. Set it above {node.broker_id} "
                "on every Gateway of the pair and restart them."
            )
        return self._base_port + 1 + self._slots[node.cluster] * self._ports_per_cluster + node.broker_id
