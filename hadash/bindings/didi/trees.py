"""One ZooKeeper of DiDi's fleet: a cluster's or the Gateway's. The only I/O of the dialect (docs/didi-engine.md 1).

A write and its notification are one transaction: an engine that is told finds the new value, and a value that
is there has been told. Written is by compare-and-set on the node's version, always, also where nothing
changes: so whoever read the node before cannot write it any more (see :meth:`Tree.write`).
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

CONFIG = "/config"
CHANGES = f"{CONFIG}/changes"
CHANGE_PREFIX = f"{CHANGES}/config_change_"
CLUSTER_ID = "/cluster/id"

#: Nodes in one transaction: far below ZooKeeper's limit of 1 MiB, and few enough that two writers seldom meet in one.
AT_ONCE = 100
#: How often a transaction is tried again when somebody else changed one of its nodes in between.
MAX_CONFLICTS = 10
#: Seconds to wait for ZooKeeper to come back in order to read whether a write with a lost reply happened.
READ_BACK_SECONDS = 20.0

#: kazoo logs what it sends at DEBUG, and nodes hold credentials: this logger never does, whatever the root's level.
_QUIET = logging.getLogger("hadash.bindings.didi.zookeeper")
_QUIET.setLevel(logging.WARNING)

#: Makes sure that this writer may still write ``names``; raises when not. Called after their reading, before
#: their writing.
Fence = Callable[[Sequence[str]], None]
Change = Callable[[str, ConfigNode], ConfigNode]


@dataclass(frozen=True, slots=True)
class Held:
    """A node as it was read; ``version`` is ``None`` for one that does not exist."""

    node: ConfigNode
    version: int | None
    data: bytes | None


class Tree:
    """The config nodes of one ZooKeeper.

    :param name: for people: the cluster's name, or ``gateway``.
    :param number: the cluster's integer id; ``None`` for the Gateway, which has none.
    :param connect: called once, when the tree is used first.
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
        """:raises StoreUnavailable: no server answers. :raises NotConfigured: it is another cluster's ZooKeeper."""
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
        """Swapped addresses would bind every client to the cluster that it must not write to: the id is compared."""
        with self._reaching():
            if self.number is not None:
                found = _cluster_id(client)
                if found != self.cluster_id:
                    raise NotConfigured(
                        f"The ZooKeeper of cluster {self.name} is that of cluster {found or 'none'}, "
                        f"not {self.cluster_id} ({CLUSTER_ID}). Correct didi_zookeeper."
                    )
            for path in (CHANGES, *(f"{CONFIG}/{kind}" for kind in (USERS, HA_TOPICS, HA_CLUSTERS))):
                client.ensure_path(path)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except LOST_REPLY as error:
            raise StoreUnavailable(
                f"The ZooKeeper of {self.name} cannot be reached ({type(error).__name__})."
            ) from error
        except NoAuthError:
            raise BindingConflict(f"The ZooKeeper of {self.name} does not let hadash in.") from None

    # -- reading ----------------------------------------------------------------------------------------

    def names(self, kind: str) -> list[str]:
        """The nodes below ``/config/<kind>``, encoded as they are."""
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
        """The nodes by name, no older than this call.

        :raises BindingConflict: one of them is none of Kafka's.
        """
        found: dict[str, Held] = {}
        with self._reaching():
            client = self.client
            client.sync(CONFIG)  # the server that answers may be behind
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
                f"{CONFIG}/{kind}/{name} in the ZooKeeper of {self.name} cannot be changed: {error}. "
                "Repair or delete it first."
            ) from None

    # -- writing ----------------------------------------------------------------------------------------

    def write(self, kind: str, names: Sequence[str], change: Change, fence: Fence) -> None:
        """Change nodes: each one and its notification in one transaction, :data:`AT_ONCE` nodes in each.

        The fence is asked between reading and writing. Its answer may be out of date when the write arrives;
        the version is not: if a newer writer has written the node since we read it, our write fails. For that
        every writer writes every node, also one that already is as it should be (without a notification
        then).

        :param change: what a node becomes, from its name and what it is; called again after a conflict.
        :raises BindingConflict: somebody else writes again and again, or a node is none of Kafka's.
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
                            f"The ZooKeeper of {self.name} did not answer ({type(lost).__name__}), and for "
                            f"{READ_BACK_SECONDS:.0f} s it could not be read whether the write happened."
                        ) from lost
            changed = {name: change(name, held[name].node) for name in names}
            fence(names)
            try:
                if self._commit(kind, held, changed):
                    return
            except LOST_REPLY as error:
                # What was written is read in the next turn, and then written once more: it is the same.
                lost, deadline = error, time.monotonic() + READ_BACK_SECONDS
        raise BindingConflict(
            f"{CONFIG}/{kind} in the ZooKeeper of {self.name} changes faster than it can be written."
        )

    def _commit(self, kind: str, held: Mapping[str, Held], changed: Mapping[str, ConfigNode]) -> bool:
        """One transaction; false when a node was changed in between."""
        transaction = self.client.transaction()
        for name, node in changed.items():
            path, before = f"{CONFIG}/{kind}/{name}", held[name]
            same = node == before.node
            if before.version is None:
                if same:
                    continue
                # Kafka with zookeeper.set.acl protects what lies there; what hadash adds must not be open.
                acl, _ = self.client.get_acls(f"{CONFIG}/{kind}")
                transaction.create(path, node.to_bytes(), acl=acl)
            else:
                # The very bytes when nothing changes: an empty node stays empty.
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
            raise BindingConflict(f"The ZooKeeper of {self.name} does not let hadash write.")
        return not any(isinstance(result, KazooException) for result in results)


def _cluster_id(client: KazooClient) -> str:
    """What the brokers wrote (1.1); empty when it is none, or nobody has."""
    try:
        value = json.loads(client.get(CLUSTER_ID)[0])
        return str(value["id"])
    except (NoNodeError, ValueError, KeyError, TypeError):
        return ""


def tree_at(name: str, number: int | None, hosts: str) -> Tree:
    """The tree at ``host:port,host:port/chroot``; connected when it is used first."""
    return Tree(name, number, lambda: started(hosts, bounded=True, setting="didi_zookeeper", logger=_QUIET))
