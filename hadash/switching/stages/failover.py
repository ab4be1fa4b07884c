"""A forced switch: the source is lost, and clients continue with what the mirror has copied. Pure; see ``ways.py``.

Nothing is asked of the source. Its last known ends show what is lost (the RPO), and the groups' last known positions
what is read again. When the source comes back it is asked for what was never mirrored: see
:mod:`hadash.switching.recovery.unreplicated`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import (
    OffsetSync,
    before_repeats,
    mirrored_up_to,
    proved_up_to,
    skipped,
    translate_groups,
)
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.precheck import check_bindings, check_gateways, check_plan, check_unused_groups
from hadash.switching.stages.quota_checks import tell_hosts, tell_quotas
from hadash.switching.stages.run import Limits, StageFailed, StageRun, drained
from hadash.switching.stages.steps import await_brokers_know_acls, in_effect, obeyed
from hadash.switching.stages.translation import offsets_of, set_offsets, with_metadata
from hadash.switching.stages.verification import not_arrived
from hadash.switching.stages.waiting import hold_for

#: Partitions that a sentence names, at most: a whole cluster may have thousands.
MOST_NAMED = 10


def precheck(plan: Plan, limits: Limits) -> StageRun:
    """What must hold of the target and the Gateways, and that the source is really lost. Changes nothing but
    what Gateways know of where partitions lead."""
    yield from check_plan(plan)
    leaders = yield from _checks(plan)
    yield from ask(do.PublishPlacement(leaders))
    yield from tell_quotas(plan)
    yield from tell_hosts(plan)
    clients, groups = yield from ask(do.ReadUsers())
    yield from ask(do.RecordSeen(tuple(clients), tuple(groups), ()))
    return say(
        "%(source)s is lost, and %(target)s is ready (Topics: %(topics)s, groups: %(groups)s, clients: %(clients)s). "
        "ACLs, quotas and users of %(source)s cannot be compared.",
        source=plan.source,
        target=plan.target,
        topics=len(plan.topics),
        groups=len(plan.groups),
        clients=len(clients),
    )


def preflight(plan: Plan, limits: Limits) -> StageRun:
    """The read-only checks of :func:`precheck`, made when the switch is requested."""
    yield from _checks(plan)
    return say("All checks hold.")


def _checks(plan: Plan) -> Step[dict[str, tuple[int, ...]]]:
    fault = yield from ask(do.CheckCluster(plan.target))
    if fault:
        raise StageFailed(
            say("Cluster %(cluster)s does not answer: %(fault)s", cluster=plan.target, fault=fault)
        )
    if not (yield from ask(do.CheckLost())):
        raise StageFailed(
            say(
                "%(source)s answers, and every partition that moves has a leader there. "
                "Ask for a planned switch: it loses nothing.",
                source=plan.source,
            )
        )
    yield from check_bindings(plan)
    yield from check_gateways()
    leaders = yield from _leaders(plan)
    yield from check_unused_groups(plan)
    return leaders


def _leaders(plan: Plan) -> Step[dict[str, tuple[int, ...]]]:
    """The leaders on the target of the Topics that move.

    :raises StageFailed: a partition has no leader, or it is not known what the mirror has copied.
    """
    found: dict[str, tuple[int, ...]] = yield from ask(do.ReadTopics(plan.target))
    syncs = yield from ask(do.ReadOffsetSyncs())
    for topic in plan.topics:
        if topic not in found:
            raise StageFailed(
                say("Topic %(topic)s does not exist on %(cluster)s.", topic=topic, cluster=plan.target)
            )
        if -1 in found[topic]:
            raise StageFailed(
                say(
                    "A partition of %(topic)s on %(cluster)s has no leader.", topic=topic, cluster=plan.target
                )
            )
        unknown = [p for i in range(len(found[topic])) if (p := Partition(topic, i)) not in syncs]
        if unknown:
            raise StageFailed(
                say(
                    "Of %(partitions)s it is not known which records of both sides correspond.",
                    partitions=unknown,
                )
            )
    return {topic: found[topic] for topic in plan.topics}


def block(plan: Plan, limits: Limits) -> StageRun:
    """From here on no Gateway sends anything to the source, even if it comes back."""
    epoch = yield from ask(do.WriteBindings(plan.source, BindingState.BLOCK))
    yield from obeyed(epoch, limits.block, limits.fast_poll)
    return say(
        "No Gateway sends anything to %(cluster)s any more (epoch %(epoch)s).",
        cluster=plan.source,
        epoch=epoch,
    )


def assess(plan: Plan, limits: Limits) -> StageRun:
    """Hold the mirror, so that the target does not change, and count what it does not hold."""
    yield from ask(do.HoldMirrors())
    yield from ask(do.AllowWrites(plan.target))
    yield from await_brokers_know_acls(plan, limits.block, limits.fast_poll)
    syncs = yield from ask(do.ReadOffsetSyncs())
    copied = yield from ask(do.ReadCopied())
    target_ends = yield from ask(do.ReadEnds(plan.target))
    counted = {p: OffsetSync(mirrored_up_to(syncs[p], end), end) for p, end in target_ends.items()}
    proved = {
        p: OffsetSync(proved_up_to(syncs[p], end, copied.get(p)), end) for p, end in target_ends.items()
    }
    yield from _tell_of_unproved(plan, counted, proved)
    known_ends = yield from ask(do.ReadLastKnown())
    lost = _lost(proved, known_ends.ends)
    if known_ends.ends_age is not None and (unseen := sorted(proved.keys() - known_ends.ends.keys())):
        yield from ask(
            do.Say(
                say(
                    "What %(cluster)s held of %(count)s partitions is not known, so they are not counted: "
                    "%(partitions)s.",
                    cluster=plan.source,
                    count=len(unseen),
                    partitions=unseen[:MOST_NAMED],
                )
            )
        )
    yield from ask(do.RecordDrained(counted))
    yield from ask(do.RecordLoss(lost, known_ends.ends_age, proved))
    if known_ends.ends_age is None:
        return say(
            "It is not known what %(cluster)s held: it was never seen. What was not mirrored is counted when it comes "
            "back.",
            cluster=plan.source,
        )
    return say(
        "%(cluster)s was seen %(age)s s ago; of what it held then %(target)s lacks %(records)s records. "
        "What was not mirrored is counted when it comes back.",
        cluster=plan.source,
        target=plan.target,
        age=round(known_ends.ends_age, 1),
        records=sum(lost.values()),
    )


def _tell_of_unproved(
    plan: Plan, counted: Mapping[Partition, OffsetSync], proved: Mapping[Partition, OffsetSync]
) -> Step[None]:
    """Say where the target holds more than its mirror is proved to have copied.

    Two points of each partition are kept, both with the target's end. The *proved* point says what is lost: rather too
    much is reported than anything deleted unreported. The *counted* point translates group offsets: a surplus record
    in the target moves the following ones to higher offsets, never lower, so the first copy of a source's record is at
    or after the offset that counting from the offset sync gives (before it: :func:`before_repeats`). A group that
    continues there reads some records again and skips none. With the proved point, which puts fewer records before the
    same end, it would begin too late by the number of surplus records.
    """
    excess = {p: counted[p].source - proved[p].source for p in counted if counted[p] != proved[p]}
    if excess:
        yield from ask(
            do.Say(
                say(
                    "The mirror of %(partitions)s holds %(count)s records more than it is proved to have "
                    "copied: a Connect worker "
                    "copied them twice or had not committed them, or somebody else wrote them. What "
                    "%(source)s holds is reported from "
                    "where the proof ends, and groups read some records again.",
                    partitions=sorted(excess),
                    count=sum(excess.values()),
                    source=plan.source,
                )
            )
        )


def _lost(proved: Mapping[Partition, OffsetSync], seen: Mapping[Partition, int]) -> dict[Partition, int]:
    """By partition, the records that the source was seen to hold and the target is not proved to.

    >>> p = Partition("orders", 0)
    >>> _lost({p: OffsetSync(source=90, target=50)}, {p: 100})
    {Partition(topic='orders', partition=0): 10}
    """
    return {p: max(seen[p] - point.source, 0) for p, point in proved.items() if p in seen}


def translate(plan: Plan, limits: Limits) -> StageRun:
    """Set every group's offsets on the target to where it was last seen, or to the end if the mirror has not come that
    far.
    """
    ends = yield from drained()
    if not plan.groups:
        return say("No consumer group moves: no offsets to translate.")
    known_ends = yield from ask(do.ReadLastKnown())
    starts = yield from ask(do.ReadStarts(plan.target))
    noted = offsets_of(known_ends.positions)
    syncs, repeated = (yield from ask(do.ReadOffsetSyncs())), (yield from ask(do.ReadRepeated()))
    counted = translate_groups(noted, ends, {}, starts)
    wanted = before_repeats(counted, noted, syncs, repeated, starts)
    # Where no position is noted (of a partition, or of a whole group), the group may have been here before: from those
    # offsets it reads again, and skips nothing.
    standing = yield from ask(do.ReadCommits(plan.target))
    earlier = {
        group: {
            p: committed
            for p, committed in standing.get(group, {}).items()
            if p in ends and p not in wanted.get(group, {})
        }
        for group in plan.groups
    }
    stays = {group: commits for group, commits in earlier.items() if commits}
    noted_commits = with_metadata(wanted, known_ends.positions)
    yield from set_offsets(
        plan,
        {group: {**noted_commits.get(group, {}), **stays.get(group, {})} for group in plan.groups},
        ends,
    )
    yield from _tell_of_skipped(plan, list(skipped(noted, ends, {}, starts)))
    if stays:
        yield from ask(
            do.Say(
                say(
                    "Where group %(groups)s stood is not known: it goes on from where it was on %(cluster)s before.",
                    groups=sorted(stays),
                    cluster=plan.target,
                )
            )
        )
    unknown = sorted(group for group in plan.groups if not (wanted.get(group) or stays.get(group)))
    if unknown:
        yield from ask(
            do.Say(
                say(
                    "Where group %(groups)s stood is not known: it begins where its auto.offset.reset says.",
                    groups=unknown,
                )
            )
        )
    return say(
        "Group offsets are set on %(cluster)s and read back (%(count)s in all), as they were seen %(age)s "
        "s ago: what was read "
        "since then is read again.",
        count=sum(len(offsets) for offsets in wanted.values()),
        cluster=plan.target,
        age="?" if known_ends.positions_age is None else round(known_ends.positions_age, 1),
    )


def _tell_of_skipped(plan: Plan, gone: list[tuple[str, Partition, int]]) -> Step[None]:
    """Say which records groups cannot read any more. The other side is lost, so the switch is not refused for it, and
    nobody knows which of them that side had deleted, too.

    :param gone: (group, partition, records).
    """
    if gone:
        yield from ask(
            do.Say(
                say(
                    "Group %(groups)s had still to read up to %(count)s records of %(partitions)s that "
                    "%(cluster)s has deleted "
                    "already: it goes on with the first ones there.",
                    groups=sorted({group for group, _, _ in gone}),
                    count=sum(count for _, _, count in gone),
                    partitions=sorted({partition for _, partition, _ in gone}),
                    cluster=plan.target,
                )
            )
        )


def forward(plan: Plan, limits: Limits) -> StageRun:
    """The clients belong to the target; the source has to be asked for its unreplicated records when it comes back."""
    proved = yield from ask(do.ReadProved())
    if proved is None:
        raise StageFailed(say("What this switch has lost is not known."))
    epoch = yield from ask(do.WriteBindings(plan.target, BindingState.FORWARD))
    yield from in_effect(epoch, limits.forward, limits.fast_poll)
    yield from ask(do.AwaitUnreplicated(proved))
    return say(
        "%(scope)s is on %(cluster)s (epoch %(epoch)s).", scope=plan.scope, cluster=plan.target, epoch=epoch
    )


def verify(plan: Plan, limits: Limits) -> StageRun:
    """Every client that was seen shortly before the loss is seen on the target, and groups have members there."""
    seen = yield from ask(do.ReadSeen())
    yield from hold_for(
        lambda _elapsed: not_arrived(plan, seen), limits.verify_hold, limits.verify, limits.poll
    )
    return say(
        "Every client works on %(cluster)s (%(count)s in all).", count=len(seen.clients), cluster=plan.target
    )
