"""What ZooKeeper holds of a pool of consumers; what has not changed is not read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.coordinator.documents import AssignmentDocument, DocumentError, StateDocument
from hadash.coordinator.holding import Hold
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.watched import Node, Watched
from hadash.identity.names import decode
from hadash.sentences import Explained, say


class PoolError(Explained):
    """A pool that cannot be read or changed as wanted; nothing was changed. Its sentence says why."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """What ZooKeeper holds of a Topic.

    :param token: the transaction (``mzxid``) that has written ``document``; members confirm it.
    :param version: of the document's node, ``standing_version`` of the state's.
    :param changed_at: when the state was written last, in seconds since 1970 of ZooKeeper's clock.
    """

    document: AssignmentDocument
    token: int
    version: int
    standing: StateDocument
    standing_version: int
    changed_at: float


@dataclass(frozen=True, slots=True)
class PoolView:
    """What ZooKeeper holds of a pool.

    :param membership: counts how often a member came, or came back.
    :param isolated: member → its isolation.
    :param topics: Topic → what is assigned; ``unreadable`` has those whose documents cannot be read.
    :param holds: Topic → what a switch does with it, and the version of its node.
    """

    settings: PoolSettings
    membership: int
    isolated: Mapping[str, Isolation]
    topics: Mapping[str, Assigned]
    unreadable: Mapping[str, DocumentError] = field(default_factory=dict)
    holds: Mapping[str, tuple[Hold, int]] = field(default_factory=dict)


def pools(client: KazooClient) -> list[str]:
    """Return the names of all pools. :raises StoreUnavailable: ZooKeeper does not answer."""
    with reaching():
        try:
            found = client.get_children(layout.CONSUMERS)
        except NoNodeError:
            return []
    return sorted(decode(name) for name in found if not name.startswith("."))


class PoolReader:
    """Reads a pool. Every method raises ``StoreUnavailable`` when ZooKeeper does not answer."""

    def __init__(
        self, client: KazooClient, pool: str, on_change: Callable[[], object] = lambda: None
    ) -> None:
        """:param on_change: called (by ZooKeeper's thread) when something that was read has changed."""
        self._client = client
        self._watched = Watched(client, on_change)
        self._parsed: dict[str, Assigned] = {}
        self.pool = pool

    def read(self) -> PoolView:
        """Return all that ZooKeeper holds of the pool; what has not changed since the last call is not read again.

        The membership is read before the rest, and before members are listed: one who comes back meanwhile then makes
        every decision on the view be refused.

        :raises DocumentError: the pool's settings cannot be read.
        :raises PoolError: there is no such pool.
        """
        path = layout.pool_settings(self.pool)
        with reaching():
            try:
                membership = self._watched.node(layout.membership(self.pool))[1].version
                settings, _ = self._watched.node(path)
                isolated = self._isolated()
                topics, unreadable = self._topics()
                holds = self._holds()
            except NoNodeError:
                raise self._unknown() from None
        return PoolView(PoolSettings.parse(path, settings), membership, isolated, topics, unreadable, holds)

    def topics(self) -> set[str]:
        """Return the names of the Topics that the pool reads.

        :raises PoolError: there is no such pool.
        """
        with reaching():
            try:
                names = self._client.get_children(layout.assignments(self.pool))
            except NoNodeError:
                raise self._unknown() from None
        return {decode(name) for name in names}

    def forget(self) -> None:
        """Read everything again at the next call."""
        self._watched.forget()

    def _isolated(self) -> dict[str, Isolation]:
        folder = layout.isolations(self.pool)
        paths = {f"{folder}/{name}": decode(name) for name in self._watched.children(folder)}
        return {
            paths[path]: Isolation.parse(value) for path, (value, _) in self._watched.nodes(paths).items()
        }

    def _holds(self) -> dict[str, tuple[Hold, int]]:
        """:raises DocumentError: one cannot be read: whether its Topic may be read is not known then."""
        names = self._watched.children(layout.holds(self.pool))
        paths = {layout.hold(self.pool, topic): topic for topic in map(decode, names)}
        return {
            paths[path]: (Hold.parse(path, value), stat.version)
            for path, (value, stat) in self._watched.nodes(paths).items()
        }

    def _topics(self) -> tuple[dict[str, Assigned], dict[str, DocumentError]]:
        names = sorted(decode(name) for name in self._watched.children(layout.assignments(self.pool)))
        documents = {name: layout.assignment(self.pool, name) for name in names}
        states = {name: layout.assignment_state(self.pool, name) for name in names}
        found = self._watched.nodes([*documents.values(), *states.values()])
        topics, unreadable = {}, {}
        for name in names:
            document, state = found.get(documents[name]), found.get(states[name])
            if document is None or state is None:
                continue  # it was removed meanwhile
            try:
                topics[name] = self._assigned(name, document, state)
            except DocumentError as error:
                unreadable[name] = error
        return topics, unreadable

    def _assigned(self, topic: str, document: Node, state: Node) -> Assigned:
        (value, stat), (standing, standing_stat) = document, state
        known = self._parsed.get(topic)
        if (
            known is not None
            and known.token == stat.mzxid
            and known.standing_version == standing_stat.version
        ):
            return known
        self._parsed[topic] = Assigned(
            AssignmentDocument.parse(layout.assignment(self.pool, topic), value),
            stat.mzxid,
            stat.version,
            StateDocument.parse(layout.assignment_state(self.pool, topic), standing),
            standing_stat.version,
            standing_stat.mtime / 1000,
        )
        return self._parsed[topic]

    def _unknown(self) -> PoolError:
        return PoolError(say("There is no pool %(pool)s in ZooKeeper. Create it first.", pool=self.pool))
