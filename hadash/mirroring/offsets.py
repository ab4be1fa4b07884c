"""Translates offsets between the two sides of a mirror. Pure.

MirrorMaker 2 copies every record of a partition once and in order. So a record has the same distance on both
sides from a point that is known on both: an offset sync, or both ends when they are proved equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hadash.kafka.values import Committed, Partition


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """The same point of a partition on both sides."""

    source: int
    target: int


def mirrored_up_to(sync: OffsetSync, target_end: int) -> int:
    """Return the source offset up to which the mirror holds the records.

    >>> mirrored_up_to(OffsetSync(source=100, target=0), target_end=40)
    140
    """
    return sync.source + (target_end - sync.target)


def proved_up_to(sync: OffsetSync, target_end: int, last_copied: int | None) -> int:
    """Return the source offset up to which the mirror is proved to hold the records.

    The target can also hold records that a Connect worker copied twice because it died, or that other clients
    wrote; :func:`mirrored_up_to` counts each of them as a copy. Records that Connect has committed were copied;
    later ones may have been.

    :param last_copied: as in :func:`written_up_to`.

    >>> proved_up_to(OffsetSync(source=100, target=0), target_end=45, last_copied=139)
    140
    >>> proved_up_to(OffsetSync(source=100, target=0), target_end=45, last_copied=None)
    100
    """
    committed = sync.source if last_copied is None else max(last_copied + 1, sync.source)
    return min(mirrored_up_to(sync, target_end), committed)


def written_up_to(sync: OffsetSync, last_copied: int | None) -> int:
    """Return the target offset up to which a mirror has written: other clients wrote the records beyond it.

    :param last_copied: the source offset of the last record that it has copied; ``None`` for none.

    >>> written_up_to(OffsetSync(source=100, target=40), last_copied=104)
    45
    """
    return sync.target + (0 if last_copied is None else max(last_copied + 1 - sync.source, 0))


def ending_at(sync: OffsetSync, source_end: int) -> OffsetSync:
    """Return the ends of both sides if the source ended at ``source_end``.

    >>> ending_at(OffsetSync(source=100, target=0), source_end=140)
    OffsetSync(source=140, target=40)
    """
    return OffsetSync(source_end, sync.target + source_end - sync.source)


def held_by_both(sync: OffsetSync, source_end: int, target_end: int) -> OffsetSync:
    """Return the end of the records that both sides hold, whichever of them is the mirror.

    >>> held_by_both(OffsetSync(source=100, target=0), source_end=140, target_end=38)
    OffsetSync(source=138, target=38)
    """
    target = min(ending_at(sync, source_end).target, target_end)
    return OffsetSync(sync.source + target - sync.target, target)


def translate(committed: int, ends: OffsetSync, source_start: int = 0, target_start: int = 0) -> int:
    """Return the committed offset on the target for ``committed`` on the source, with both ends proved equal.

    With both offsets a consumer reads the same record next. An offset before the source's first record (deleted
    by retention) counts as that first record, an offset beyond the end as the end. Retention works on each side
    independently: where the target has deleted more, its first record is next (:func:`skipped` finds the
    records between).

    >>> translate(95, OffsetSync(source=100, target=60))
    55
    """
    committed = min(max(committed, source_start), ends.source)
    return max(ends.target - (ends.source - committed), target_start)


def translate_groups(
    committed: Mapping[str, Mapping[Partition, int]],
    ends: Mapping[Partition, OffsetSync],
    source_starts: Mapping[Partition, int],
    target_starts: Mapping[Partition, int],
) -> dict[str, dict[Partition, int]]:
    """Return every group's offsets for the target; partitions without proved ends (not in the radius) are left
    out.
    """
    return {
        group: {
            partition: translate(
                offset, ends[partition], source_starts.get(partition, 0), target_starts.get(partition, 0)
            )
            for partition, offset in offsets.items()
            if partition in ends
        }
        for group, offsets in committed.items()
    }


def before_repeats(
    translated: Mapping[str, Mapping[Partition, int]],
    committed: Mapping[str, Mapping[Partition, int]],
    syncs: Mapping[Partition, OffsetSync],
    repeated: Mapping[Partition, int],
    target_starts: Mapping[Partition, int],
) -> dict[str, dict[Partition, int]]:
    """Return translated offsets, moved further back for groups that have not reached the offset sync: before it the
    target holds records twice, so earlier records are further back than counting from the offset sync says.

    :param committed: the groups' offsets on the source.
    :param repeated: ``target_repeated`` of :class:`hadash.mirroring.models.MirrorOffsetSync`.

    >>> end, at = OffsetSync(100, 105), {"p": OffsetSync(90, 95)}
    >>> before_repeats({"a": {"p": 25}, "b": {"p": 97}}, {"a": {"p": 20}, "b": {"p": 92}}, at, {"p": 5}, {"p": 0})
    {'a': {'p': 20}, 'b': {'p': 97}}
    """
    return {
        group: {
            p: max(offset - repeated.get(p, 0), target_starts.get(p, 0))
            if committed[group][p] < syncs[p].source
            else offset
            for p, offset in offsets.items()
        }
        for group, offsets in translated.items()
    }


def skipped(
    committed: Mapping[str, Mapping[Partition, int]],
    points: Mapping[Partition, OffsetSync],
    source_starts: Mapping[Partition, int],
    target_starts: Mapping[Partition, int],
) -> Iterator[tuple[str, Partition, int]]:
    """Yield (group, partition, number): records that a group has not read yet and that only the target has
    deleted.

    Records that the source has deleted, too, are not counted: the group could not read them there either.
    """
    for group, offsets in sorted(committed.items()):
        for partition, offset in sorted(offsets.items()):
            if partition not in points:
                continue
            point = points[partition]
            following = point.target - point.source + max(offset, source_starts.get(partition, 0))
            lacking = target_starts.get(partition, 0) - following
            if lacking > 0:
                yield group, partition, lacking


def furthest_back(
    translated: Mapping[str, Mapping[Partition, int]], ends: Mapping[Partition, OffsetSync], count: int
) -> dict[Partition, OffsetSync]:
    """Return, for each partition, the point ``count`` records after the group that is furthest back, unless
    that is within ``count`` of the end. If the records before such a point are the same on both sides, the
    mirror has copied the later ones once.

    :param translated: the groups' offsets on the target.

    >>> end = OffsetSync(source=100, target=60)
    >>> furthest_back({"a": {"p": 20}, "b": {"p": 50}}, {"p": end}, 16)
    {'p': OffsetSync(source=76, target=36)}
    >>> furthest_back({"b": {"p": 50}}, {"p": end}, 16)
    {}
    """
    lowest: dict[Partition, int] = {}
    for offsets in translated.values():
        for partition, offset in offsets.items():
            lowest[partition] = min(offset, lowest.get(partition, offset))
    return {
        p: OffsetSync(ends[p].source - (ends[p].target - offset) + count, offset + count)
        for p, offset in lowest.items()
        if offset + count < ends[p].target
    }


def stale_offsets(
    standing: Mapping[str, Mapping[Partition, Any]],
    wanted: Mapping[str, Mapping[Partition, Any]],
    ends: Mapping[Partition, OffsetSync],
) -> dict[str, frozenset[Partition]]:
    """Return the partitions that groups have committed on the target and not on the source: leftovers of an
    earlier stay.

    A group without an offset begins where its ``auto.offset.reset`` says, as it would on the source; with a
    stale offset it would read old records again. Partitions without proved ends (not in the radius) are left
    out.
    """
    stale = {
        group: frozenset(p for p in offsets if p in ends and p not in wanted.get(group, {}))
        for group, offsets in standing.items()
    }
    return {group: partitions for group, partitions in stale.items() if partitions}


def to_try(
    committed: Mapping[str, Mapping[Partition, Committed]],
    standing: Mapping[str, Mapping[Partition, Committed]],
    starts: Mapping[Partition, int],
) -> dict[str, dict[Partition, Committed]]:
    """Return commits that test whether those of ``committed`` can be written on the target: the current offsets
    there (``standing``), which moves no group, with the new metadata. For a Topic on which a group has no
    offset there, they are the partitions' first offsets.

    :param starts: the first offsets on the target.
    """
    found: dict[str, dict[Partition, Committed]] = {}
    for group, offsets in committed.items():
        there = standing.get(group, {})
        known = {p.topic for p in offsets if p in there}
        found[group] = {
            p: Committed(there[p].offset if p in there else starts[p], commit.metadata)
            for p, commit in offsets.items()
            if p in starts and (p in there or p.topic not in known)
        }
    return found


def resume_after(ends: Mapping[Partition, OffsetSync]) -> dict[Partition, int]:
    """Return where the opposite mirror continues: the last record that both sides hold, by source partition of
    the *new* direction; -1 where there is none. All records after it are new, so none can be copied in a loop.
    """
    return {partition: point.target - 1 for partition, point in ends.items()}


def never_back(
    wanted: Mapping[Partition, int], copied: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> dict[Partition, int]:
    """Return where a mirror continues: after ``wanted``, or after what it has already ``copied`` if that is
    further.

    A ``copied`` offset beyond the end of the source belongs to an earlier Topic of that name, and does not
    count.
    """
    return {
        p: max(last, copied.get(p, -1)) if copied.get(p, -1) < ends[p] else last for p, last in wanted.items()
    }
