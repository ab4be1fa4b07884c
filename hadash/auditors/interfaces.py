"""What an auditor asks of the clusters and of the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from hadash.auditors.ledger import Claim, Direction, Progress
from hadash.auditors.places import Held, Place
from hadash.auditors.side_reader import SideReader
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence


class Clusters(Protocol):
    """Both clusters of a pair, by their keys."""

    def readers(self) -> Mapping[int, SideReader]:
        """A new reader of each cluster."""
        ...

    def held(self, partitions: Mapping[Partition, int]) -> Mapping[Partition, Held]:
        """What both sides hold of partitions (with their source), the target's end read before the source's; without
        those that one side does not have. :raises KafkaError: a cluster does not answer.
        """
        ...

    def have_changed(self) -> bool:
        """Whether readers have to be made again: a cluster has another address or password now."""
        ...

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """Those of the Topics that are compacted. :raises KafkaError: a cluster does not answer."""
        ...


class Books(Protocol):
    """What :class:`hadash.auditors.ledger.Ledger` does."""

    def directions(self) -> Mapping[str, Direction]: ...

    def syncs(
        self, partitions: Iterable[Partition], directions: Mapping[str, Direction]
    ) -> Mapping[Partition, OffsetSync]: ...

    def claim(self, partition: Partition, source: int) -> Claim: ...

    def begin(self, claim: Claim, source: int, place: Place, *, was_made_again: bool) -> bool: ...

    def prune(self, claim: Claim, held: Held) -> None: ...

    def note(self, progress: list[Progress]) -> Mapping[int, bool]: ...

    def say(self, partition: Partition, source: int, fault: Sentence) -> None: ...
