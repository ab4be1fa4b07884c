"""Where members of groups read partitions that their group has committed nothing of. Pure.

A library that has delivered nothing of a partition commits nothing for it (librdkafka, franz-go, Sarama, KafkaJS). On the other cluster its
member would begin where its ``auto.offset.reset`` says: with ``latest`` behind what was written while it moved. A switch is
no restart, so the position of the member is carried over like a commit.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from typing import Any

from hadash.kafka.values import Partition
from hadash.sentences import say
from hadash.switching import commands as do
from hadash.switching.plan import Plan
from hadash.switching.stage_run import StageFailed

#: Group → partition → the client.ids of the members that were given it.
Assigned = Mapping[str, Mapping[Partition, frozenset[str]]]

#: Client.id, partition, and the lowest offset that it has asked for.
Fetched = Iterable[tuple[str, Partition, int]]

#: Group → partition → offset.
Offsets = dict[str, dict[Partition, int]]


def uncommitted(
    assigned: Assigned, committed: Mapping[str, Mapping[Partition, int]], partitions: Collection[Partition]
) -> dict[str, dict[Partition, frozenset[str]]]:
    """Of each group the partitions that a member was given and the group has committed nothing of.

    :param partitions: those that move; others are left out.
    """
    found = {
        group: {
            partition: clients
            for partition, clients in given.items()
            if partition in partitions and partition not in committed.get(group, {})
        }
        for group, given in assigned.items()
    }
    return {group: lacking for group, lacking in found.items() if lacking}


def positions_of(lacking: Assigned, fetched: Fetched) -> tuple[Offsets, list[tuple[str, Partition]]]:
    """Where the members read; and the (group, partition) of which nobody knows it.

    Several clients of one name may have asked for the same partition: the lowest offset skips nothing.

    >>> p = Partition("orders", 0)
    >>> positions_of({"billing": {p: frozenset({"bill-1"})}}, [("bill-1", p, 7), ("bill-1", p, 5), ("web-1", p, 3)])
    ({'billing': {Partition(topic='orders', partition=0): 5}}, [])
    """
    lowest: dict[tuple[str, Partition], int] = {}
    for client_id, partition, offset in fetched:
        key = client_id, partition
        lowest[key] = min(offset, lowest.get(key, offset))
    found: Offsets = {}
    unknown: list[tuple[str, Partition]] = []
    for group, given in sorted(lacking.items()):
        for partition, clients in sorted(given.items()):
            offsets = [lowest[client, partition] for client in clients if (client, partition) in lowest]
            if offsets:
                found.setdefault(group, {})[partition] = min(offsets)
            else:
                unknown.append((group, partition))
    return found, unknown


def uncommitted_positions(
    plan: Plan, committed: Mapping[str, Mapping[Partition, int]], partitions: Collection[Partition]
) -> Generator[do.Command, Any, Offsets]:
    """The positions of members on partitions without a commit, by group.

    :raises StageFailed: of one that holds records nobody knows where its member reads it.
    """
    lacking = uncommitted((yield do.ReadAssigned(plan.source)), committed, partitions)
    if not lacking:
        return {}
    clients = frozenset(name for given in lacking.values() for names in given.values() for name in names)
    found, unknown = positions_of(lacking, (yield do.ReadPositions(clients)))
    if unknown:
        starts = yield do.ReadStarts(plan.source)
        ends = yield do.ReadEnds(plan.source)
        for group, partition in unknown:
            if starts[partition] != ends[partition]:
                raise _unknown(plan, unknown)
            found.setdefault(group, {})[partition] = ends[partition]
    return found


def _unknown(plan: Plan, unknown: list[tuple[str, Partition]]) -> StageFailed:
    return StageFailed(
        say(
            "It is not known where group %(groups)s reads %(partitions)s on %(cluster)s: the group has committed nothing there, and "
            "no Gateway has seen its members fetch from it. Let them commit once, or restart them, then ask again.",
            groups=sorted({group for group, _ in unknown}),
            partitions=sorted({partition for _, partition in unknown}),
            cluster=plan.source,
        )
    )


def together(
    committed: Mapping[str, Mapping[Partition, int]], positions: Mapping[str, Mapping[Partition, int]]
) -> Offsets:
    """Commits and positions of each group; where there is a commit it counts."""
    return {
        group: {**positions.get(group, {}), **committed.get(group, {})}
        for group in committed.keys() | positions.keys()
    }
