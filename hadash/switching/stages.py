"""The stages. Each re-reads the truth, asks for one thing at a time, and ends with a sentence.

Every stage is idempotent: killed at any point and begun again, it comes to the same end. Before forward a stage
that cannot do its work raises :class:`StageFailed`, and the switch returns to the start.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from hadash.bindings.membership import not_applied
from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import Corresponding, stale_offsets, translate_groups
from hadash.mirroring.proof import Behind, Contradiction, compare_ends
from hadash.sentences import Sentence, say
from hadash.switching import commands as do
from hadash.switching.machine import Stage
from hadash.switching.plan import Plan

#: A stage in the making: yields commands, is sent their answers, returns its outcome.
StageRun = Generator[do.Command, Any, Sentence]


class StageFailed(Exception):
    """A stage that cannot be completed. ``sentence`` says why and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Limits:
    """How long stages wait, in seconds, and how much lag they accept; see ``hadash/settings.py``."""

    gather: float = 3.0
    settle: float = 45.0
    block: float = 10.0
    drain: float = 10.0
    forward: float = 60.0
    reverse: float = 60.0
    verify: float = 60.0
    verify_hold: float = 2.0
    active: float = 5.0
    max_lag: int = 5000
    accept_acks_1: bool = False
    poll: float = 0.1
    fast_poll: float = 0.01


def precheck(plan: Plan, limits: Limits) -> StageRun:
    """Everything that must hold before a client notices anything. Changes nothing but missing ACLs."""
    yield from _check_plan(plan)
    leaders = yield from _checks(plan, limits)
    copied = yield do.CopyAcls()
    if copied:
        yield do.Say(
            say(
                "Copied %(count)s ACLs of %(appid)s to %(cluster)s.",
                count=copied,
                appid=plan.appid,
                cluster=plan.target,
            )
        )
    yield do.PublishPlacement(leaders)
    clients = yield do.ReadClients()
    members = yield do.ReadMembers(plan.source)
    activity = yield do.ReadActivity(plan.source, limits.active)
    yield do.RecordSeen(
        tuple(sorted(clients)), tuple(sorted(g for g, ids in members.items() if ids)), tuple(sorted(activity))
    )
    return say(
        "All checks hold (Topics: %(topics)s, groups: %(groups)s, clients: %(clients)s).",
        topics=len(plan.topics),
        groups=len(plan.groups),
        clients=len(clients),
    )


def preflight(plan: Plan, limits: Limits) -> StageRun:
    """The checks of :func:`precheck` that read only: whoever asks for a switch hears of a fault at once."""
    yield from _checks(plan, limits)
    return say("All checks hold.")


def _checks(plan: Plan, limits: Limits) -> Generator[do.Command, Any, dict[str, tuple[int, ...]]]:
    for cluster in (plan.source, plan.target):
        fault = yield do.CheckCluster(cluster)
        if fault:
            raise StageFailed(
                say("Cluster %(cluster)s does not answer: %(fault)s", cluster=cluster, fault=fault)
            )
    yield from _check_bindings(plan)
    yield from _check_gateways()
    yield from _check_mirrors(plan, limits)
    leaders = yield from _check_topics(plan)
    yield from _check_groups(plan)
    yield from _check_sign_in(plan)
    yield from _check_denials(plan)
    if not limits.accept_acks_1:
        yield from _check_acks(plan)
    yield from _check_assignors(plan)
    return leaders


def _check_plan(plan: Plan) -> Generator[do.Command, Any, None]:
    """Since the approval somebody may have begun to use what moves."""
    current = yield do.ComputePlan()
    if isinstance(current, list):
        raise StageFailed(current[0])
    if current != plan:
        raise StageFailed(
            say(
                "What would move has changed since the approval (now: %(topics)s; groups: %(groups)s). "
                "Request the switch anew.",
                topics=current.topics,
                groups=current.groups,
            )
        )


def _check_bindings(plan: Plan) -> Generator[do.Command, Any, None]:
    found = yield do.ReadBindings()
    for identity in plan.identities:
        cluster, state = found[str(identity)] or (plan.source, BindingState.FORWARD)
        if state is not BindingState.FORWARD:
            raise StageFailed(say("%(who)s is being moved by another switch.", who=identity))
        if cluster != plan.source:
            raise StageFailed(
                say(
                    "%(who)s is on %(cluster)s now, not on %(source)s: the plan is out of date. Request it anew.",
                    who=identity,
                    cluster=cluster,
                    source=plan.source,
                )
            )


def _check_gateways() -> Generator[do.Command, Any, None]:
    members = [m for m in (yield do.ReadGateways()) if not m.excluded]
    if not any(m.live for m in members):
        raise StageFailed(say("No Gateway is running: clients could not be moved. Start one."))
    silent = [m.id for m in members if not m.live]
    if silent:
        raise StageFailed(
            say(
                "Gateway %(gateways)s does not answer, so nobody knows what it lets through. Start it again.",
                gateways=silent,
            )
        )


def _check_mirrors(plan: Plan, limits: Limits) -> Generator[do.Command, Any, None]:
    found = yield do.CheckMirrors()
    gone = sorted(set(plan.mirrors) - {mirror for mirror, *_ in found})
    if gone:
        raise StageFailed(
            say("Mirror %(mirrors)s does not exist any more. Request the switch anew.", mirrors=gone)
        )
    for mirror, state, fault, lag in found:
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


def _check_topics(plan: Plan) -> Generator[do.Command, Any, dict[str, tuple[int, ...]]]:
    source = yield do.ReadTopics(plan.source)
    target = yield do.ReadTopics(plan.target)
    for topic in plan.topics:
        for cluster, found in ((plan.source, source), (plan.target, target)):
            if topic not in found:
                raise StageFailed(
                    say("Topic %(topic)s does not exist on %(cluster)s.", topic=topic, cluster=cluster)
                )
            if -1 in found[topic]:
                raise StageFailed(
                    say(
                        "A partition of %(topic)s on %(cluster)s has no leader.", topic=topic, cluster=cluster
                    )
                )
        if len(source[topic]) != len(target[topic]):
            raise StageFailed(
                say(
                    "Topic %(topic)s has %(here)s partitions on %(source)s and %(there)s on %(target)s.",
                    topic=topic,
                    here=len(source[topic]),
                    there=len(target[topic]),
                    source=plan.source,
                    target=plan.target,
                )
            )
    anchors = yield do.ReadAnchors()
    unknown = sorted(
        p
        for topic in plan.topics
        for p in (Partition(topic, index) for index in range(len(source[topic])))
        if p not in anchors
    )
    if unknown:
        raise StageFailed(
            say(
                "Of %(partitions)s it is not known which records of both sides correspond: a partition that was added "
                "counts as soon as its mirror has been looked at.",
                partitions=unknown,
            )
        )
    return {topic: target[topic] for topic in plan.topics}


def _check_groups(plan: Plan) -> Generator[do.Command, Any, None]:
    for group, offsets in (yield do.ReadGroupOffsets(plan.source)).items():
        others = sorted({p.topic for p in offsets} - set(plan.topics))
        if others:
            raise StageFailed(
                say(
                    "Group %(group)s has offsets on %(topics)s too, which would not move: it would begin anew there. "
                    "Let its clients use them through a Gateway, or delete these offsets if nobody needs them.",
                    group=group,
                    topics=others,
                )
            )
    members = yield do.ReadMembers(plan.target)
    used = sorted(group for group, ids in members.items() if ids)
    if used:
        raise StageFailed(
            say(
                "Group %(groups)s has members on %(cluster)s already: its offsets could not be written. Stop them.",
                groups=used,
                cluster=plan.target,
            )
        )


def _check_sign_in(plan: Plan) -> Generator[do.Command, Any, None]:
    here, there = yield do.CheckSignIn()
    lacking = sorted(set(here) - set(there))
    if lacking:
        raise StageFailed(
            say(
                "%(appid)s can sign in to %(source)s with %(mechanisms)s, but not to %(target)s. "
                "Create the user there with the same password.",
                appid=plan.appid,
                source=plan.source,
                target=plan.target,
                mechanisms=lacking,
            )
        )
    if not here:
        yield do.Say(
            say(
                "%(appid)s has no SCRAM password; whether it can sign in to %(target)s with PLAIN cannot be checked.",
                appid=plan.appid,
                target=plan.target,
            )
        )


def _check_denials(plan: Plan) -> Generator[do.Command, Any, None]:
    denied = yield do.CheckDenials()
    if denied:
        raise StageFailed(
            say(
                "%(target)s denies what %(source)s allows (%(rules)s): clients could not work there. "
                "Remove the rule, or make it on both clusters.",
                target=plan.target,
                source=plan.source,
                rules=denied,
            )
        )


def _check_acks(plan: Plan) -> Generator[do.Command, Any, None]:
    """What one replica alone has acknowledged is not visible yet: neither the mirror nor a proof can see it."""
    found = yield do.CheckAcks()
    if found:
        raise StageFailed(
            say(
                "%(clients)s: what is acknowledged before it is replicated cannot be proved to be mirrored. "
                "Set acks=all, or accept the risk with HADASH_SWITCH_ACCEPT_ACKS_1.",
                clients=found,
            )
        )


def _check_assignors(plan: Plan) -> Generator[do.Command, Any, None]:
    """Members with cooperative rebalancing read on while they rejoin, and keep their positions over it: they could
    not settle, and would go on at the source's offsets."""
    found = yield do.CheckAssignors()
    if found:
        raise StageFailed(
            say(
                "Cooperative rebalancing cannot be moved yet: %(members)s. Let these consumers use an eager assignor "
                "(range, roundrobin, sticky).",
                members=found,
            )
        )


def settle(plan: Plan, limits: Limits) -> StageRun:
    """Consumers commit and park their rejoin, together. Reads and writes go on."""
    yield do.WarmUp()
    yield do.AllowWrites(plan.target)
    waiting = yield from _members(plan)
    if waiting:
        yield from _gather(plan, limits, waiting)
    # Also when nobody is there: from now on a join is parked, so that whoever comes has nothing to commit.
    epoch = yield do.WriteBindings(plan.source, BindingState.SETTLE)
    yield from _in_effect(epoch, limits.block, limits.fast_poll)
    while True:
        # Anew each time: one that left is no member any more, and one that joined has to commit too.
        waiting = yield from _members(plan)
        states = yield do.ReadSettled()
        late = sorted(m for m in waiting if states.get(m) not in ("parked", "joining"))
        if not late:
            break
        if (yield do.Pause(limits.fast_poll * 3)) > limits.settle:
            group, member = late[0]
            raise StageFailed(
                say(
                    "Member %(member)s of group %(group)s did not commit and rejoin within %(seconds)s s. "
                    "Does it use the Gateway?",
                    member=member,
                    group=group,
                    seconds=limits.settle,
                )
            )
    if not waiting:
        return say("No consumer is in a group: nothing to settle.")
    return say("Every group member has committed and waits to rejoin (%(count)s in all).", count=len(waiting))


def _members(plan: Plan) -> Generator[do.Command, Any, set[tuple[str, str]]]:
    """(group, member id) of everybody who is in a group on the source."""
    members = yield do.ReadMembers(plan.source)
    return {(group, member) for group, ids in members.items() for member in ids}


def _gather(plan: Plan, limits: Limits, waiting: set[tuple[str, str]]) -> Generator[do.Command, Any, None]:
    """Hold heartbeats for a while, so that all members are told at the same moment."""
    epoch = yield do.WriteBindings(plan.source, BindingState.GATHER)
    yield from _in_effect(epoch, limits.block, limits.fast_poll)
    began = yield do.Pause(0)
    while True:
        states = yield do.ReadSettled()
        if all(states.get(member) in ("held", "parked", "joining") for member in waiting):
            return
        if (yield do.Pause(limits.poll)) - began > limits.gather:
            return


def block(plan: Plan, limits: Limits) -> StageRun:
    """From here on nothing new reaches the source."""
    epoch = yield do.WriteBindings(plan.source, BindingState.BLOCK)
    yield from _in_effect(epoch, limits.block, limits.fast_poll)
    return say(
        "Writes to %(cluster)s are blocked, nothing is in flight (epoch %(epoch)s).",
        cluster=plan.source,
        epoch=epoch,
    )


def _in_effect(epoch: int, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every Gateway has put ``epoch`` into effect."""
    began = yield do.Pause(0)
    told = False
    while True:
        members = yield do.ReadGateways()
        late = not_applied(members, epoch)
        if not late:
            return
        elapsed = (yield do.Pause(poll)) - began
        counted = [m for m in members if not m.excluded]
        sentence = say(
            "Waiting for %(gateways)s to apply epoch %(epoch)s (%(done)s of %(all)s have).",
            gateways=[m.id for m in late],
            epoch=epoch,
            done=len(counted) - len(late),
            all=len(counted),
        )
        if elapsed > seconds:
            raise StageFailed(
                say(
                    "%(gateways)s did not put epoch %(epoch)s into effect within %(seconds)s s.",
                    gateways=[m.id for m in late],
                    epoch=epoch,
                    seconds=seconds,
                )
            )
        if elapsed > 1 and not told:
            told = True
            yield do.Say(sentence)


def drain(plan: Plan, limits: Limits) -> StageRun:
    """Wait for the mirror, then prove that both sides end with the same records."""
    anchors = yield do.ReadAnchors()
    began = yield do.Pause(0)
    told = False
    while True:
        # The target first: should the source still grow, it is the source that is seen to.
        target_ends = yield do.ReadEnds(plan.target)
        source_ends = yield do.ReadEnds(plan.source)
        verdict = compare_ends(anchors, source_ends, target_ends)
        if isinstance(verdict, Contradiction):
            raise StageFailed(verdict.reason)
        if not isinstance(verdict, Behind):
            # Stopped before the clients go over: a Connect worker that starts again would copy from its last committed
            # offset, and write old records behind the new ones.
            difference, _ = yield do.Together((do.CompareTails(verdict.ends), do.StopMirrors()))
            if difference is not None:
                raise StageFailed(difference)
            if (yield do.ReadEnds(plan.source)) != source_ends:
                raise StageFailed(
                    say(
                        "%(cluster)s still grows although its writes are blocked: somebody writes past the Gateway.",
                        cluster=plan.source,
                    )
                )
            yield do.RecordDrained(verdict.ends)
            return say(
                "The mirror is drained: every partition ends with the same records on both sides (%(count)s in all).",
                count=len(verdict.ends),
            )
        elapsed = (yield do.Pause(limits.fast_poll)) - began
        if elapsed > limits.drain:
            raise StageFailed(
                say(
                    "The mirror still lacks %(records)s records after %(seconds)s s.",
                    records=verdict.records,
                    seconds=limits.drain,
                )
            )
        if elapsed > 0.5 and not told:
            told = True
            yield do.Say(say("Waiting for the mirror: %(records)s records to go.", records=verdict.records))


def translate(plan: Plan, limits: Limits) -> StageRun:
    """Set every group's offsets on the target to the same records, and read them back."""
    ends = yield from _drained()
    if not plan.groups:
        yield from _stands_still(plan, ends)
        return say("No consumer group moves: no offsets to translate.")
    committed = yield do.ReadGroupOffsets(plan.source)
    starts = yield do.ReadStarts(plan.source)
    wanted = translate_groups(committed, ends, starts, (yield do.ReadStarts(plan.target)))
    standing = yield do.ReadGroupOffsets(plan.target)
    stale = stale_offsets(standing, wanted, ends)
    if stale:
        yield do.RemoveGroupOffsets(stale)
    yield do.WriteGroupOffsets(wanted)
    written = yield do.ReadGroupOffsets(plan.target)
    for group, offsets in wanted.items():
        for partition, offset in offsets.items():
            found = written.get(group, {}).get(partition)
            if found != offset:
                raise StageFailed(
                    say(
                        "Group %(group)s on %(cluster)s stands at %(found)s on %(partition)s instead of %(offset)s.",
                        group=group,
                        cluster=plan.target,
                        partition=partition,
                        found="?" if found is None else found,
                        offset=offset,
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
    yield from _stands_still(plan, ends)
    count = sum(len(offsets) for offsets in wanted.values())
    return say(
        "Group offsets are set on %(cluster)s and read back (%(count)s in all).",
        count=count,
        cluster=plan.target,
    )


def _stands_still(plan: Plan, ends: Mapping[Partition, Corresponding]) -> Generator[do.Command, Any, None]:
    """The last look before the clients are sent over: both sides are as they were when the mirror was drained."""
    target_ends = yield do.ReadEnds(plan.target)
    source_ends = yield do.ReadEnds(plan.source)
    for cluster, found, drained in (
        (plan.source, source_ends, {p: point.source for p, point in ends.items()}),
        (plan.target, target_ends, {p: point.target for p, point in ends.items()}),
    ):
        grown = sorted(p for p, end in drained.items() if found[p] != end)
        if grown:
            raise StageFailed(
                say(
                    "%(partitions)s on %(cluster)s has grown since the mirror was drained: "
                    "somebody writes past the Gateway.",
                    partitions=grown,
                    cluster=cluster,
                )
            )


def _drained() -> Generator[do.Command, Any, dict[Partition, Corresponding]]:
    ends = yield do.ReadDrained()
    if ends is None:
        raise StageFailed(say("The drained point of this switch is not known."))
    found: dict[Partition, Corresponding] = ends
    return found


def forward(plan: Plan, limits: Limits) -> StageRun:
    """The clients belong to the target from the moment that every Gateway has this epoch."""
    epoch = yield do.WriteBindings(plan.target, BindingState.FORWARD)
    yield from _in_effect(epoch, limits.forward, limits.fast_poll)
    return say(
        "%(scope)s is on %(cluster)s (epoch %(epoch)s).", scope=plan.scope, cluster=plan.target, epoch=epoch
    )


def reverse(plan: Plan, limits: Limits) -> StageRun:
    """The mirror now copies the other way, from the drained point on; the old source takes no client's writes."""
    ends = yield from _drained()
    yield do.DenyWrites(plan.source)
    yield do.ReverseMirrors(ends)
    began = yield do.Pause(0)
    while True:
        found = yield do.CheckMirrors()
        idle = [mirror for mirror, state, _, _ in found if state != "running"]
        if not idle:
            return say(
                "The mirror copies from %(source)s to %(target)s.", source=plan.target, target=plan.source
            )
        if (yield do.Pause(limits.poll)) - began > limits.reverse:
            raise StageFailed(
                say(
                    "Mirror %(mirrors)s does not run in the new direction: restart its connector.",
                    mirrors=idle,
                )
            )


def verify(plan: Plan, limits: Limits) -> StageRun:
    """Every client that was there before is seen on the target, works there, and nothing bypasses it."""
    ends = yield from _drained()
    seen: do.RecordSeen = yield do.ReadSeen()
    held_since: float | None = None
    elapsed = yield do.Pause(0)
    told = False
    while True:
        waiting = yield from _missing_on_target(plan, seen, ends, elapsed)
        elapsed = yield do.Pause(limits.poll)
        if waiting is None:
            held_since = elapsed if held_since is None else held_since
            if elapsed - held_since < limits.verify_hold:
                continue
            difference = yield from _stray_writes(plan, ends)
            if difference is None:
                return say(
                    "Every client works on %(cluster)s (%(count)s in all).",
                    count=len(seen.clients),
                    cluster=plan.target,
                )
            if not told:
                told = True
                yield do.Say(difference)
            waiting = say(
                "%(cluster)s has other records than %(target)s since the switch: somebody still writes there.",
                cluster=plan.source,
                target=plan.target,
            )
        held_since = None
        if elapsed > limits.verify:
            raise StageFailed(waiting)


def _stray_writes(
    plan: Plan, ends: Mapping[Partition, Corresponding]
) -> Generator[do.Command, Any, Sentence | None]:
    """What the old source got since the drained point must be what the turned mirror brought it, in order.

    By count alone a write past the Gateways hides behind the records that the mirror still lacks.
    """
    source_ends = yield do.ReadEnds(plan.source)
    mirrored = {
        p: Corresponding(source_ends[p], point.target + source_ends[p] - point.source)
        for p, point in ends.items()
    }
    difference: Sentence | None = yield do.CompareTails(mirrored)
    return difference


def _missing_on_target(
    plan: Plan, seen: do.RecordSeen, ends: Mapping[Partition, Corresponding], elapsed: float
) -> Generator[do.Command, Any, Sentence | None]:
    """What still stands against success; ``None`` when nothing does."""
    # The source first: what the mirror copies back counts for both, so the source never grows by more.
    source_ends = yield do.ReadEnds(plan.source)
    target_ends = yield do.ReadEnds(plan.target)
    for partition, point in ends.items():
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
    clients = yield do.ReadClients()
    late = sorted(c for c in seen.clients if plan.target not in clients.get(c, set()))
    if late:
        return say("Waiting for %(clients)s to be seen on %(cluster)s.", clients=late, cluster=plan.target)
    members = yield do.ReadMembers(plan.target)
    empty = sorted(group for group in seen.groups if not members.get(group))
    if empty:
        return say(
            "Waiting for group %(groups)s to have members on %(cluster)s.", groups=empty, cluster=plan.target
        )
    grown = {p.topic for p, point in ends.items() if target_ends[p] > point.target}
    return (yield from _idle_on_target(plan, seen, grown, elapsed))


def _idle_on_target(
    plan: Plan, seen: do.RecordSeen, grown: set[str], elapsed: float
) -> Generator[do.Command, Any, Sentence | None]:
    """Whatever was written and read shortly before the switch has to be so again.

    :param grown: Topics with records that can only be read on the target.
    """
    going_on = yield do.ReadActivity(plan.target, elapsed)
    idle = [topic for kind, topic in seen.activity if kind == "produce" and (kind, topic) not in going_on]
    if idle:
        return say(
            "Waiting for writes to %(topics)s to arrive on %(cluster)s.", topics=idle, cluster=plan.target
        )
    unread = [
        topic
        for kind, topic in seen.activity
        if kind == "consume" and topic in grown and (kind, topic) not in going_on
    ]
    if unread:
        return say("Waiting for %(topics)s to be read on %(cluster)s.", topics=unread, cluster=plan.target)
    return None


def return_to_start(plan: Plan, limits: Limits) -> StageRun:
    """Undo: everything as it was before the switch. Safe from any stage before forward."""
    epoch = yield do.WriteBindings(plan.source, BindingState.FORWARD)
    yield from _in_effect(epoch, limits.forward, limits.poll)
    yield do.ResumeMirrors()
    yield do.DenyWrites(plan.target)
    return say("%(scope)s works on %(cluster)s as before.", scope=plan.scope, cluster=plan.source)


#: What each stage runs.
RUNS: dict[Stage, Callable[[Plan, Limits], StageRun]] = {
    Stage.PRECHECK: precheck,
    Stage.SETTLE: settle,
    Stage.BLOCK: block,
    Stage.DRAIN: drain,
    Stage.TRANSLATE: translate,
    Stage.FORWARD: forward,
    Stage.REVERSE: reverse,
    Stage.VERIFY: verify,
    Stage.RETURN: return_to_start,
}
