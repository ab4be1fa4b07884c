"""The stages. Each reads the current state again, yields one command at a time, and ends with a sentence.

Every stage is idempotent: killed at any point and begun again, it reaches the same end. Before forward, a stage that
cannot do its work raises :class:`StageFailed`, and the switch returns to the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hadash.bindings.model import BindingState
from hadash.bindings.quiescing import HELD, QUIESCED
from hadash.kafka.values import Partition
from hadash.mirroring.proof import Behind, CaughtUp, Contradiction, compare_ends
from hadash.sentences import say
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages import failover
from hadash.switching.stages.catch_up import catch_up, verify_readers
from hadash.switching.stages.command import Step, ask, ask_together
from hadash.switching.stages.pools import close_pools, open_pools
from hadash.switching.stages.positions import note_positions
from hadash.switching.stages.precheck import check_assignors, precheck, precheck_only
from hadash.switching.stages.rehearsal import rehearse
from hadash.switching.stages.run import Limits, StageFailed, StageRun, drained
from hadash.switching.stages.self_assigned import nobody_is_stranded
from hadash.switching.stages.steps import (
    await_brokers_know_acls,
    await_returning_clients,
    check_no_returning_clients,
    in_effect,
    still_lacks,
)
from hadash.switching.stages.translation import translate
from hadash.switching.stages.verification import verify
from hadash.switching.stages.waiting import NotYet, wait_for_a_while, wait_until


def quiesce(plan: Plan, limits: Limits) -> StageRun:
    """Consumers commit and park their rejoin, together. Reads and writes go on."""
    yield from await_returning_clients(limits.quiesce)
    began = yield from ask(do.Pause(0))
    if (yield from ask(do.ReadReading())) is None:
        # (Otherwise an earlier executor may already have asked members to rejoin.) Consumers may have joined since the
        # precheck.
        yield from check_assignors(plan, limits)
    yield from note_positions(plan, limits)
    yield from ask(do.WarmUp())
    if not plan.kind.spec.readers_only:  # readers need no write access, and a mirror stays closed
        yield from ask(do.AllowWrites(plan.target))
        yield from await_brokers_know_acls(plan, limits.quiesce, limits.poll)
    # (Before consumers are held up: members of pools may take as long as the record that they are handling.)
    yield from close_pools(plan, limits)
    waiting = yield from _members(plan)
    if waiting:
        yield from _hold_heartbeats(plan, limits, waiting)
    # Also without members: from now on joins are parked, so that new members have nothing to commit.
    epoch = yield from ask(do.WriteBindings(plan.source, BindingState.QUIESCE))
    yield from in_effect(epoch, limits.block, limits.fast_poll)

    def look() -> Step[NotYet | set[tuple[str, str]]]:
        # Read each time: a consumer that left is no member any more, and one that joined has to commit, too.
        members = yield from _members(plan)
        states = yield from ask(do.ReadQuiesced())
        late = sorted(m for m in members if states.get(m) not in QUIESCED)
        if not late:
            return members
        group, member = late[0]
        return NotYet(
            say(
                "Member %(member)s of group %(group)s did not commit and rejoin within %(seconds)s s. "
                "Does it use the Gateway?",
                member=member,
                group=group,
                seconds=limits.quiesce,
            )
        )

    waiting = yield from wait_until(look, limits.quiesce, limits.fast_poll * 3, began=began)
    if not waiting:
        return say("No consumer is in a group: nothing to quiesce.")
    return say("Every group member has committed and waits to rejoin (%(count)s in all).", count=len(waiting))


def _members(plan: Plan) -> Step[set[tuple[str, str]]]:
    """(group, member id) of every group member on the source."""
    members = yield from ask(do.ReadMembers(plan.source))
    return {(group, member) for group, ids in members.items() for member in ids}


def _hold_heartbeats(plan: Plan, limits: Limits, waiting: set[tuple[str, str]]) -> Step[None]:
    """Hold heartbeats for a while, so that all members learn of the rebalance at the same moment."""
    epoch = yield from ask(do.WriteBindings(plan.source, BindingState.HOLD_HEARTBEATS))
    yield from in_effect(epoch, limits.block, limits.fast_poll)
    yield from wait_for_a_while(
        lambda: ask(do.ReadQuiesced()),
        lambda states: all(states.get(member) in HELD for member in waiting),
        limits.hold_heartbeats,
        limits.poll,
    )


def block(plan: Plan, limits: Limits) -> StageRun:
    """From here on nothing new reaches the source."""
    epoch = yield from ask(do.WriteBindings(plan.source, BindingState.BLOCK))
    yield from in_effect(epoch, limits.block, limits.fast_poll)
    yield from check_no_returning_clients()
    if plan.kind.spec.readers_only:
        return say(
            "The readers on %(cluster)s wait, no commit of theirs is under way (epoch %(epoch)s).",
            cluster=plan.source,
            epoch=epoch,
        )
    return say(
        "Writes to %(cluster)s are blocked, nothing is in flight (epoch %(epoch)s).",
        cluster=plan.source,
        epoch=epoch,
    )


def drain(plan: Plan, limits: Limits) -> StageRun:
    """Wait for the mirror, then prove that both sides end with the same records."""
    syncs = yield from ask(do.ReadOffsetSyncs())

    def look() -> Step[tuple[CaughtUp, Mapping[Partition, int]] | NotYet]:
        # The target is read first: if the source still grows, it shows as records that the mirror lacks.
        target_ends = yield from ask(do.ReadEnds(plan.target))
        source_ends = yield from ask(do.ReadEnds(plan.source))
        verdict = compare_ends(syncs, source_ends, target_ends)
        if isinstance(verdict, Contradiction):
            raise StageFailed(verdict.reason)
        if isinstance(verdict, Behind):
            return still_lacks(verdict.records, limits.drain)
        return verdict, source_ends

    found, source_ends = yield from wait_until(look, limits.drain, limits.fast_poll, tell_after=0.5)
    # Mirrors are paused before the clients move: a Connect worker that restarts would copy from its last committed
    # offset, and write old records behind the new ones.
    compared, self_assigned, _ = yield from ask_together(
        do.CompareLastRecords(found.ends), do.CheckSelfAssigned(), do.PauseMirrors()
    )
    if compared.difference is not None:
        raise StageFailed(compared.difference)
    yield from nobody_is_stranded(plan, limits, found.ends, self_assigned)
    if (yield from ask(do.ReadEnds(plan.source))) != source_ends:
        raise StageFailed(
            say(
                "%(cluster)s still grows although its writes are blocked: somebody writes past the Gateway.",
                cluster=plan.source,
            )
        )
    yield from ask(do.RecordDrained(found.ends, compared))
    return say(
        "The mirror is drained: every partition ends with the same records on both sides (%(count)s in all).",
        count=len(found.ends),
    )


def forward(plan: Plan, limits: Limits) -> StageRun:
    """The clients belong to the target from the moment that every Gateway has this epoch."""
    epoch = yield from ask(do.WriteBindings(plan.target, BindingState.FORWARD))
    yield from in_effect(epoch, limits.forward, limits.fast_poll)
    yield from open_pools(plan, plan.target)
    return say(
        "%(scope)s is on %(cluster)s (epoch %(epoch)s).", scope=plan.scope, cluster=plan.target, epoch=epoch
    )


def reverse(plan: Plan, limits: Limits) -> StageRun:
    """The mirror now copies the other way, from the drained point on; the old source takes no client's writes."""
    ends = yield from drained()
    yield from ask(do.DenyWrites(plan.source))
    yield from ask(do.ReverseMirrors(ends))

    def look() -> Step[NotYet | None]:
        found = yield from ask(do.CheckMirrors())
        idle = [mirror.mirror for mirror in found if mirror.state != "running"]
        if not idle:
            return None
        return NotYet(
            say("Mirror %(mirrors)s does not run in the new direction: restart its connector.", mirrors=idle)
        )

    yield from wait_until(look, limits.reverse, limits.poll)
    return say("The mirror copies from %(source)s to %(target)s.", source=plan.target, target=plan.source)


def return_to_start(plan: Plan, limits: Limits) -> StageRun:
    """Undo: everything as it was before the switch. Safe from any stage before forward."""
    epoch = yield from ask(do.WriteBindings(plan.source, BindingState.FORWARD))
    yield from in_effect(epoch, limits.forward, limits.poll)
    yield from open_pools(plan, plan.source)
    if not plan.kind.spec.readers_only:  # clients write to the target when readers move back
        yield from ask(do.ResumeMirrors())
        yield from ask(do.DenyWrites(plan.target))
    return say("%(scope)s works on %(cluster)s as before.", scope=plan.scope, cluster=plan.source)


#: The function of each stage.
RUNS: dict[Stage, Callable[[Plan, Limits], StageRun]] = {
    Stage.PRECHECK: precheck,
    Stage.QUIESCE: quiesce,
    Stage.BLOCK: block,
    Stage.DRAIN: drain,
    Stage.TRANSLATE: translate,
    Stage.CATCH_UP: catch_up,
    Stage.FORWARD: forward,
    Stage.REVERSE: reverse,
    Stage.VERIFY: verify,
    Stage.RETURN: return_to_start,
    Stage.REHEARSE: rehearse,
    Stage.ASSESS: failover.assess,
}


#: The functions that replace these in a switch of a certain kind.
RUNS_OF: dict[Kind, dict[Stage, Callable[[Plan, Limits], StageRun]]] = {
    Kind.REHEARSAL: {Stage.PRECHECK: precheck_only},
    Kind.FORCED: {
        Stage.PRECHECK: failover.precheck,
        Stage.BLOCK: failover.block,
        Stage.TRANSLATE: failover.translate,
        Stage.FORWARD: failover.forward,
        Stage.VERIFY: failover.verify,
    },
    Kind.READ_SPLIT: {Stage.VERIFY: verify_readers},
}


def run_of(kind: Kind, stage: Stage) -> Callable[[Plan, Limits], StageRun]:
    """The function of a stage in a switch of this kind."""
    return RUNS_OF.get(kind, {}).get(stage) or RUNS[stage]
