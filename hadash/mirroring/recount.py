"""Finds where both sides of a mirror correspond again after it has copied records twice. Pure.

A Connect worker that dies begins again at the last offset that it had committed, so MirrorMaker writes the last
records a second time. Then it continues in order: the distance between both sides has changed, and is constant
again. Going back record by record proves that the surplus records are such copies, and were not written by
other clients.
"""

from __future__ import annotations

from collections.abc import Sequence

from hadash.kafka.values import Record
from hadash.mirroring.offsets import OffsetSync

#: Records in a row that have to agree to prove a distance.
PROOF = 16


def recount(source: Sequence[Record], target: Sequence[Record], sync: OffsetSync) -> OffsetSync | None:
    """Return the point after the target's last record, on both sides.

    :param source: the last records of a partition, in order; the mirror may not have copied all of them yet.
    :param target: the mirror's last records, in order, back to before the first surplus one.
    :param sync: a point at which both sides corresponded before.
    :return: ``None`` when it cannot be proved: the records do not go back far enough, are not distinguishable,
        or some of the target's are not copies.
    """
    if not source or not target:
        return None
    ours = {record.offset: record.checksum for record in source}
    theirs = {record.offset: record.checksum for record in target}
    where: dict[str, list[int]] = {}
    for record in source:
        where.setdefault(record.checksum, []).append(record.offset)
    end = target[-1].offset + 1

    def agree(distance: int, last: int) -> bool:
        """Return whether ``PROOF`` records of the target up to ``last`` are in the source, ``distance`` earlier."""
        span = range(last, last - PROOF, -1)
        return all(o in theirs and ours.get(o - distance) == theirs[o] for o in span)

    before = sync.target - sync.source
    candidates = [end - 1 - offset for offset in where.get(target[-1].checksum, ())]
    found = [distance for distance in candidates if distance > before and agree(distance, end - 1)]
    if len(found) != 1:
        return None
    distance = found[0]
    for record in reversed(target):
        at = record.offset
        if ours.get(at - distance) == record.checksum:
            continue
        # The second copy begins after this record, where the first one ends: further on in the source, by the
        # number of records that were copied twice.
        again = [at - o for o in where.get(record.checksum, ()) if before <= at - o < distance]
        if len(again) != 1:
            return None
        distance = again[0]
        if distance == before:
            return OffsetSync(end - found[0], end) if agree(before, at) else None
    return None
