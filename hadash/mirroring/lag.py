"""Mirror lag in records and seconds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to


@dataclass(frozen=True, slots=True)
class Lag:
    """The number of records of each partition that are not copied yet. Negative: the mirror has more than its
    source.
    """

    partitions: Mapping[Partition, int]

    @property
    def records(self) -> int:
        return sum(max(lag, 0) for lag in self.partitions.values())

    @property
    def excess(self) -> dict[Partition, int]:
        """The number of records that the mirror holds and its source does not, by partition."""
        return {partition: -lag for partition, lag in self.partitions.items() if lag < 0}


def measure(
    syncs: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> Lag:
    """Return the lag of every partition that has an offset sync.

    Callers read the target's ends *before* the source's: then a busy mirror seems a little late. In the other
    order it could seem ahead of its source.
    """
    return Lag(
        {
            partition: source_end - mirrored_up_to(syncs[partition], target_ends[partition])
            for partition, source_end in source_ends.items()
            if partition in syncs
        }
    )


def seconds_behind(now: float, mirrored: int, history: Sequence[tuple[float, int]]) -> float | None:
    """Return for how many seconds the source has held a record that the mirror does not.

    :param mirrored: the number of records of the source that the mirror holds, of one partition.
    :param history: (time, number of records of the source) of earlier looks, oldest first.
    :return: 0.0 when nothing is missing; ``None`` when the history does not reach back far enough.

    >>> seconds_behind(10.0, 100, [(7.0, 90), (8.0, 120), (9.0, 150)])
    2.0
    """
    if not history or history[-1][1] <= mirrored:
        return 0.0
    if history[0][1] > mirrored:
        return None
    late_since = next(at for at, records in history if records > mirrored)
    return now - late_since
