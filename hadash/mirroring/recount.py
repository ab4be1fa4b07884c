"""Where both sides of a mirror correspond again after it has copied records twice. Pure.

A Connect worker that dies begins again at the last offset that it had committed, so MirrorMaker writes the
last records a second time. From there on it goes on in order: the distance between both sides is another one,
and constant again. That the records which are too many are such copies, and not somebody else's, is proved by
going back record by record.
"""

from __future__ import annotations

from collections.abc import Sequence

from hadash.kafka.values import Record
from hadash.mirroring.offsets import OffsetSync

#: Records in a row that have to agree for a distance to be believed.
PROOF = 16


def recount(source: Sequence[Record], target: Sequence[Record], anchor: OffsetSync) -> OffsetSync | None:
    """The point after the target's last record, on both sides.

    :param source: the last records of a partition, in order; the mirror may not have copied all of them yet.
    :param target: the mirror's last records, in order, back to before the first one that is too many.
    :param anchor: a point at which both sides corresponded before.
    :return: ``None`` when it cannot be proved: the records go back not far enough, are not distinguishable, or
        the target has some that are no copies.
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
        """Whether ``PROOF`` records of the target up to ``last`` stand in the source, ``distance`` before."""
        span = range(last, last - PROOF, -1)
        return all(o in theirs and ours.get(o - distance) == theirs[o] for o in span)

    before = anchor.target - anchor.source
    candidates = [end - 1 - offset for offset in where.get(target[-1].checksum, ())]
    found = [distance for distance in candidates if distance > before and agree(distance, end - 1)]
    if len(found) != 1:
        return None
    distance = found[0]
    for record in reversed(target):
        at = record.offset
        if ours.get(at - distance) == record.checksum:
            continue
        # The second copy begins after this record, and here the first one ends: further on in the source, by as many
        # records as were copied twice.
        again = [at - o for o in where.get(record.checksum, ()) if before <= at - o < distance]
        if len(again) != 1:
            return None
        distance = again[0]
        if distance == before:
            return OffsetSync(end - found[0], end) if agree(before, at) else None
    return None
