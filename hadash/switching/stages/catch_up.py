"""A read split: consumers move to the mirror of what they read, or back from it, while writes continue. Pure; see
``ways.py``.

The source is written to all the time, so nothing can be proved to be drained. That is not needed: the readers
have committed and wait, so it is enough that the target holds what the source held when they stopped.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync, ending_at, held_by_both
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.positions import together, uncommitted_positions
from hadash.switching.stages.run import Limits, StageFailed, StageRun, drained
from hadash.switching.stages.steps import ends_with_syncs, still_lacks
from hadash.switching.stages.translation import (
    are_set,
    nothing_is_lost,
    same_records,
    set_offsets,
    translated,
    with_metadata,
)
from hadash.switching.stages.verification import not_arrived, unread
from hadash.switching.stages.waiting import NotYet, hold_for, wait_until

#: By partition, offsets of both sides that correspond.
Points = Mapping[Partition, OffsetSync]


def check_mirrors_read_from(plan: Plan, limits: Limits) -> Step[None]:
    """Readers move only to mirrors that run and are not far behind. To move back no mirror has to run."""
    written = yield from ask(do.ReadWritten())
    gone = sorted(set(plan.topics) - set(written))
    if gone:
        raise StageFailed(
            say("No mirror carries %(topics)s any more. Request the switch again.", topics=gone)
        )
    for mirror, state, fault, lag in (yield from ask(do.CheckMirrors(plan.source, thorough=True))):
        check_mirror(mirror, state, fault, lag, limits)


def check_mirror(mirror: str, state: str, fault: Sentence, lag: int | None, limits: Limits) -> None:
    """:raises StageFailed: a mirror does not run, or is too far behind to begin."""
    if state != "running":
        raise StageFailed(
            say(
                "Mirror %(mirror)s is not running (%(state)s). %(fault)s",
                mirror=mirror,
                state=state,
                fault=fault,
            )
        )
    if lag is None or lag > limits.max_lag:
        raise StageFailed(
            say(
                "Mirror %(mirror)s is %(lag)s records behind; at most %(limit)s are allowed to start a switch.",
                mirror=mirror,
                lag="?" if lag is None else lag,
                limit=limits.max_lag,
            )
        )


def check_readers(plan: Plan, limits: Limits) -> Step[None]:
    """Every reader is a member of a group, and the target still has what each group has to read."""
    loners = yield from ask(do.CheckSelfAssigned())
    if loners:
        raise StageFailed(
            say(
                "%(clients)s: it reads without being a member of a group, so its place cannot be carried over to "
                "%(cluster)s. Let it subscribe in a group, or leave it out.",
                clients=sorted(loners),
                cluster=plan.target,
            )
        )
    committed = yield from ask(do.ReadGroupOffsets(plan.source))
    syncs = yield from _syncs(plan)
    positions = yield from uncommitted_positions(plan, limits, committed, syncs.keys())
    yield from nothing_is_lost(plan, together(committed, positions), syncs)


def catch_up(plan: Plan, limits: Limits) -> StageRun:
    """Wait until the target holds what the source held when its readers stopped; set their offsets there, and read
    them back.
    """
    syncs = yield from _syncs(plan)
    points = yield from _stopped_at(plan, syncs)
    yield from _until_held(plan, limits, points)
    compared = yield from ask(do.CompareLastRecords(points))
    if compared.difference is not None:
        raise StageFailed(compared.difference)
    yield from ask(do.RecordDrained(points, compared))
    if not plan.groups:
        return say("No consumer group moves: no offsets to translate.")
    commits = yield from ask(do.ReadCommits(plan.source))
    wanted = yield from translated(plan, limits, commits, points, syncs)
    yield from set_offsets(plan, with_metadata(wanted, commits), points)
    yield from same_records(wanted, points, limits)
    if (yield from ask(do.ReadCommits(plan.source))) != commits:
        raise StageFailed(
            say(
                "Somebody commits offsets on %(cluster)s although these clients are blocked: "
                "a member of their groups does not use the Gateway.",
                cluster=plan.source,
            )
        )
    return are_set(plan, wanted)


def _syncs(plan: Plan) -> Step[dict[Partition, OffsetSync]]:
    """Corresponding offsets of both sides, by the switch's direction: its source may be the mirror.

    :raises StageFailed: they are not known of a partition.
    """
    written = yield from ask(do.ReadWritten())
    ends, syncs = yield from ends_with_syncs(plan)
    return {
        p: syncs[p] if written[p.topic] == plan.source else OffsetSync(syncs[p].target, syncs[p].source)
        for p in ends
    }


def _stopped_at(plan: Plan, syncs: Points) -> Step[dict[Partition, OffsetSync]]:
    """Where the source ends now that its readers have stopped, and the corresponding offsets of the target.

    :raises StageFailed: the mirror holds records that its source does not, so that the sides cannot be compared.
    """
    written = yield from ask(do.ReadWritten())
    # The copy's end is read before its source's: the other way round a busy mirror could seem ahead of its source.
    before = yield from ask(do.ReadEnds(plan.target))
    source_ends = yield from ask(do.ReadEnds(plan.source))
    after = yield from ask(do.ReadEnds(plan.target))
    points = {p: ending_at(sync, source_ends[p]) for p, sync in syncs.items()}
    for partition, point in sorted(points.items()):
        copied_here = written[partition.topic] != plan.source
        excess = point.target - after[partition] if copied_here else before[partition] - point.target
        if excess > 0:
            raise StageFailed(
                say(
                    "The mirror of %(partition)s holds %(count)s records that its source does not.",
                    partition=partition,
                    count=excess,
                )
            )
    return points


def _until_held(plan: Plan, limits: Limits, points: Points) -> Step[None]:
    """Wait until the target holds every record before ``points``."""

    def look() -> Step[NotYet | None]:
        ends = yield from ask(do.ReadEnds(plan.target))
        missing = sum(max(point.target - ends[p], 0) for p, point in points.items())
        return still_lacks(missing, limits.drain) if missing else None

    yield from wait_until(look, limits.drain, limits.fast_poll, tell_after=0.5)


def verify_readers(plan: Plan, limits: Limits) -> StageRun:
    """Every reader is seen on the target and reads on there, what both sides wrote."""
    stopped_at = yield from drained()
    seen = yield from ask(do.ReadSeen())
    yield from hold_for(
        lambda elapsed: _missing(plan, seen, stopped_at, elapsed),
        limits.verify_hold,
        limits.verify,
        limits.poll,
        at_last=lambda: _differs(plan),
    )
    return say(
        "Every reader works on %(cluster)s (%(count)s in all); writes go on where they were.",
        count=len(seen.clients),
        cluster=plan.target,
    )


def _missing(plan: Plan, seen: do.RecordSeen, stopped_at: Points, elapsed: float) -> Step[Sentence | None]:
    """What is still missing for success; ``None`` if nothing is."""
    ends = yield from ask(do.ReadEnds(plan.target))
    waiting = yield from not_arrived(plan, seen)
    if waiting is not None:
        return waiting
    grown = {p.topic for p, point in stopped_at.items() if ends[p] > point.target}
    return unread(plan, seen, grown, (yield from ask(do.ReadActivity(plan.target, elapsed))))


def _differs(plan: Plan) -> Step[Sentence | None]:
    """Whether the last records that both sides hold differ, because somebody writes to the mirror."""
    syncs = yield from _syncs(plan)
    source_ends = yield from ask(do.ReadEnds(plan.source))
    target_ends = yield from ask(do.ReadEnds(plan.target))
    points = {p: held_by_both(sync, source_ends[p], target_ends[p]) for p, sync in syncs.items()}
    return (yield from ask(do.CompareLastRecords(points))).difference
