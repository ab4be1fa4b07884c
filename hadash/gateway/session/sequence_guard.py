"""Keeps the order of an idempotent producer's first batches on a cluster that it has moved to (docs/adr/0005).

A cluster that has never seen a producer id accepts any sequence number as its first. So the order that idempotence
guarantees begins with the first batch that the cluster accepts. If a batch is refused (its broker does not lead the
partition yet) and the next one, sent right after it, is accepted, the first comes too late, and its producer fails.
Until a cluster has accepted the first batch of a partition, nothing is sent after it; and if it was refused, later
batches are refused until it comes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class FirstBatch(NamedTuple):
    """A partition that a producer id writes to; ``since`` is the binding epoch since which it does so here."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    since: int


class SequenceGuard:
    """The openings of one connection. ``now`` is in seconds of any clock.

    >>> openings, orders = SequenceGuard(patience=5.0), FirstBatch("orders", 0, 7, 0, 12)
    >>> openings.sent([(orders, 30)]); openings.is_opening("orders", 0)
    True
    >>> openings.answered([(orders, 30)], refused={("orders", 0)}, now=1.0)
    >>> openings.comes_too_early(orders, 35, now=1.1), openings.comes_too_early(orders, 30, now=1.1)
    (True, False)
    """

    __slots__ = ("_opened", "_patience", "_refused", "_under_way")

    def __init__(self, patience: float) -> None:
        """:param patience: seconds for which the first batch is expected again; its producer may have dropped it."""
        self._patience = patience
        self._opened: set[FirstBatch] = set()
        #: Topic and partition of first batches that are not answered yet.
        self._under_way: set[tuple[str, int]] = set()
        #: The sequence number of the first batch that was refused, and until when it is expected again.
        self._refused: dict[FirstBatch, tuple[int, float]] = {}

    @property
    def any_under_way(self) -> bool:
        return bool(self._under_way)

    def is_open(self, opening: FirstBatch) -> bool:
        """Whether the cluster already knows the sequence."""
        return opening in self._opened

    def is_opening(self, topic: str, partition: int) -> bool:
        """Whether a first batch is under way; the next one waits for its answer."""
        return (topic, partition) in self._under_way

    def comes_too_early(self, opening: FirstBatch, sequence: int, now: float) -> bool:
        """Whether the cluster would accept a batch before one that it has refused."""
        first, until = self._refused.get(opening, (sequence, now))
        return sequence > first and now < until

    def sent(self, batches: Iterable[tuple[FirstBatch, int]]) -> None:
        """Note that first batches, with their sequence numbers, are under way."""
        self._under_way.update((opening.topic, opening.partition) for opening, _ in batches)

    def answered(
        self, batches: Iterable[tuple[FirstBatch, int]], refused: set[tuple[str, int]], now: float
    ) -> None:
        """Note that first batches were answered.

        :param refused: the partitions whose batches were not accepted.
        """
        for opening, sequence in batches:
            partition = (opening.topic, opening.partition)
            self._under_way.discard(partition)
            if partition in refused:
                self._refused[opening] = (sequence, now + self._patience)
            else:
                self._refused.pop(opening, None)
                self._opened.add(opening)
