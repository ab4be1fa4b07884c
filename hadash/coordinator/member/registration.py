"""How a process takes a member's name, and has itself listed.

The name is taken first: of two processes with the same name only one begins to read. It is listed (by the discovery
over ZooKeeper) when it has put the assignments as they are then into effect: the coordinator relies on that.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import committed, reaching
from hadash.bindings.errors import NameTaken
from hadash.coordinator.pool import Isolation
from hadash.sentences import say


class Registration:
    """The registration of one process.

    :param client: a connected client whose commands time out.
    :param url: where its status is asked.
    """

    def __init__(self, client: KazooClient, pool: str, member: str, url: str) -> None:
        self._client = client
        self._pool = pool
        self._member = member
        self._url = url
        #: Identifies this process over its sessions.
        self._incarnation = uuid.uuid4().hex
        #: The session in which it has the name, and the one in which it is listed.
        self._named: int | None = None
        self._listed: int | None = None

    @property
    def is_named(self) -> bool:
        """Whether this process has the name in the present session."""
        return self._named is not None and self._named == self._session()

    @property
    def is_listed(self) -> bool:
        return self._listed is not None and self._listed == self._session()

    def _session(self) -> int | None:
        session = self._client.client_id
        return session[0] if session else None

    def take_name(self) -> bool:
        """Take the name; false when something has changed meanwhile.

        :raises NameTaken: another process has it.
        :raises StoreUnavailable: ZooKeeper does not answer.
        """
        path = layout.member_name(self._pool, self._member)
        with reaching():
            session = self._session()
            try:
                value, stat = self._client.get(path)
            except NoNodeError:
                value, stat = b"", None
            if stat is not None and stat.ephemeralOwner == session:
                self._named = session
                return True
            if stat is not None and value.decode() != self._incarnation:
                raise NameTaken(
                    say(
                        "Another process is the member %(member)s of the pool %(pool)s. It is waited for; if it is "
                        "not the one before this, give one of them another HADASH_MEMBER_NAME.",
                        member=self._member,
                        pool=self._pool,
                    )
                )
            transaction = self._client.transaction()
            if stat is not None:
                # (It is of this process's last session, which is about to end.)
                transaction.delete(path, stat.version)
            transaction.create(path, self._incarnation.encode(), ephemeral=True)
            if not committed(transaction) or session != self._session():
                return False
            self._named = session
            return True

    def enlist(self, versions: Mapping[str, int]) -> bool:
        """Have the member listed; false when an assignment has changed meanwhile.

        :param versions: Topic → the version of the document that is in effect.
        :raises StoreUnavailable: ZooKeeper does not answer.
        """
        path = layout.pool_member(self._pool, self._member)
        with reaching():
            session = self._session()
            stat = self._client.exists(path)
            if stat is not None and stat.ephemeralOwner == session:
                self._listed = session
                return True
            transaction = self._client.transaction()
            for topic, version in versions.items():
                transaction.check(layout.assignment(self._pool, topic), version)
            if stat is not None:
                transaction.delete(path, stat.version)
            value = json.dumps({"url": self._url, "incarnation": self._incarnation}).encode()
            transaction.create(path, value, ephemeral=True)
            transaction.set_data(layout.membership(self._pool), b"")
            if not committed(transaction) or session != self._session():
                return False
            self._listed = session
            return True

    def end_isolation(self, seen: Isolation, versions: Mapping[str, int]) -> bool:
        """End an isolation that is to end, while this process reads nothing; false when something has changed
        meanwhile.

        :param versions: Topic → the version of the document that is in effect.
        :raises StoreUnavailable: ZooKeeper does not answer.
        """
        path = layout.isolation(self._pool, self._member)
        with reaching():
            try:
                value, stat = self._client.get(path)
            except NoNodeError:
                return True
            if Isolation.parse(value) != seen or not seen.is_ending:
                return False
            transaction = self._client.transaction()
            for topic, version in versions.items():
                transaction.check(layout.assignment(self._pool, topic), version)
            transaction.delete(path, stat.version)
            transaction.set_data(layout.membership(self._pool), b"")
            return committed(transaction)

    def leave(self) -> None:
        """Give up the name, and be listed no longer: others get the partitions at once.

        :raises StoreUnavailable: ZooKeeper does not answer: both end with the session.
        """
        with reaching():
            for path in (
                layout.pool_member(self._pool, self._member),
                layout.member_name(self._pool, self._member),
            ):
                stat = self._client.exists(path)
                if stat is not None and stat.ephemeralOwner == self._session():
                    self._client.delete(path)
        self._named = self._listed = None
