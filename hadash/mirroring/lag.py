"""Mirror lag in records and seconds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to


@dataclass(frozen=True, slots=True)
class Lag:
    """Records of each partition that are not in the mirror yet. Negative: the mirror holds more than its source."""

    partitions: Mapping[Partition, int]

    @property
    def records(self) -> int:
        return sum(max(lag, 0) for lag in self.partitions.values())

    @property
    def excess(self) -> dict[Partition, int]:
        """Partitions of which the mirror holds records that the source does not, and how many."""
        return {partition: -lag for partition, lag in self.partitions.items() if lag < 0}


def measure(
    anchors: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> Lag:
    """The lag of every partition that has an anchor.

    Read the target's ends *after* the source's and a busy mirror can seem ahead of its source; read before, it
    seems a little late. Callers read the target first.
    """
    return Lag(
        {
            partition: source_end - mirrored_up_to(anchors[partition], target_ends[partition])
            for partition, source_end in source_ends.items()
            if partition in anchors
        }
    )


def seconds_behind(now: float, mirrored: int, history: Sequence[tuple[float, int]]) -> float | None:
    """Since when the source has held a record that the mirror does not.

    :param mirrored: records of the source that the mirror holds, of one partition.
    :param history: (time, records of the source) of earlier looks, oldest first.
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
