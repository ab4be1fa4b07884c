"""Compares the records of both sides of a mirror, part by part. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hadash.kafka.values import Partition, Record
from hadash.mirroring.offsets import OffsetSync

#: The parts in which two records can differ, in the order of messages.
KINDS = ("key", "value", "headers", "time")


@dataclass(frozen=True, slots=True)
class Difference:
    """Records of one partition that differ in one part (``kind``): the source offsets of the first and the last
    one, and their number.
    """

    partition: Partition
    kind: str
    first: int
    last: int
    count: int


def pairs_of(
    source: Sequence[Record], target: Sequence[Record], point: OffsetSync
) -> list[tuple[Record, Record]]:
    """Return corresponding records as (source, target); records without a counterpart are left out.

    Before ``point`` the distance between both sides may have been different: a mirror that copied records twice
    is counted from a new point. Records before it are pairs only if their keys and values prove that they are
    the same.

    :param point: from this point on both sides correspond record by record.
    """
    there = {record.offset - point.target + point.source: record for record in target}
    pairs = [(record, there[record.offset]) for record in source if record.offset in there]
    before = [pair for pair in pairs if pair[0].offset < point.source]
    after = [pair for pair in pairs if pair[0].offset >= point.source]
    return (before if _same_records(before) else []) + after


def differences(partition: Partition, pairs: Sequence[tuple[Record, Record]]) -> list[Difference]:
    """Return the differences between the records of ``pairs``, at most one for each part."""
    found: dict[str, list[int]] = {}
    for ours, theirs in pairs:
        for kind in _kinds(ours, theirs):
            found.setdefault(kind, []).append(ours.offset)
    return [
        Difference(partition, kind, found[kind][0], found[kind][-1], len(found[kind]))
        for kind in KINDS
        if kind in found
    ]


def _same_records(pairs: Sequence[tuple[Record, Record]]) -> bool:
    """Return whether keys and values of all pairs agree, and identify each record of a side."""
    ours = [_identity(record) for record, _ in pairs]
    return ours == [_identity(record) for _, record in pairs] and len(set(ours)) == len(ours)


def _identity(record: Record) -> tuple[bytes, bytes]:
    assert record.parts is not None
    return record.parts.key, record.parts.value


def _kinds(ours: Record, theirs: Record) -> Iterator[str]:
    if ours.checksum != theirs.checksum:
        yield from (kind for kind in KINDS if getattr(ours.parts, kind) != getattr(theirs.parts, kind))
