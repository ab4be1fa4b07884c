"""One ZooKeeper of DiDi's fleet: a cluster's or the Gateway's. The only I/O of the dialect (docs/didi-engine.md 1).

A write and its notification are one transaction: an engine that is notified finds the new value, and every value in
the tree has been notified. Every write is a compare-and-set on the node's version, also where nothing changes, so that
a writer which read the node before can no longer write it (see :meth:`Tree.write`).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError

from hadash.bindings.client import LOST_REPLY, started
from hadash.bindings.didi.nodes import HA_CLUSTERS, HA_TOPICS, USERS, ConfigNode, NotAConfigNode
from hadash.bindings.errors import BindingConflict, NotConfigured, StoreUnavailable, UnknownOutcome
from hadash.sentences import say

CONFIG = "/config"
CHANGES = f"{CONFIG}/changes"
CHANGE_PREFIX = f"{CHANGES}/config_change_"
CLUSTER_ID = "/cluster/id"

#: Nodes in one transaction: far below ZooKeeper's limit of 1 MiB, and few enough that two writers seldom collide.
AT_ONCE = 100
#: How often a transaction is tried again when another writer changed one of its nodes in between.
MAX_CONFLICTS = 10
#: Seconds to wait for ZooKeeper to come back in order to read whether a write with a lost reply happened.
READ_BACK_SECONDS = 20.0

#: kazoo logs what it sends at DEBUG, and nodes hold credentials: this logger never does, whatever the root's level is.
_QUIET = logging.getLogger("hadash.bindings.didi.zookeeper")
_QUIET.setLevel(logging.WARNING)

#: Checks that this writer may still write the given names, and raises if not. Called between reading and writing them.
Fence = Callable[[Sequence[str]], None]
Change = Callable[[str, ConfigNode], ConfigNode]


@dataclass(frozen=True, slots=True)
class Held:
    """A node when it was read; ``version`` is ``None`` for a node that does not exist."""

    node: ConfigNode
    version: int | None
    data: bytes | None


class Tree:
    """The config nodes of one ZooKeeper.

    :param name: the name for people: the cluster's name, or ``gateway``.
    :param number: the cluster's integer id; ``None`` for the Gateway, which has none.
    :param connect: called once, at the first use of the tree.
    """

    def __init__(self, name: str, number: int | None, connect: Callable[[], KazooClient]) -> None:
        self.name = name
        self.number = number
        self._connect = connect
        self._connecting = threading.Lock()
        self._client: KazooClient | None = None

    @property
    def cluster_id(self) -> str:
        """The id as the engine writes it; empty for the Gateway."""
        return "" if self.number is None else str(self.number)

    @property
    def client(self) -> KazooClient:
        """The connected client.

        :raises StoreUnavailable: no server answers.
        :raises NotConfigured: the ZooKeeper belongs to another cluster.
        """
        with self._connecting:
            if self._client is None:
                client = self._connect()
                try:
                    self._prepare(client)
                except BaseException:
                    client.stop()
                    client.close()
                    raise
                self._client = client
            return self._client

    def _prepare(self, client: KazooClient) -> None:
        """Check the cluster id, and create missing folders.

        Swapped addresses would bind every client to the cluster that it must not write to.

        :raises NotConfigured: the ZooKeeper belongs to another cluster.
        """
        with self._reaching():
            if self.number is not None:
                found = _cluster_id(client)
                if found != self.cluster_id:
                    raise NotConfigured(
                        say(
                            "The ZooKeeper of cluster %(cluster)s is that of cluster %(found)s, not %(cluster_id)s "
                            "(%(node)s). Correct didi_zookeeper.",
                            cluster=self.name,
                            found=found or "none",
                            cluster_id=self.cluster_id,
                            node=CLUSTER_ID,
                        )
                    )
            for path in (CHANGES, *(f"{CONFIG}/{kind}" for kind in (USERS, HA_TOPICS, HA_CLUSTERS))):
                client.ensure_path(path)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except LOST_REPLY as error:
            raise StoreUnavailable(
                say(
                    "The ZooKeeper of %(cluster)s cannot be reached (%(reason)s).",
                    cluster=self.name,
                    reason=type(error).__name__,
                )
            ) from error
        except NoAuthError:
            raise BindingConflict(
                say("The ZooKeeper of %(cluster)s does not let hadash in.", cluster=self.name)
            ) from None

    # -- reading ----------------------------------------------------------------------------------------

    def names(self, kind: str) -> list[str]:
        """Return the names of the nodes below ``/config/<kind>``, in their encoded form."""
        with self._reaching():
            found: list[str] = self.client.get_children(f"{CONFIG}/{kind}")
            return found

    def has_below(self, kind: str, name: str, below: str) -> bool:
        """Whether ``/config/<kind>/<name>/<below>`` has children."""
        with self._reaching():
            try:
                return bool(self.client.get_children(f"{CONFIG}/{kind}/{name}/{below}"))
            except NoNodeError:
                return False

    def read(self, kind: str, names: Sequence[str]) -> dict[str, Held]:
        """Return the nodes by name, no older than this call.

        :raises BindingConflict: a node's content is not a config node of Kafka.
        """
        found: dict[str, Held] = {}
        with self._reaching():
            client = self.client
            client.sync(CONFIG)  # the answering server may be behind
            for first in range(0, len(names), AT_ONCE):
                asked = names[first : first + AT_ONCE]
                answers = [client.get_async(f"{CONFIG}/{kind}/{name}") for name in asked]
                for name, answer in zip(asked, answers, strict=True):
                    try:
                        data, stat = answer.get()
                    except NoNodeError:
                        found[name] = Held(ConfigNode(), None, None)
                        continue
                    found[name] = Held(self._parsed(kind, name, data), stat.version, data)
        return found

    def _parsed(self, kind: str, name: str, data: bytes) -> ConfigNode:
        try:
            return ConfigNode.from_bytes(data)
        except NotAConfigNode as error:
            raise BindingConflict(
                say(
                    "%(config)s/%(kind)s/%(name)s in the ZooKeeper of %(cluster)s cannot be changed: %(error)s. Repair "
                    "or delete it first.",
                    config=CONFIG,
                    kind=kind,
                    name=name,
                    cluster=self.name,
                    error=error,
                )
            ) from None

    # -- writing ----------------------------------------------------------------------------------------

    def write(self, kind: str, names: Sequence[str], change: Change, fence: Fence) -> None:
        """Change nodes, each together with its notification, in transactions of :data:`AT_ONCE` nodes.

        The fence is checked between reading and writing. Its answer may be outdated when the write arrives, but the
        version is not: if a newer writer has written the node since it was read, this write fails. That requires every
        writer to write every node, also one that already has the intended value (then without a notification).

        :param change: returns the new node for a name and its current node; called again after a conflict.
        :raises BindingConflict: another writer keeps changing the nodes, or a node is not a config node of Kafka.
        :raises UnknownOutcome: a reply was lost, and ZooKeeper did not come back.
        """
        for first in range(0, len(names), AT_ONCE):
            self._write_some(kind, names[first : first + AT_ONCE], change, fence)

    def _write_some(self, kind: str, names: Sequence[str], change: Change, fence: Fence) -> None:
        lost: Exception | None = None
        deadline = 0.0
        for _ in range(MAX_CONFLICTS):
            while True:
                try:
                    held = self.read(kind, names)
                    break
                except StoreUnavailable:
                    if lost is None:
                        raise
                    if time.monotonic() > deadline:
                        raise UnknownOutcome(
                            say(
                                "The ZooKeeper of %(cluster)s did not answer (%(reason)s), and for %(seconds)s s it "
                                "could not be read whether the write happened.",
                                cluster=self.name,
                                reason=type(lost).__name__,
                                seconds=f"{READ_BACK_SECONDS:.0f}",
                            )
                        ) from lost
            changed = {name: change(name, held[name].node) for name in names}
            fence(names)
            try:
                if self._commit(kind, held, changed):
                    return
            except LOST_REPLY as error:
                # The next turn reads what was written, and writes the same once more.
                lost, deadline = error, time.monotonic() + READ_BACK_SECONDS
        raise BindingConflict(
            say(
                "%(config)s/%(kind)s in the ZooKeeper of %(cluster)s changes faster than it can be written.",
                config=CONFIG,
                kind=kind,
                cluster=self.name,
            )
        )

    def _commit(self, kind: str, held: Mapping[str, Held], changed: Mapping[str, ConfigNode]) -> bool:
        """Commit one transaction; false when a node was changed in between."""
        transaction = self.client.transaction()
        for name, node in changed.items():
            path, before = f"{CONFIG}/{kind}/{name}", held[name]
            same = node == before.node
            if before.version is None:
                if same:
                    continue
                # A Kafka with zookeeper.set.acl protects its nodes; a node that hadash adds must not be open.
                acl, _ = self.client.get_acls(f"{CONFIG}/{kind}")
                transaction.create(path, node.to_bytes(), acl=acl)
            else:
                # The same bytes when nothing changes: an empty node stays empty.
                data = before.data or b"" if same else node.to_bytes()
                transaction.set_data(path, data, version=before.version)
            if not same:
                notice = {"version": 2, "entity_path": f"{kind}/{name}"}
                data = json.dumps(notice, separators=(",", ":")).encode()
                transaction.create(CHANGE_PREFIX, data, sequence=True)
        if not transaction.operations:
            return True
        results: list[Any] = transaction.commit()
        if any(isinstance(result, NoAuthError) for result in results):
            raise BindingConflict(
                say("The ZooKeeper of %(cluster)s does not let hadash write.", cluster=self.name)
            )
        return not any(isinstance(result, KazooException) for result in results)


def _cluster_id(client: KazooClient) -> str:
    """Return the id that the brokers wrote (1.1); empty when it is missing or not an id."""
    try:
        value = json.loads(client.get(CLUSTER_ID)[0])
        return str(value["id"])
    except (NoNodeError, ValueError, KeyError, TypeError):
        return ""


def tree_at(name: str, number: int | None, hosts: str) -> Tree:
    """Return the tree at ``host:port,host:port/chroot``; it connects at its first use."""
    return Tree(name, number, lambda: started(hosts, bounded=True, setting="didi_zookeeper", logger=_QUIET))
