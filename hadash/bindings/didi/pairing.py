"""Pairing: making two clusters known to each other and to DiDi's Gateway, in nodes ``/config/ha-clusters/<id>``
(docs/didi-engine.md 1.1).

======================== ==================
the tree of              names
======================== ==================
the first cluster        the second cluster
the second cluster       the first cluster
the Gateway              both
======================== ==================

Each cluster also copies the other's ``__consumer_offsets``. The engine takes records of mirrored Topics only, and the
newest commit wins, so copying in both directions is not a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.didi.nodes import (
    ACTIVE_CLUSTER,
    HA_CLUSTERS,
    HA_TOPICS,
    REMOTE_CLUSTER,
    SYNC_CONFIGS,
    USERS,
    ConfigNode,
)
from hadash.bindings.didi.trees import Fence, Tree
from hadash.bindings.errors import BindingConflict
from hadash.kafka.jaas import UnknownMechanism, login
from hadash.sentences import say

OFFSETS = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class Access:
    """How the other cluster and the Gateway reach a cluster. Its ``repr`` shows no password."""

    bootstrap_servers: str
    security_protocol: str
    sasl_mechanism: str
    username: str
    password: str = field(repr=False)
    #: Whether the cluster's brokers are DiDi's: mirrors then fetch as replicas. From a stock Kafka they fetch as a
    #: consumer.
    didi_kafka: bool = True
    #: Whether the cluster requires a private authority or a client certificate, which the engines would not find.
    private_tls: bool = False

    def keys(self) -> dict[str, str | None]:
        """Return the keys of the cluster's node.

        :raises BindingConflict: the mechanism's login module is not known, or the cluster requires certificates.
        """
        if self.private_tls:
            raise BindingConflict(
                say(
                    "%(servers)s needs a private authority or a client certificate. DiDi's engines are Kafka 2.5, "
                    "which takes these from key stores in files only (as text since 2.7, KIP-651). Put the stores on "
                    "every broker and Gateway of the pair, write ssl.truststore.* and ssl.keystore.* into the "
                    "ha-clusters nodes, and pair with --stores-in-place: what you have written stays.",
                    servers=self.bootstrap_servers,
                )
            )
        try:
            jaas = login(self.sasl_mechanism, self.username, self.password)
        except UnknownMechanism:
            raise BindingConflict(
                say(
                    "DiDi's engine cannot sign in with %(mechanism)s.",
                    mechanism=self.sasl_mechanism,
                )
            ) from None
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
            "sasl.mechanism": self.sasl_mechanism,
            "sasl.jaas.config": jaas,
            "didi.kafka.enable": "true" if self.didi_kafka else "false",
        }


#: The keys that :meth:`Access.keys` writes and unpairing removes. Other keys (tuning by an operator) stay.
KEYS = ("bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config", "didi.kafka.enable")


def pair_up(fleet: Fleet, access: Mapping[str, Access], fence: Fence) -> None:
    """Write the four cluster nodes, and mirror the offsets in both directions.

    :param access: the access data by cluster name.
    :raises BindingConflict: a cluster is already paired with a third one.
    """
    keys = {name: access[name].keys() for name in fleet.clusters}
    for tree, other in _both_ways(fleet):
        _refuse_a_third(tree, other)
    for holder, about in _four(fleet):

        def paired(
            name: str, node: ConfigNode, wanted: Mapping[str, str | None] = keys[about.name]
        ) -> ConfigNode:
            return node.with_keys(wanted)

        holder.write(HA_CLUSTERS, [about.cluster_id], paired, fence)
    for tree, other in _both_ways(fleet):

        def copied(name: str, node: ConfigNode, source: str = other.cluster_id) -> ConfigNode:
            return node.with_keys({REMOTE_CLUSTER: source, SYNC_CONFIGS: "true"})

        tree.write(HA_TOPICS, [OFFSETS], copied, fence)


def unpair(fleet: Fleet, fence: Fence) -> None:
    """Remove what :func:`pair_up` wrote: from each cluster's tree the *other* cluster's node, from the Gateway's both.

    :raises BindingConflict: a Topic is still mirrored, or a user still bound, across this pair. Nothing was changed.
    """
    _refuse_if_used(fleet)

    def cleared(name: str, node: ConfigNode) -> ConfigNode:
        return node.with_keys(dict.fromkeys(KEYS))

    def not_copied(name: str, node: ConfigNode) -> ConfigNode:
        return node.with_keys({REMOTE_CLUSTER: None, SYNC_CONFIGS: None})

    for tree in fleet.clusters.values():
        tree.write(HA_TOPICS, [OFFSETS], not_copied, fence)
    for holder, about in _four(fleet):
        holder.write(HA_CLUSTERS, [about.cluster_id], cleared, fence)


def _both_ways(fleet: Fleet) -> Iterator[tuple[Tree, Tree]]:
    first, second = fleet.clusters.values()
    yield first, second
    yield second, first


def _four(fleet: Fleet) -> Iterator[tuple[Tree, Tree]]:
    """Yield pairs: the tree to write to, and the cluster that the node is about."""
    yield from _both_ways(fleet)
    for cluster in fleet.clusters.values():
        yield fleet.gateway, cluster


def _refuse_a_third(tree: Tree, other: Tree) -> None:
    """Refuse to pair a cluster with a third one: the engine knows two clusters only (docs/didi-engine.md 4)."""
    held = tree.read(HA_CLUSTERS, tree.names(HA_CLUSTERS))
    third = [
        name
        for name, each in held.items()
        if name.isdigit() and name != other.cluster_id and "bootstrap.servers" in each.node.config
    ]
    if third:
        raise BindingConflict(
            say("%(cluster)s is paired with cluster %(other)s already.", cluster=tree.name, other=third[0])
        )


def _refuse_if_used(fleet: Fleet) -> None:
    """Refuse to unpair clusters that a Topic or user still names, as the engine's own tool does (1.1).

    The brokers would no longer know how to reach the other cluster.
    """
    ids = {tree.cluster_id for tree in fleet.clusters.values()}
    for tree in fleet.trees:
        for kind, key in ((HA_TOPICS, REMOTE_CLUSTER), (USERS, ACTIVE_CLUSTER)):
            for name, held in tree.read(kind, tree.names(kind)).items():
                if name != OFFSETS and held.node.config.get(key) in ids - {tree.cluster_id}:
                    raise BindingConflict(
                        say(
                            "%(kind)s/%(name)s in the ZooKeeper of %(cluster)s still names the other cluster.",
                            kind=kind,
                            name=name,
                            cluster=tree.name,
                        )
                    )
