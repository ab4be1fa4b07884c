"""Translate: the groups that move continue at the same records on the target. Pure; see ``ways.py``."""

from __future__ import annotations

from collections.abc import Mapping

from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import OffsetSync, furthest_back, skipped, stale_offsets, translate_groups
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask, ask_together
from hadash.switching.stages.positions import noted_positions, together
from hadash.switching.stages.run import Limits, StageFailed, StageRun, drained

#: Offsets by group and partition, and commits.
GroupOffsets = Mapping[str, Mapping[Partition, int]]
GroupCommits = Mapping[str, Mapping[Partition, Committed]]


def translate(plan: Plan, limits: Limits) -> StageRun:
    """Set every group's offsets on the target to the same records, and read them back."""
    ends = yield from drained()
    if not plan.groups:
        yield from _check_ends_unchanged(plan, ends)
        return say("No consumer group moves: no offsets to translate.")
    commits = yield from ask(do.ReadCommits(plan.source))
    wanted = yield from translated(plan, limits, commits, ends, (yield from ask(do.ReadOffsetSyncs())))
    yield from set_offsets(plan, with_metadata(wanted, commits), ends)
    yield from same_records(wanted, ends, limits)
    yield from _check_ends_unchanged(plan, ends)
    return are_set(plan, wanted)


def translated(
    plan: Plan,
    limits: Limits,
    commits: GroupCommits,
    ends: Mapping[Partition, OffsetSync],
    syncs: Mapping[Partition, OffsetSync],
) -> Step[dict[str, dict[Partition, int]]]:
    """Every group's offsets for the target: from its commits, and from its members' positions where it has none.

    :param ends: offsets of both sides that correspond; from ``syncs`` on they correspond one by one.
    :raises StageFailed: records would be skipped or read again, or a position is not known.
    """
    committed = offsets_of(commits)
    positions = yield from noted_positions(plan, limits, committed, ends.keys())
    if positions:
        yield from ask(
            do.Say(
                say(
                    "Group %(groups)s has committed nothing of %(partitions)s: its members go on where they read.",
                    groups=sorted(positions),
                    partitions=sorted({partition for offsets in positions.values() for partition in offsets}),
                )
            )
        )
    following = together(committed, positions)
    starts, target_starts = yield from nothing_is_skipped(plan, following, ends)
    found = translate_groups(following, ends, starts, target_starts)
    yield from go_on_at_same_record(plan, following, found, starts, ends, syncs)
    return found


def offsets_of(commits: GroupCommits) -> dict[str, dict[Partition, int]]:
    """Commits without their metadata."""
    return {
        group: {p: committed.offset for p, committed in found.items()} for group, found in commits.items()
    }


def with_metadata(wanted: GroupOffsets, commits: GroupCommits) -> dict[str, dict[Partition, Committed]]:
    """Translated offsets with the metadata of the commits from which they were translated.

    >>> p = Partition("orders", 0)
    >>> with_metadata({"billing": {p: 55}}, {"billing": {p: Committed(95, "batch 7")}})
    {'billing': {Partition(topic='orders', partition=0): Committed(offset=55, metadata='batch 7')}}
    """
    nothing = Committed(0)
    return {
        group: {
            p: commits.get(group, {}).get(p, nothing)._replace(offset=offset) for p, offset in offsets.items()
        }
        for group, offsets in wanted.items()
    }


def nothing_is_skipped(
    plan: Plan, committed: GroupOffsets, points: Mapping[Partition, OffsetSync]
) -> Step[tuple[dict[Partition, int], dict[Partition, int]]]:
    """Check that no group would skip records, and return the first offsets of (source, target). Retention works on
    each side by itself: what a group has still to read must not be gone on the target while the source has it.

    :param points: offsets that correspond, by the switch's direction. :raises StageFailed: it is gone.
    """
    source_starts, target_starts = yield from ask_together(
        do.ReadStarts(plan.source), do.ReadStarts(plan.target)
    )
    for group, partition, count in skipped(committed, points, source_starts, target_starts):
        raise StageFailed(
            say(
                "Group %(group)s has still to read %(count)s records of %(partition)s that %(cluster)s has deleted "
                "already. Let it catch up first.",
                group=group,
                count=count,
                partition=partition,
                cluster=plan.target,
            )
        )
    return source_starts, target_starts


def nothing_is_lost(plan: Plan, following: GroupOffsets, syncs: Mapping[Partition, OffsetSync]) -> Step[None]:
    """Check, before anybody waits, that groups could continue at the same records on the target as it is now.

    :raises StageFailed: as :func:`nothing_is_skipped` and :func:`go_on_at_same_record`.
    """
    starts, target_starts = yield from nothing_is_skipped(plan, following, syncs)
    found = translate_groups(following, syncs, starts, target_starts)
    yield from go_on_at_same_record(plan, following, found, starts, syncs, syncs)


def go_on_at_same_record(
    plan: Plan,
    following: GroupOffsets,
    translated: GroupOffsets,
    source_starts: Mapping[Partition, int],
    ends: Mapping[Partition, OffsetSync],
    syncs: Mapping[Partition, OffsetSync],
) -> Step[None]:
    """Compare what groups before an offset sync read next. Between their offsets and the sync an offset may hold a
    record on one side only (markers of transactions, compaction), so counting proves nothing there.

    :param following: the groups' offsets on the source. :raises StageFailed: the next record differs between the
        sides.
    """
    for group, offsets in sorted(following.items()):
        points = {
            p: OffsetSync(max(offset, source_starts[p]), translated[group][p])
            for p, offset in offsets.items()
            if p in syncs and p in ends and offset < syncs[p].source
        }
        if not points:
            continue
        same: Mapping[Partition, bool] = yield from ask(do.CompareNext(points, ends))
        if differing := sorted(p for p in points if not same[p]):
            raise StageFailed(
                say(
                    "Group %(group)s stands on %(partitions)s before offsets that hold a record on one "
                    "cluster only (markers of "
                    "transactions, or compacted), so it is not known where it goes on on %(cluster)s. Let "
                    "it catch up first.",
                    group=group,
                    partitions=differing,
                    cluster=plan.target,
                )
            )


def are_set(plan: Plan, wanted: GroupOffsets) -> Sentence:
    """The outcome after :func:`set_offsets`."""
    return say(
        "Group offsets are set on %(cluster)s and read back (%(count)s in all).",
        count=sum(len(offsets) for offsets in wanted.values()),
        cluster=plan.target,
    )


def set_offsets(plan: Plan, wanted: GroupCommits, ends: Mapping[Partition, OffsetSync]) -> Step[None]:
    """Write the groups' offsets on the target, remove those of an earlier stay there, and read both back.

    :param ends: the partitions that move; commits on others are left alone.
    :raises StageFailed: the target does not hold what was written.
    """
    standing = yield from ask(do.ReadGroupOffsets(plan.target))
    stale = stale_offsets(standing, wanted, ends)
    if stale:
        yield from ask(do.RemoveGroupOffsets(stale))
    yield from ask(do.WriteGroupOffsets(wanted))
    written = yield from ask(do.ReadCommits(plan.target))
    for group, commits in wanted.items():
        for partition, committed in commits.items():
            found = written.get(group, {}).get(partition)
            if found != committed:
                raise StageFailed(
                    say(
                        "Group %(group)s on %(cluster)s stands at %(found)s on %(partition)s instead of %(offset)s.",
                        group=group,
                        cluster=plan.target,
                        partition=partition,
                        found="?" if found is None else found.offset,
                        offset=committed.offset,
                    )
                )
    left = stale_offsets(written, wanted, ends)
    if left:
        raise StageFailed(
            say(
                "Group %(group)s still has offsets of an earlier stay on %(cluster)s that could not be removed.",
                group=min(left),
                cluster=plan.target,
            )
        )


def same_records(wanted: GroupOffsets, ends: Mapping[Partition, OffsetSync], limits: Limits) -> Step[None]:
    """Check that groups read the same records next on both sides. At the ends that was proved with ``ends``; before
    them there may be records that the mirror has copied twice. :raises StageFailed: they differ.
    """
    points = furthest_back(wanted, ends, limits.last_records)
    if points:
        difference = (yield from ask(do.CompareLastRecords(points))).difference
        if difference is not None:
            raise StageFailed(difference)


def _check_ends_unchanged(plan: Plan, ends: Mapping[Partition, OffsetSync]) -> Step[None]:
    """Check, last before the clients are forwarded, that both sides still end where they did after the drain."""
    target_ends, source_ends = yield from ask_together(do.ReadEnds(plan.target), do.ReadEnds(plan.source))
    for cluster, found, before in (
        (plan.source, source_ends, {p: point.source for p, point in ends.items()}),
        (plan.target, target_ends, {p: point.target for p, point in ends.items()}),
    ):
        grown = sorted(p for p, end in before.items() if found[p] != end)
        if grown:
            raise StageFailed(
                say(
                    "%(partitions)s on %(cluster)s has grown since the mirror was drained: "
                    "somebody writes past the Gateway.",
                    partitions=grown,
                    cluster=cluster,
                )
            )
