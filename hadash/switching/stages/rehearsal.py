"""A rehearsal: what a switch would meet, without touching a client. It only reads. Pure; see ``ways.py``."""

from __future__ import annotations

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync, ending_at
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.positions import together, uncommitted_positions
from hadash.switching.stages.run import Limits, StageFailed, StageRun
from hadash.switching.stages.steps import ends_with_syncs
from hadash.switching.stages.translation import nothing_is_lost
from hadash.switching.stages.waiting import NotYet, wait_until


def rehearse(plan: Plan, limits: Limits) -> StageRun:
    """Check what drain and translate would meet. Writes go on, so the mirror has to reach what the source held at one
    moment.
    """
    began = yield from ask(do.Pause(0))
    points = yield from _points_now(plan)

    def look() -> Step[NotYet | None]:
        target_ends = yield from ask(do.ReadEnds(plan.target))
        missing = sum(max(point.target - target_ends[p], 0) for p, point in points.items())
        if not missing:
            return None
        return NotYet(
            say(
                "The mirror still lacked %(records)s records of that moment after %(seconds)s s: "
                "a switch would have returned.",
                records=missing,
                seconds=limits.drain,
            )
        )

    yield from wait_until(look, limits.drain, limits.poll, began=began)
    elapsed = (yield from ask(do.Pause(0))) - began
    difference = (yield from ask(do.CompareLastRecords(points))).difference
    if difference is not None:
        raise StageFailed(difference)
    groups = yield from _translatable(plan, limits)
    return say(
        "Rehearsed: %(seconds)s s later the mirror held all that the source had (%(partitions)s "
        "partitions, the last records "
        "compared), and the offsets of all groups (%(groups)s) can be translated. Nothing was changed.",
        seconds=round(elapsed, 2),
        partitions=len(points),
        groups=groups,
    )


def _points_now(plan: Plan) -> Step[dict[Partition, OffsetSync]]:
    """Where both sides would end if the source stopped at this moment."""
    ends, syncs = yield from ends_with_syncs(plan)
    return {p: ending_at(syncs[p], end) for p, end in ends.items()}


def _translatable(plan: Plan, limits: Limits) -> Step[int]:
    """How many groups have offsets that could be set on the target; none is set.

    :raises StageFailed: a group would skip records there, or go on at another record.
    """
    committed = yield from ask(do.ReadGroupOffsets(plan.source))
    syncs = yield from ask(do.ReadOffsetSyncs())
    following = together(committed, (yield from uncommitted_positions(plan, limits, committed, syncs.keys())))
    yield from nothing_is_lost(plan, following, syncs)
    return sum(1 for offsets in following.values() if offsets)
