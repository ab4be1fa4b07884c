"""The dialect of hadash's own Gateways: they watch the intended bindings, and each reports what it has applied."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kazoo.client import KazooClient

from hadash.bindings.client import reaching
from hadash.bindings.dialect import Waiting
from hadash.bindings.membership import members, not_applied, not_told
from hadash.bindings.model import GatewayMember
from hadash.bindings.pending_retries import ExpectedBack, expected_back
from hadash.bindings.store import BindingStore
from hadash.identity.identity import Identity
from hadash.sentences import Sentence


def waiting(members: Sequence[GatewayMember], late: Sequence[GatewayMember]) -> Waiting:
    """Describe the engines that a change waits for.

    :param late: the ``members`` that the change still waits for.
    """
    counted = sum(member.counts for member in members)
    excluded = tuple(member.id for member in late if member.excluded)
    return Waiting(tuple(member.id for member in late), counted, excluded)


class NativeDialect(BindingStore):
    """A :class:`BindingStore` whose engines are the member Gateways."""

    def __init__(self, client: KazooClient) -> None:
        super().__init__(client)

    def blockers(self, identities: Sequence[Identity], cluster: str) -> list[Sentence]:
        """Return no blockers: a Gateway knows every identity, and obeys nothing but these bindings."""
        return []

    def waiting_for(self, epoch: int) -> Waiting:
        """Return the late Gateways. An excluded Gateway counts only while it is live; any other counts in any case."""
        with reaching():
            found = members(self.client)
        return waiting(found, not_applied(found, epoch, self.epoch()))

    def not_told(self, epoch: int) -> Waiting:
        with reaching():
            found = members(self.client)
        return waiting(found, not_told(found, epoch, self.epoch()))

    def expected_back(self, appids: Collection[str], cluster: str) -> list[ExpectedBack]:
        with reaching():
            return expected_back(self.client, appids, cluster)
