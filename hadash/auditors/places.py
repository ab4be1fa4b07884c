"""Where the comparison of a partition begins or goes on. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hadash.mirroring.offsets import OffsetSync


@dataclass(frozen=True, slots=True)
class Held:
    """The first offset that each side still holds, and its next one."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


@dataclass(frozen=True, slots=True)
class Place:
    """The next offsets to compare, and whether the comparison begins there (otherwise it goes on)."""

    source: int
    target: int
    is_begin: bool

    def is_within(self, held: Held) -> bool:
        """Whether both sides are known to hold what comes before it."""
        return self.source <= held.source_end and self.target <= held.target_end


def first_place(sync: OffsetSync, held: Held) -> Place:
    """Return where the comparison of a partition begins that was never compared.

    It begins at the offset sync, because before that records may have been copied the other way; or, when one side has
    deleted that point, at the first records that both still hold.

    >>> first_place(OffsetSync(100, 0), Held(40, 500, 0, 400))
    Place(source=100, target=0, is_begin=True)
    >>> first_place(OffsetSync(100, 0), Held(250, 500, 120, 400))
    Place(source=250, target=150, is_begin=True)
    """
    distance = sync.target - sync.source
    source = max(sync.source, held.source_start, held.target_start - distance)
    return Place(source, source + distance, is_begin=True)


def next_place(source: int, target: int, sync: OffsetSync, held: Held) -> Place:
    """Return where the comparison goes on that had come to ``source`` and ``target``.

    It begins again where it cannot go on: one side has deleted records that were not compared yet, or holds fewer than
    were compared (its Topic was made again).

    >>> sync = OffsetSync(0, 0)
    >>> next_place(50, 52, sync, Held(0, 90, 0, 90))
    Place(source=50, target=52, is_begin=False)
    >>> next_place(50, 52, sync, Held(70, 90, 60, 92))
    Place(source=70, target=72, is_begin=True)
    >>> next_place(50, 52, OffsetSync(40, 0), Held(40, 90, 0, 30))
    Place(source=40, target=0, is_begin=True)
    """
    if source > held.source_end or target > held.target_end:
        return first_place(sync, held)
    if source >= held.source_start and target >= held.target_start:
        return Place(source, target, is_begin=False)
    return first_place(OffsetSync(source, target), held)
