"""What another assignment of the same partitions would change. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """An assignment beside another one.

    :param moves: partitions that would have another member.
    :param spread_now: what the member with the most carries, as a multiple of the mean (1.0: all the same), and
        ``spread_then`` in the other assignment.
    """

    moves: int
    spread_now: float
    spread_then: float


def compare(
    now: Mapping[int, str], then: Mapping[int, str], members: Collection[str], weights: Mapping[int, float]
) -> Comparison:
    """Compare two assignments of the same partitions.

    :param weights: partition → what it carries; without any, each counts the same.

    >>> compare({0: "a", 1: "a"}, {0: "a", 1: "b"}, ["a", "b"], {})
    Comparison(moves=1, spread_now=2.0, spread_then=1.0)
    """
    moves = sum(then.get(partition) != who for partition, who in now.items())
    return Comparison(moves, spread(now, members, weights), spread(then, members, weights))


def spread(assigned: Mapping[int, str], members: Collection[str], weights: Mapping[int, float]) -> float:
    """What the member with the most carries, as a multiple of the mean; 1.0 when nothing is carried."""
    loads = dict.fromkeys(members, 0.0)
    for partition, who in assigned.items():
        if who in loads:
            loads[who] += weights.get(partition, 0.0) if weights else 1.0
    total = sum(loads.values())
    return max(loads.values()) * len(loads) / total if total else 1.0
