"""Verify: the clients have arrived and work, and nothing bypasses the Gateways. Pure; see ``ways.py``."""

from __future__ import annotations

from collections.abc import Mapping

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.audits import tell_audits
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.pools import pools_late
from hadash.switching.stages.run import Limits, StageRun, drained
from hadash.switching.stages.waiting import hold_for


def verify(plan: Plan, limits: Limits) -> StageRun:
    """Every client that was there before is seen on the target and works there, and nothing bypasses the Gateways."""
    ends = yield from drained()
    seen = yield from ask(do.ReadSeen())
    told = False

    def points() -> Step[dict[Partition, OffsetSync]]:
        # Read each time: if the turned mirror has copied records twice, its offset syncs are counted again meanwhile.
        turned = yield from ask(do.ReadOffsetSyncs())
        return {p: OffsetSync(turned[p].target, turned[p].source) for p in ends}

    def missing(elapsed: float) -> Step[Sentence | None]:
        return (yield from _missing_on_target(plan, seen, ends, (yield from points()), elapsed))

    def bypassed() -> Step[Sentence | None]:
        nonlocal told
        difference = yield from _stray_writes(plan, (yield from points()))
        if difference is None:
            return None
        if not told:
            told = True
            yield from ask(do.Say(difference))
        return say(
            "%(cluster)s has other records than %(target)s since the switch: somebody still writes there.",
            cluster=plan.source,
            target=plan.target,
        )

    yield from hold_for(missing, limits.verify_hold, limits.verify, limits.poll, at_last=bypassed)
    yield from tell_audits(limits)
    return say(
        "Every client works on %(cluster)s (%(count)s in all).", count=len(seen.clients), cluster=plan.target
    )


def _stray_writes(plan: Plan, points: Mapping[Partition, OffsetSync]) -> Step[Sentence | None]:
    """What the old source got since the drained point must be what the turned mirror brought it, in order.

    Counting alone would let a write past the Gateways hide behind the records that the mirror still lacks.

    :param points: offsets that correspond, by the switch's direction.
    """
    source_ends = yield from ask(do.ReadEnds(plan.source))
    mirrored = {
        p: OffsetSync(source_ends[p], point.target + source_ends[p] - point.source)
        for p, point in points.items()
    }
    return (yield from ask(do.CompareLastRecords(mirrored))).difference


def _missing_on_target(
    plan: Plan,
    seen: do.RecordSeen,
    ends: Mapping[Partition, OffsetSync],
    points: Mapping[Partition, OffsetSync],
    elapsed: float,
) -> Step[Sentence | None]:
    """What is still missing for success; ``None`` if nothing is.

    :param ends: the drained point.
    :param points: offsets that correspond, by the switch's direction.
    """
    # The source is read first: what the mirror copies back counts for both, so the source never grows by more.
    source_ends = yield from ask(do.ReadEnds(plan.source))
    target_ends = yield from ask(do.ReadEnds(plan.target))
    for partition, point in points.items():
        extra = (source_ends[partition] - point.source) - (target_ends[partition] - point.target)
        if extra > 0:
            return say(
                "%(partition)s on %(cluster)s has %(count)s records that %(target)s has not: "
                "somebody still writes there.",
                partition=partition,
                cluster=plan.source,
                target=plan.target,
                count=extra,
            )
    waiting = yield from not_arrived(plan, seen)
    if waiting is None:
        waiting = yield from pools_late(plan)
    if waiting is not None:
        return waiting
    grown = {p.topic for p, point in ends.items() if target_ends[p] > point.target}
    return (yield from _idle_on_target(plan, seen, grown, elapsed))


def not_arrived(plan: Plan, seen: do.RecordSeen) -> Step[Sentence | None]:
    """Which clients are not on the target, and which groups have no members there; ``None`` if all are there."""
    clients = yield from ask(do.ReadClients())
    late = sorted(c for c in seen.clients if plan.target not in clients.get(c, set()))
    if late:
        return say("Waiting for %(clients)s to be seen on %(cluster)s.", clients=late, cluster=plan.target)
    members = yield from ask(do.ReadMembers(plan.target))
    empty = sorted(group for group in seen.groups if not members.get(group))
    if empty:
        return say(
            "Waiting for group %(groups)s to have members on %(cluster)s.", groups=empty, cluster=plan.target
        )
    return None


def _idle_on_target(
    plan: Plan, seen: do.RecordSeen, grown: set[str], elapsed: float
) -> Step[Sentence | None]:
    """What was written and read shortly before the switch, and is not yet again; ``None`` if all is.

    :param grown: Topics with records that can only be read on the target.
    """
    going_on = yield from ask(do.ReadActivity(plan.target, elapsed))
    idle = [topic for kind, topic in seen.activity if kind == "produce" and (kind, topic) not in going_on]
    if idle:
        return say(
            "Waiting for writes to %(topics)s to arrive on %(cluster)s.", topics=idle, cluster=plan.target
        )
    return unread(plan, seen, grown, going_on)


def unread(
    plan: Plan, seen: do.RecordSeen, grown: set[str], going_on: set[tuple[str, str]]
) -> Sentence | None:
    """Which Topics were read shortly before the switch, have new records, and are not read on the target; ``None`` if
    there are none.

    :param going_on: the current activity on the target (see :class:`hadash.switching.stages.commands.ReadActivity`).
    """
    topics = [
        topic
        for kind, topic in seen.activity
        if kind == "consume" and topic in grown and (kind, topic) not in going_on
    ]
    if topics:
        return say("Waiting for %(topics)s to be read on %(cluster)s.", topics=topics, cluster=plan.target)
    return None
