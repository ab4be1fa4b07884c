"""Positions of group members on partitions that their group has not committed. Pure.

A library that has delivered nothing of a partition commits nothing for it (librdkafka, franz-go, Sarama, KafkaJS). On
the other cluster its member would begin where its ``auto.offset.reset`` says: with ``latest``, after the records
written while it moved. A switch is not a restart, so the member's position is carried over like a commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import Assigned, Reader
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import Limits, StageFailed
from hadash.switching.stages.waiting import wait_for_a_while

#: (reader, partition, the lowest offset that it has fetched).
Fetched = Iterable[tuple[Reader, Partition, int]]

#: Group → partition → offset.
Offsets = dict[str, dict[Partition, int]]


def uncommitted(
    assigned: Assigned, committed: Mapping[str, Mapping[Partition, int]], partitions: Collection[Partition]
) -> dict[str, dict[Partition, frozenset[Reader]]]:
    """By group, the partitions that are assigned to a member and without a commit, with their members.

    :param partitions: the partitions that move; others are ignored.
    """
    found = {
        group: {
            partition: readers
            for partition, readers in (given or {}).items()
            if partition in partitions and partition not in committed.get(group, {})
        }
        for group, given in assigned.items()
    }
    return {group: lacking for group, lacking in found.items() if lacking}


def positions_of(
    lacking: Mapping[str, Mapping[Partition, frozenset[Reader]]], fetched: Fetched
) -> tuple[Offsets, list[tuple[str, Partition]]]:
    """(where the members read; the (group, partition) whose position is not known).

    Several clients of one name on one host may have fetched the same partition: the lowest offset skips nothing.

    >>> p, bill, web = Partition("orders", 0), Reader("bill-1", "10.0.0.1"), Reader("web-1", "10.0.0.1")
    >>> other = Reader("bill-1", "10.0.0.2")
    >>> positions_of({"billing": {p: frozenset({bill})}}, [(bill, p, 7), (bill, p, 5), (web, p, 3), (other, p, 0)])
    ({'billing': {Partition(topic='orders', partition=0): 5}}, [])
    """
    lowest: dict[tuple[Reader, Partition], int] = {}
    for reader, partition, offset in fetched:
        for name in (reader, Reader(reader.client_id)):
            key = name, partition
            lowest[key] = min(offset, lowest.get(key, offset))
    found: Offsets = {}
    unknown: list[tuple[str, Partition]] = []
    for group, given in sorted(lacking.items()):
        for partition, readers in sorted(given.items()):
            offsets = [lowest[reader, partition] for reader in readers if (reader, partition) in lowest]
            if offsets:
                found.setdefault(group, {})[partition] = min(offsets)
            else:
                unknown.append((group, partition))
    return found, unknown


def uncommitted_positions(
    plan: Plan,
    limits: Limits,
    committed: Mapping[str, Mapping[Partition, int]],
    partitions: Collection[Partition],
) -> Step[Offsets]:
    """The positions of members on partitions without a commit, by group.

    :raises StageFailed: of a partition with records it is not known where, or by which member, it is read.
    """
    assigned = yield from _assigned(plan, limits)
    if rebalancing := sorted(group for group, given in assigned.items() if given is None):
        raise StageFailed(
            say(
                "Group %(groups)s rebalances, so it is not known which of its members read which partitions. Ask "
                "again when it is stable.",
                groups=rebalancing,
            )
        )
    return (yield from _positions(plan, uncommitted(assigned, committed, partitions)))


def _assigned(plan: Plan, limits: Limits) -> Step[Assigned]:
    """The assignments of all groups, after waiting for groups that are rebalancing at this moment."""
    return (
        yield from wait_for_a_while(
            lambda: ask(do.ReadAssigned(plan.source)),
            lambda assigned: None not in assigned.values(),
            limits.active,
            limits.poll,
        )
    )


def _positions(plan: Plan, lacking: Mapping[str, Mapping[Partition, frozenset[Reader]]]) -> Step[Offsets]:
    if not lacking:
        return {}
    clients = frozenset(
        reader.client_id for given in lacking.values() for readers in given.values() for reader in readers
    )
    found, unknown = positions_of(lacking, (yield from ask(do.ReadPositions(clients))))
    if unknown:
        starts = yield from ask(do.ReadStarts(plan.source))
        ends = yield from ask(do.ReadEnds(plan.source))
        for group, partition in unknown:
            if starts[partition] != ends[partition]:
                raise _unknown(plan, unknown)
            found.setdefault(group, {})[partition] = ends[partition]
    return found


def note_positions(plan: Plan, limits: Limits) -> Step[None]:
    """Store where members read before they are asked to rejoin: from then on their coordinator does not tell the
    assignments (Gateways hold the members' requests, so the group seems stable until its sessions end, and empty
    afterwards), and some libraries close the connections on which they read.

    :raises StageFailed: as :func:`uncommitted_positions`.
    """
    if not plan.groups:
        return
    noted = yield from ask(do.ReadReading())
    if noted is not None and (yield from _are_rejoining(plan)):
        return  # an earlier executor has stored it
    committed = yield from ask(do.ReadGroupOffsets(plan.source))
    partitions = (yield from ask(do.ReadOffsetSyncs())).keys()
    yield from ask(do.RecordReading((yield from uncommitted_positions(plan, limits, committed, partitions))))


def _are_rejoining(plan: Plan) -> Step[bool]:
    """Whether members have been asked to rejoin already: hadash's own bindings say so, and no coordinator can."""
    bound = yield from ask(do.ReadBindings())
    return any(found is not None and found[1] is not BindingState.FORWARD for found in bound.values())


def noted_positions(
    plan: Plan,
    limits: Limits,
    committed: Mapping[str, Mapping[Partition, int]],
    partitions: Collection[Partition],
) -> Step[Offsets]:
    """The stored positions, without what has been committed since. (Nothing is stored if nobody was asked to
    rejoin.)
    """
    noted: Offsets | None = yield from ask(do.ReadReading())
    if noted is None:
        return (yield from uncommitted_positions(plan, limits, committed, partitions))
    left = {
        group: {p: o for p, o in offsets.items() if p in partitions and p not in committed.get(group, {})}
        for group, offsets in noted.items()
    }
    return {group: offsets for group, offsets in left.items() if offsets}


def _unknown(plan: Plan, unknown: list[tuple[str, Partition]]) -> StageFailed:
    return StageFailed(
        say(
            "It is not known where group %(groups)s reads %(partitions)s on %(cluster)s: the group has "
            "committed nothing there, and "
            "no Gateway has seen its members fetch from it. Let them commit once, or restart them, then ask again.",
            groups=sorted({group for group, _ in unknown}),
            partitions=sorted({partition for _, partition in unknown}),
            cluster=plan.source,
        )
    )


def together(
    committed: Mapping[str, Mapping[Partition, int]], positions: Mapping[str, Mapping[Partition, int]]
) -> Offsets:
    """Commits and positions of each group; a commit takes precedence."""
    return {
        group: {**positions.get(group, {}), **committed.get(group, {})}
        for group in committed.keys() | positions.keys()
    }
