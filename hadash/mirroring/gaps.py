"""Finds source offsets without a copy although the mirror has copied everything (gaps). Pure.

Counted from the last known point such a mirror seems to lag for ever. There are two causes. Some offsets hold
no record: transaction markers, and compacted records. And the source may have deleted records (retention, an
administrator) before they were copied; Kafka deletes only from the front of a partition.

The content proves that it is a gap, and not records that are still to be copied: the target's last records are
found in the source, further on than counting says. Counting proves that the mirror has skipped no record which
the source still holds: as many of the offsets that were read hold no record as have no copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hadash.kafka.values import Record
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to
from hadash.mirroring.recount import PROOF


@dataclass(frozen=True, slots=True)
class Read:
    """The last records of one side of a partition.

    ``start``: the first offset that the side still holds. ``first``: the offset from which records were read.
    ``end``: the offset after the last one read.
    """

    start: int
    first: int
    end: int
    records: Sequence[Record]

    @property
    def whole(self) -> bool:
        """Whether all records that the side holds were read."""
        return self.first <= self.start


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of the source without a copy.

    ``point``: where both sides correspond again. ``without_record``: the number of offsets that hold no record.
    ``lost``: the number of records that were deleted before they were copied; ``lost_before``: the source
    offset after the last of them. ``resumes_at``: the target's offset of the first record after them. ``None``:
    not known.
    """

    point: OffsetSync
    without_record: int
    lost: int = 0
    lost_before: int | None = None
    resumes_at: int | None = None


def find_gap(source: Read, target: Read, known: OffsetSync, copied: int | None = None) -> Gap | None:
    """Return the gap after ``known``; ``None`` if there is none, or it cannot be proved: not enough was read,
    or the mirror has skipped records that the source still holds.

    :param known: a point at which both sides corresponded before.
    :param copied: the source's last record that the mirror has copied, as Connect reports it; it decides
        between several places that look the same. ``None``: not known.
    """
    found = _where(source, target, known, copied)
    if found is None:
        return None
    point = OffsetSync(found, target.end)
    missing = (point.source - known.source) - (point.target - known.target)
    if missing <= 0:
        return None
    began = max(source.first, known.source)
    held = [record for record in source.records if began <= record.offset < point.source]
    holes = point.source - began - len(held)
    if holes == missing:
        return Gap(point, missing)
    if holes > missing or source.start <= known.source:
        # Some offsets without a copy may hold a record.
        return None
    lost = missing - holes
    if not source.whole:
        return Gap(point, holes, lost)
    resumes_at = point.target - len(held)
    if not _copies(held, target, resumes_at):
        return None
    return Gap(point, holes, lost, source.start, resumes_at)


def _copies(held: Sequence[Record], target: Read, first: int) -> bool:
    """Return whether the target's records from ``first`` on are exactly those of ``held``."""
    theirs = [record.checksum for record in target.records if record.offset >= first]
    return theirs == [record.checksum for record in held]


def _where(source: Read, target: Read, known: OffsetSync, copied: int | None) -> int | None:
    """Return the source offset that follows the target's last record; ``None`` if it is not clear."""
    if not source.records:
        # No record is left to copy: all records of the target are older.
        return source.end if source.whole else None
    if not target.records:
        return None
    expected = mirrored_up_to(known, target.end)
    last = len(source.records) - 1
    places = [
        at
        for at, record in enumerate(source.records)
        if record.offset >= expected - 1
        and record.checksum == target.records[-1].checksum
        and _agree(source, target, at)
    ]
    if last in places and copied is not None and copied >= source.records[last].offset:
        return source.end
    if len(places) != 1:
        return None
    return source.end if places[0] == last else source.records[places[0]].offset + 1


def _agree(source: Read, target: Read, at: int) -> bool:
    """Return whether the source's records up to index ``at`` are the target's last ones: ``PROOF`` of them, or
    all that one of the sides holds.
    """
    ours, theirs = source.records[: at + 1][-PROOF:], target.records[-PROOF:]
    shared = min(len(ours), len(theirs))
    enough = (
        shared == PROOF or (len(ours) == shared and source.whole) or (len(theirs) == shared and target.whole)
    )
    return enough and all(
        a.checksum == b.checksum for a, b in zip(ours[-shared:], theirs[-shared:], strict=True)
    )
