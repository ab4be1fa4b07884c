"""Source offsets of which a mirror has no copy although it has copied everything. Pure.

Counted from the last known point such a mirror lags for ever. Two things leave offsets without a copy. Offsets that
hold no record: the markers of transactions, and what compaction has removed. And records that the source has deleted
(retention, an administrator) before the mirror came to them; Kafka deletes only from the front of a partition.

That it is a gap, and not records that are still to be copied, is proved by content: the target's last records are
found in the source, further on than counting says. That the mirror has left out no record which the source still
holds is proved by counting: the offsets that were read and hold none are as many as have no copy.
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

    ``start``: the first offset that the side still holds. ``first``: from where the records were read. ``end``: up
    to where.
    """

    start: int
    first: int
    end: int
    records: Sequence[Record]

    @property
    def whole(self) -> bool:
        """Whether this is all that the side holds."""
        return self.first <= self.start


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of the source without a copy.

    ``point``: where both sides correspond again. ``without_record``: offsets that hold no record. ``lost``: records
    that were deleted before they were copied; those up to ``lost_before`` on the source, if that is known.
    ``resumes_at``: the target's offset of the first record after the lost ones; ``None`` if it is not known.
    """

    point: OffsetSync
    without_record: int
    lost: int = 0
    lost_before: int | None = None
    resumes_at: int | None = None


def find_gap(source: Read, target: Read, known: OffsetSync, copied: int | None = None) -> Gap | None:
    """The gap after ``known``; ``None`` if there is none, or none can be proved: not enough was read, or the mirror has
    left out records that the source still holds.

    :param known: a point at which both sides corresponded before.
    :param copied: the source's last record that the mirror has copied, as Connect says; it decides between several
        places that look the same. ``None`` if Connect does not say.
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
        # What has no copy may be a record that the source still holds.
        return None
    lost = missing - holes
    if not source.whole:
        return Gap(point, holes, lost)
    resumes_at = point.target - len(held)
    if not _copies(held, target, resumes_at):
        return None
    return Gap(point, holes, lost, source.start, resumes_at)


def _copies(held: Sequence[Record], target: Read, first: int) -> bool:
    """Whether the target's records from ``first`` on are those of ``held``, every one of them."""
    theirs = [record.checksum for record in target.records if record.offset >= first]
    return theirs == [record.checksum for record in held]


def _where(source: Read, target: Read, known: OffsetSync, copied: int | None) -> int | None:
    """The source offset that follows the target's last record."""
    if not source.records:
        # No record is left to copy: whatever the target holds is older.
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
    """Whether the records up to the source's at index ``at`` are the target's last ones: ``PROOF`` of them, or all
    that one of the sides holds."""
    ours, theirs = source.records[: at + 1][-PROOF:], target.records[-PROOF:]
    shared = min(len(ours), len(theirs))
    enough = (
        shared == PROOF or (len(ours) == shared and source.whole) or (len(theirs) == shared and target.whole)
    )
    return enough and all(
        a.checksum == b.checksum for a, b in zip(ours[-shared:], theirs[-shared:], strict=True)
    )
