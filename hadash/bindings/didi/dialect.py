"""Bindings of a pair that DiDi's engine governs: recorded in hadash's own store, projected onto the engine's trees.

hadash's store remains the record of what is intended: documents, epochs, the journal and its token. After each change
of the record the trees are brought to what it says (:mod:`hadash.bindings.didi.moves` defines the order). The
projection is level-triggered: it reads the current state and writes the intended one, so a projection that was killed
anywhere and is called again has the same result.

A writer's token is checked after each reading and before each writing of nodes, and each write is a compare-and-set on
what was read, so a writer that was replaced never overwrites its successor.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash.bindings.dialect import Waiting
from hadash.bindings.didi import names
from hadash.bindings.didi.fleet import Fleet, Nodes
from hadash.bindings.didi.moves import PROJECTED, Goal, Step, value_after
from hadash.bindings.didi.nodes import ACTIVE_CLUSTER, USERS, ConfigNode
from hadash.bindings.didi.trees import Tree
from hadash.bindings.errors import BindingConflict, StaleWriter, StoreUnavailable, UnknownOutcome
from hadash.bindings.model import Binding, BindingDocument, Journal
from hadash.bindings.native import NativeDialect
from hadash.bindings.pending_retries import ExpectedBack
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.sentences import Sentence, say

#: Epochs whose projection is remembered for :meth:`DidiDialect.waiting_for`: far more than switches run at once.
EPOCHS_REMEMBERED = 100


@dataclass
class _Projection:
    """The nodes that an epoch writes, and since when they are known to be in the trees (monotonic seconds)."""

    nodes: Nodes
    done_at: float | None = None


@dataclass
class DidiDialect:
    """The bindings of one pair whose engine is DiDi's.

    :param record: hadash's own store, which hadash's Gateways (mode ``redirect``) watch too.
    :param default: the name of the cluster that serves identities without a binding.
    :param apply_seconds: the time that the engines get to act on what is in their trees.
    :param known_clients: returns the client.ids that an AppID is known to use.
    """

    record: NativeDialect
    fleet: Fleet
    default: str
    apply_seconds: float
    known_clients: Callable[[str], Iterable[str]] = lambda appid: ()
    _projections: OrderedDict[int, _Projection] = field(default_factory=OrderedDict, repr=False)
    _remembering: threading.Lock = field(default_factory=threading.Lock, repr=False)

    # -- the record -------------------------------------------------------------------------------------

    def document(self, appid: str) -> BindingDocument:
        return self.record.document(appid)

    def documents_now(self, appids: Iterable[str]) -> dict[str, BindingDocument]:
        return self.record.documents_now(appids)

    def all_documents(self) -> dict[str, BindingDocument | None]:
        return self.record.all_documents()

    def journal(self, switch_id: str) -> Journal | None:
        return self.record.journal(switch_id)

    def take_over(self, switch_id: str, stage: str, token: int) -> Journal | None:
        return self.record.take_over(switch_id, stage, token)

    def facts(self, switch_id: str) -> dict[str, Any]:
        return self.record.facts(switch_id)

    def keep_facts(self, journal: Journal, values: Mapping[str, Any]) -> None:
        self.record.keep_facts(journal, values)

    # -- what the engine cannot do ----------------------------------------------------------------------

    def blockers(self, identities: Sequence[Identity], cluster: str) -> list[Sentence]:
        """Return why the engine cannot move ``identities``: it cannot bind them, its trees contradict the record, or it
        would forget the binding."""
        unknown = [found for found in map(names.refusal_of, identities) if found is not None]
        if unknown:
            return unknown
        quotas = self.fleet.with_client_quotas(i for i in identities if i.instance_id is None)
        forgetful = [
            say(
                "%(appid)s has quotas for single clients in the ZooKeeper of %(tree)s (users/%(node)s/clients): DiDi's "
                "engine forgets its binding over them. Remove them first.",
                appid=identity,
                tree=tree.name,
                node=names.node_of(identity),
            )
            for identity, tree in quotas
        ]
        return [*self._contradictions(self._nodes(identities), cluster), *forgetful]

    def _contradictions(self, nodes: Nodes, cluster: str) -> list[Sentence]:
        return [
            say(
                "The engines have %(identity)s on the other cluster than hadash, which has it on "
                "%(cluster)s: somebody has "
                "moved it past hadash. Correct %(key)s of users/%(node)s in their ZooKeepers.",
                identity=nodes[node],
                cluster=cluster,
                key=ACTIVE_CLUSTER,
                node=node,
            )
            for node in self.fleet.contradicted(nodes, cluster)
        ]

    # -- changing ---------------------------------------------------------------------------------------

    def change(
        self, edits: Sequence[Edit], journal: Journal | None = None, seen: Sequence[BindingDocument] = ()
    ) -> int:
        """Change the record as :meth:`BindingStore.change` does, then the engines' trees.

        A removed binding keeps its key, with the cluster that serves the identity from then on: for the engine a
        missing key would mean "every cluster".

        :raises NotKnownToEngine: the engine cannot bind an identity; nothing was changed.
        :raises BindingConflict: the trees contradict the record; nothing was changed.
        :raises StoreUnavailable: one of the ZooKeepers does not answer; nothing was changed.
        :raises UnknownOutcome: the change is recorded, but not all of it is in the trees. Call it again.
        """
        for edit in edits:
            names.node_of(edit.identity)  # raises
            if edit.binding is not None:
                self.fleet.goal(edit.binding)  # raises
        self.fleet.make_sure_that_all_answer()
        nodes = self._nodes([edit.identity for edit in edits if _is_projected(edit)])
        if journal is not None:
            self._refuse_contradictions(edits, nodes)
        epoch = self.record.change(edits, journal, seen)
        projection = self._remember(epoch, _Projection(nodes))
        try:
            self._project(nodes, journal)
        except (StoreUnavailable, BindingConflict) as error:
            raise UnknownOutcome(
                say(
                    "%(error)s The change is recorded, but not all of it is in the engines' ZooKeepers.",
                    error=error,
                )
            ) from error
        projection.done_at = time.monotonic()
        return epoch

    def _refuse_contradictions(self, edits: Sequence[Edit], nodes: Nodes) -> None:
        """Refuse a switch's change of nodes that the trees have on the other cluster.

        During a switch an identity is opened or closed on one cluster only after it was closed on the other.

        :raises BindingConflict: the trees contradict the record.
        """
        for edit in edits:
            if edit.binding is None or not _is_projected(edit):
                continue
            governed = {n: i for n, i in nodes.items() if edit.identity in (i, Identity(i.appid))}
            for sentence in self._contradictions(governed, edit.binding.cluster):
                raise BindingConflict(sentence)

    def _nodes(self, identities: Iterable[Identity]) -> dict[str, Identity]:
        """Return the nodes of ``identities``, and those that would shadow an AppID's.

        The engine obeys a node ``user#client`` before that of the user. Such a node that the record does not know
        (DiDi's platform leaves them behind, docs/didi-engine.md 1.3) would stay on the old cluster when the AppID
        moves, so it moves along (section 4). A client.id that begins with ``P#`` and has no node goes by the Topic
        instead of the AppID (1.4), so each known one gets a node.
        """
        found = {names.node_of(identity): identity for identity in identities}
        appids = sorted({i.appid for i in found.values() if i.instance_id is None})
        if not appids:
            return found
        documents = self.record.documents_now(appids)
        shadows = self.fleet.narrower(set(appids))
        for appid in appids:
            producers = [c for c in self.known_clients(appid) if c.startswith(names.BY_TOPIC)]
            shadows |= {names.node_of(who): who for who in (Identity(appid, c) for c in producers)}
        for node, identity in sorted(shadows.items()):
            if identity.instance_id not in documents[identity.appid].instances:
                found.setdefault(node, identity)
        return found

    def _project(self, nodes: Nodes, journal: Journal | None) -> None:
        """Write the record's current bindings to the nodes."""
        governing = self._governing(nodes)
        by_goal: dict[Goal, list[str]] = defaultdict(list)
        for node in sorted(nodes):
            by_goal[self.fleet.goal(governing[node])].append(node)

        def fence(about: Sequence[str]) -> None:
            self.record.confirm(journal)
            now = self._governing({node: nodes[node] for node in about})
            for node in about:
                if now[node] != governing[node]:
                    raise StaleWriter(f"{nodes[node]} was bound again while it was being bound.")

        for goal, some in by_goal.items():
            for step in goal.steps():
                tree = self.fleet.tree_of(goal, step.role)
                tree.write(USERS, some, _change_for(step, tree), fence)

    def _governing(self, nodes: Nodes) -> dict[str, Binding]:
        """Return the recorded binding for each node: its own, else the AppID's, else the pair's default.

        :raises BindingConflict: a document cannot be read (any more).
        """
        documents = self.record.documents_of(sorted({identity.appid for identity in nodes.values()}))
        found = {}
        for node, identity in nodes.items():
            document = documents.get(identity.appid, BindingDocument(identity.appid))
            if document is None:
                raise BindingConflict(
                    say("The binding document of %(appid)s cannot be read.", appid=identity.appid)
                )
            found[node] = document.binding_of(identity) or document.default or Binding(self.default)
        return found

    # -- in effect --------------------------------------------------------------------------------------

    def waiting_for(self, epoch: int) -> Waiting:
        """Return the engines that have not put the change of ``epoch`` into effect.

        DiDi's engines acknowledge nothing. So their trees are read back, and then they get :attr:`apply_seconds` from
        the end of the projection. docs/dialects.md says what that proves, and what it does not."""
        gateways = self.record.waiting_for(epoch)
        projection = self._projections.get(epoch)
        if projection is None:
            projection = self._remember(epoch, _Projection(self._nodes_of(epoch)))
        late = self._late(projection) if projection.nodes else []
        return Waiting((*gateways.late, *late), gateways.engines + len(self.fleet.trees), gateways.excluded)

    def not_told(self, epoch: int) -> Waiting:
        """Return the same as :meth:`waiting_for`: DiDi's engines do not report what they know."""
        return self.waiting_for(epoch)

    def expected_back(self, appids: Collection[str], cluster: str) -> list[ExpectedBack]:
        """Return the departed Gateways of hadash in front of these engines; for DiDi's engines this is unknown."""
        return self.record.expected_back(appids, cluster)

    def _late(self, projection: _Projection) -> list[str]:
        """Return the trees that are late. They are read back at the end of the waiting time, and also at its beginning
        if another process wrote them."""
        everybody = [tree.name for tree in self.fleet.trees]
        if projection.done_at is not None and time.monotonic() < projection.done_at + self.apply_seconds:
            return everybody
        otherwise = self.fleet.otherwise(self._governing(projection.nodes))
        if otherwise:
            projection.done_at = None  # a node that is not there cannot be obeyed: the time starts again
            return otherwise
        if projection.done_at is None:
            projection.done_at = time.monotonic()
            return everybody
        return []

    def _nodes_of(self, epoch: int) -> Nodes:
        """Return the nodes that another process has changed in ``epoch``."""
        changed = [
            identity
            for document in self.record.documents().values()
            for identity, binding in _known_bindings(document)
            if binding.epoch == epoch and binding.state in PROJECTED
        ]
        return self._nodes(changed)

    def _remember(self, epoch: int, projection: _Projection) -> _Projection:
        with self._remembering:
            self._projections[epoch] = projection
            while len(self._projections) > EPOCHS_REMEMBERED:
                self._projections.popitem(last=False)
        return projection


def _is_projected(edit: Edit) -> bool:
    return edit.binding is None or edit.binding.state in PROJECTED


def _known_bindings(document: BindingDocument) -> Iterable[tuple[Identity, Binding]]:
    """Yield the bindings that the engine can know."""
    if document.default is not None:
        yield Identity(document.appid), document.default
    for instance, binding in document.instances.items():
        yield Identity(document.appid, instance), binding


def _change_for(step: Step, tree: Tree) -> Callable[[str, ConfigNode], ConfigNode]:
    def change(name: str, node: ConfigNode) -> ConfigNode:
        value = value_after(step, node.config.get(ACTIVE_CLUSTER), tree.cluster_id)
        return node.with_keys({ACTIVE_CLUSTER: value})

    return change
