"""The three ZooKeepers of one pair, and the bindings that their engines obey. Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hadash.bindings.didi import names
from hadash.bindings.didi.moves import Goal, Role
from hadash.bindings.didi.nodes import ACTIVE_CLUSTER, USERS
from hadash.bindings.didi.trees import Tree
from hadash.bindings.errors import NotKnownToEngine
from hadash.bindings.model import Binding, BindingState
from hadash.identity.identity import Identity
from hadash.sentences import say

#: The identity that each node below ``/config/users`` stands for, by node.
Nodes = Mapping[str, Identity]


@dataclass(frozen=True)
class Fleet:
    """The trees of one pair.

    :param clusters: the trees of the pair's two clusters, by name.
    """

    clusters: Mapping[str, Tree]
    gateway: Tree

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (*self.clusters.values(), self.gateway)

    def make_sure_that_all_answer(self) -> None:
        """Check that every ZooKeeper answers.

        :raises StoreUnavailable: a ZooKeeper does not answer.
        :raises NotConfigured: a ZooKeeper belongs to another cluster.
        """
        for tree in self.trees:
            tree.read(USERS, [])

    def goal(self, binding: Binding) -> Goal:
        """Return the goal that a binding sets for the engines.

        :raises NotKnownToEngine: the binding's cluster does not belong to the pair.
        """
        if binding.cluster not in self.clusters:
            raise NotKnownToEngine(
                say(
                    "Cluster %(cluster)s is none of %(clusters)s.",
                    cluster=binding.cluster,
                    clusters=", ".join(self.clusters),
                )
            )
        active = self.clusters[binding.cluster]
        (other,) = (tree for tree in self.clusters.values() if tree is not active)
        return Goal(active.cluster_id, other.cluster_id, binding.state is BindingState.BLOCK)

    def tree_of(self, goal: Goal, role: Role) -> Tree:
        """Return the tree that has ``role`` for ``goal``."""
        if role is Role.GATEWAY:
            return self.gateway
        wanted = goal.active if role is Role.ACTIVE else goal.other
        return next(tree for tree in self.clusters.values() if tree.cluster_id == wanted)

    def effective(self, tree: Tree, nodes: Nodes) -> dict[str, str | None]:
        """Return the value that the tree's brokers obey for each node: the node's own, else that of its AppID, else
        ``None`` (docs/didi-engine.md 1.4).
        """
        wide = {node: names.sanitized(identity.appid) for node, identity in nodes.items()}
        held = tree.read(USERS, sorted({*nodes, *wide.values()}))

        def value(node: str) -> str | None:
            return held[node].node.config.get(ACTIVE_CLUSTER)

        return {node: value(node) or value(wide[node]) for node in nodes}

    def contradicted(self, nodes: Nodes, cluster: str) -> list[str]:
        """Return the nodes that should be on ``cluster`` and that the trees have on the other one."""
        goal = self.goal(Binding(cluster))
        active = self.effective(self.tree_of(goal, Role.ACTIVE), nodes)
        other = self.effective(self.tree_of(goal, Role.OTHER), nodes)
        return [node for node in nodes if goal.contradicted_by(active[node], other[node])]

    def narrower(self, appids: set[str]) -> dict[str, Identity]:
        """Return the nodes ``user#client`` of these AppIDs that name the client's cluster, in any of the trees."""
        separator = names.sanitized(names.SEPARATOR)
        found: dict[str, Identity] = {}
        for tree in self.trees:
            candidates: dict[str, Identity] = {}
            for node in tree.names(USERS):
                identity = names.identity_of(node) if separator in node else None
                if identity is not None and identity.instance_id is not None and identity.appid in appids:
                    candidates[node] = identity
            held = tree.read(USERS, sorted(candidates))
            found |= {n: i for n, i in candidates.items() if ACTIVE_CLUSTER in held[n].node.config}
        return found

    def with_client_quotas(self, appids: Iterable[Identity]) -> list[tuple[Identity, Tree]]:
        """Return the identities whose binding the engines forget, each with the tree that causes it.

        A node ``users/<user>/clients/<client>`` makes the engine drop the user's binding from memory, also at its start
        (docs/didi-engine.md 3, defect 5). An identity without a binding is then served by any cluster that it asks.
        """
        return [
            (identity, tree)
            for identity in appids
            for tree in self.trees
            if tree.has_below(USERS, names.node_of(identity), "clients")
        ]

    def otherwise(self, governing: Mapping[str, Binding]) -> list[str]:
        """Return the names of the trees whose values differ from the bindings of these nodes."""
        wanted: dict[str, dict[str, str]] = defaultdict(dict)
        for node, binding in governing.items():
            goal = self.goal(binding)
            for role, value in goal.finally_in().items():
                wanted[self.tree_of(goal, role).name][node] = value
        late = []
        for tree in self.trees:
            held = tree.read(USERS, sorted(wanted[tree.name]))
            values = {node: held[node].node.config.get(ACTIVE_CLUSTER) for node in held}
            if values != wanted[tree.name]:
                late.append(tree.name)
        return late
