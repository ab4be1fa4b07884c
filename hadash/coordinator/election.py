"""Which of several coordinators decides, and how one that was replaced is kept from writing.

As Kafka's own controller: the one that creates an ephemeral node decides, and the same transaction counts an epoch. The
epoch's version is the fencing token: a decision is only written while it is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import committed, reaching


@dataclass(frozen=True, slots=True)
class Fence:
    """The fencing token of a coordinator that decides."""

    epoch: int

    def check(self, transaction: TransactionRequest) -> None:
        """Let a transaction be refused when another coordinator decides now."""
        transaction.check(layout.COORDINATOR_EPOCH, self.epoch)


class Candidate:
    """A coordinator that decides when no other does.

    :param name: what people know it by. :param url: where its status is asked.
    """

    def __init__(self, client: KazooClient, name: str, url: str = "") -> None:
        self._client = client
        self.name = name
        self._value = json.dumps({"name": name, "url": url}, ensure_ascii=False).encode()
        with reaching():
            client.ensure_path(layout.COORDINATOR_EPOCH)

    def stand(self, on_change: Callable[[object], None] | None = None) -> Fence | None:
        """Return the token when this coordinator decides; ``None`` while another does.

        Asked before every look: a session that has ended has lost its office.

        :param on_change: called (by ZooKeeper's thread) when the one that decides changes.
        :raises StoreUnavailable: ZooKeeper does not answer: then nobody knows who decides.
        """
        with reaching():
            while True:
                # The epoch is read first: it is only counted by the transaction that creates the leader's node, so one
                # that is read before that node is seen is this session's own, or an older one. (Read afterwards, it
                # might be that of the coordinator that has replaced this one in between.)
                _, epoch = self._client.get(layout.COORDINATOR_EPOCH)
                leader = self._client.exists(layout.COORDINATOR_LEADER, watch=on_change)
                if leader is None:
                    self._take(epoch.version)
                elif leader.ephemeralOwner == self._client.client_id[0]:
                    return Fence(epoch.version)
                else:
                    return None

    def _take(self, version: int) -> None:
        transaction = self._client.transaction()
        transaction.create(layout.COORDINATOR_LEADER, self._value, ephemeral=True)
        transaction.set_data(layout.COORDINATOR_EPOCH, self._value, version)
        committed(transaction)  # when another was faster, the next look says so

    def resign(self) -> None:
        """Let another one decide at once."""
        with reaching():
            leader = self._client.exists(layout.COORDINATOR_LEADER)
            if leader is not None and leader.ephemeralOwner == self._client.client_id[0]:
                try:
                    self._client.delete(layout.COORDINATOR_LEADER)
                except NoNodeError:
                    pass


@dataclass(frozen=True, slots=True)
class Leader:
    """The coordinator that decides.

    :param url: where its status is asked; empty when it has none.
    """

    name: str
    url: str


def leader(client: KazooClient) -> Leader | None:
    """Return the coordinator that decides; ``None`` when none does. :raises StoreUnavailable: ZooKeeper is away."""
    with reaching():
        try:
            value, _ = client.get(layout.COORDINATOR_LEADER)
        except NoNodeError:
            return None
    found = json.loads(value)
    return Leader(str(found["name"]), str(found["url"]))
