"""The proof that a mirror is drained. Pure: takes values of both sides, returns a verdict with its reason.

A mirror is drained when for every partition the source's end stood still between two reads, the target has
grown by exactly as many records since the offset sync, and the last records of both sides have the same checksums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hadash.kafka.values import Partition, Record
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to
from hadash.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class Behind:
    """The mirror has not copied everything yet."""

    records: int


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """By count the mirror holds all records; the last ones are still to be compared."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The two sides contradict each other: another client wrote to the mirror, or it copied records twice."""

    reason: Sentence


def compare_ends(
    syncs: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> Behind | CaughtUp | Contradiction:
    """Return the progress of the mirror, counted from the offset syncs."""
    behind = 0
    ends = {}
    for partition, source_end in source_ends.items():
        sync = syncs.get(partition)
        if sync is None:
            return Contradiction(
                say(
                    "Partition %(partition)s has no known point at which both sides correspond.",
                    partition=partition,
                )
            )
        lag = source_end - mirrored_up_to(sync, target_ends[partition])
        if lag < 0:
            return Contradiction(
                say(
                    "The mirror of %(partition)s holds %(count)s records that its source does not.",
                    partition=partition,
                    count=-lag,
                )
            )
        behind += lag
        ends[partition] = OffsetSync(source_end, target_ends[partition])
    return Behind(behind) if behind else CaughtUp(ends)


def compare_last_records(
    source: Mapping[Partition, Sequence[Record]], target: Mapping[Partition, Sequence[Record]]
) -> Sentence | None:
    """Return why the last records of both sides are not the same; ``None`` when they are.

    Retention works on each side independently, so one side may hold fewer records; those that both hold must
    agree.
    """
    for partition, records in source.items():
        others = target.get(partition, ())
        shared = min(len(records), len(others))
        ours = [r.checksum for r in records[len(records) - shared :]]
        theirs = [r.checksum for r in others[len(others) - shared :]]
        if ours != theirs:
            differing = sum(a != b for a, b in zip(ours, theirs, strict=True))
            return say(
                "The last %(count)s records of %(partition)s differ between the clusters (%(differing)s of them).",
                partition=partition,
                count=shared,
                differing=differing,
            )
    return None


def shared_last_records(
    source: Mapping[Partition, Sequence[Record]], target: Mapping[Partition, Sequence[Record]]
) -> dict[Partition, int]:
    """Return how many last records of each partition both sides hold: those that :func:`compare_last_records` compares.

    >>> p = Partition("orders", 0)
    >>> shared_last_records({p: [Record(0, "a"), Record(1, "b")]}, {p: [Record(7, "b")]}) == {p: 1}
    True
    """
    return {p: min(len(records), len(target.get(p, ()))) for p, records in source.items()}


def same_next(source: Sequence[Record], target: Sequence[Record]) -> bool:
    """Return whether the next records of both sides are the same, as far as both were read; ``False`` when one
    side has none.

    >>> a, b = Record(52, "a"), Record(53, "b")
    >>> same_next([a, b], [Record(12, "a")]), same_next([a, b], [Record(12, "b")]), same_next([], [Record(12, "a")])
    (True, False, False)
    """
    shared = min(len(source), len(target))
    return shared > 0 and all(
        ours.checksum == theirs.checksum
        for ours, theirs in zip(source[:shared], target[:shared], strict=True)
    )
