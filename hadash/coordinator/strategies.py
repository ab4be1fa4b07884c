"""Strategies: which member is to have which partition of a Topic. Pure.

``range``, ``roundrobin`` and ``sticky`` are those of Kafka's consumers (:mod:`hadash.assignment`). ``weighted``
balances what the partitions carry, such as their bytes a second, and moves as few as it can.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping

from hadash.assignment import Group, Member, Partition, assign
from hadash.coordinator.decisions import Strategy
from hadash.coordinator.documents import NOBODY

#: The least that a partition counts, as a share of the mean: one without traffic may have some tomorrow.
LIGHTEST = 0.01

#: The Topic for Kafka's assignors, which want one: each Topic is assigned by itself.
_TOPIC = "topic"

#: By how much the busiest member may carry more than the least busy one, as a share of the mean: to move partitions
#: costs the consumers more than a small difference.
TOLERANCE = 0.1


def as_in_kafka(assignor: str) -> Strategy:
    """Return the strategy of one of Kafka's assignors: "range", "roundrobin" or "sticky".

    They number a Topic's partitions from 0: if a Topic's document has only some, they are numbered in their order.
    """

    def strategy(members: Collection[str], held: Mapping[int, str]) -> dict[int, str]:
        partitions = sorted(held)
        numbers = {partition: number for number, partition in enumerate(partitions)}
        owned: dict[str, list[Partition]] = {member: [] for member in members}
        for partition, who in held.items():
            if who in owned:
                owned[who].append(Partition(_TOPIC, numbers[partition]))
        group = Group(
            tuple(Member(id=name, topics=(_TOPIC,), owned=tuple(owned[name])) for name in sorted(members)),
            {_TOPIC: len(partitions)},
            assignor,
        )
        wanted = dict.fromkeys(partitions, NOBODY)
        for member, own in assign(group).items():
            wanted |= {partitions[each.number]: member for each in own}
        return wanted

    return strategy


def weighted(weights: Mapping[int, float], tolerance: float = TOLERANCE) -> Strategy:
    """Return a strategy that balances the sum of ``weights`` over the members.

    What nobody has goes, the heaviest first, to the member that carries the least. Then partitions move from the member
    that carries the most to the one that carries the least, each time the one that brings them nearest to each other,
    until they are within the tolerance or no partition would bring them nearer.

    :param weights: partition → what it carries; one that is not named counts as the mean of the others, or 1.
    """

    def strategy(members: Collection[str], held: Mapping[int, str]) -> dict[int, str]:
        if not members:
            return dict.fromkeys(held, NOBODY)
        mean = (sum(weights.values()) / len(weights) if weights else 0.0) or 1.0
        heavy = {partition: max(LIGHTEST * mean, weights.get(partition, mean)) for partition in held}
        wanted = {partition: who if who in members else NOBODY for partition, who in held.items()}
        loads = dict.fromkeys(members, 0.0)
        for partition, who in wanted.items():
            if who:
                loads[who] += heavy[partition]
        least = [(load, member) for member, load in loads.items()]
        heapq.heapify(least)
        for partition in sorted((p for p, who in wanted.items() if not who), key=lambda p: (-heavy[p], p)):
            load, member = least[0]
            wanted[partition] = member
            loads[member] = load + heavy[partition]
            heapq.heapreplace(least, (loads[member], member))
        _even_out(wanted, heavy, loads, tolerance)
        return wanted

    return strategy


def _even_out(
    wanted: dict[int, str], heavy: Mapping[int, float], loads: dict[str, float], tolerance: float
) -> None:
    """Move partitions from the busiest to the least busy member as long as that brings them nearer to each other."""
    own: dict[str, list[tuple[float, int]]] = {member: [] for member in loads}
    for partition, member in wanted.items():
        own[member].append((heavy[partition], partition))
    for partitions in own.values():
        partitions.sort()
    allowed = tolerance * sum(loads.values()) / len(loads)
    #: Members that have a partition to give; one whose every partition is too heavy keeps them.
    giving = set(loads)
    while giving:
        busiest = max(giving, key=lambda name: (loads[name], name))
        idlest = min(loads, key=lambda name: (loads[name], name))
        gap = loads[busiest] - loads[idlest]
        if gap <= allowed:
            return
        place = _nearest_half(own[busiest], gap)
        if place is None:
            giving.remove(busiest)
            continue
        weight, partition = own[busiest].pop(place)
        insort(own[idlest], (weight, partition))
        loads[busiest] -= weight
        loads[idlest] += weight
        wanted[partition] = idlest


def _nearest_half(partitions: list[tuple[float, int]], gap: float) -> int | None:
    """Return the place of the partition whose move leaves the smallest gap; ``None`` when none makes it smaller.

    >>> _nearest_half([(1.0, 0), (4.0, 1), (9.0, 2)], 10.0), _nearest_half([(10.0, 0)], 10.0)
    (1, None)
    """
    place = bisect_right(partitions, (gap / 2, -1))
    best = min(
        (near for near in (place - 1, place) if 0 <= near < len(partitions)),
        key=lambda near: abs(gap - 2 * partitions[near][0]),
        default=None,
    )
    if best is None or not 0 < partitions[best][0] < gap:
        return None
    return best


#: The strategies by their names in a cluster's settings; each is made for the weights of a Topic's partitions.
STRATEGIES: Mapping[str, Callable[[Mapping[int, float]], Strategy]] = {
    "range": lambda weights: as_in_kafka("range"),
    "roundrobin": lambda weights: as_in_kafka("roundrobin"),
    "sticky": lambda weights: as_in_kafka("sticky"),
    "weighted": weighted,
}
