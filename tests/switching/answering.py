"""What the simulated world answers to each command of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hadash.bindings.editing import refuse_wrong_turn
from hadash.bindings.membership import not_applied
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.native import waiting
from hadash.bindings.pending_retries import ExpectedBack
from hadash.governance.client_risks import Seen
from hadash.governance.findings import Circumstances, acks
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.lag import measure
from hadash.mirroring.offsets import OffsetSync, to_try
from hadash.mirroring.proof import compare_last_records, same_next, shared_last_records
from hadash.sentences import say
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import (
    LastRecordsCompared,
    MirrorFound,
    Reader,
    RightsCheck,
    RightsFound,
    UsedAssignors,
)
from hadash.switching.stages.command import Command, Together

from .parts import QUIESCED, Bound, Broken, Mirror, WorldError

if TYPE_CHECKING:
    from .world import World

T = TypeVar("T")


def answer(world: World, command: Command[Any]) -> Any:
    plan, group = world.plan, world.group
    match command:
        case do.Say(sentence):
            world.said.append(str(sentence))
        case do.Pause():
            return world.now - world.stage_began
        case do.ReadBindings():
            return {str(i): world.resolve(world.table, i.instance_id) for i in plan.identities}
        case do.WriteBindings(cluster, state):
            return _write_bindings(world, (cluster, state))
        case do.ReadGateways():
            return [gateway.member for gateway in world.gateways.values()]
        case do.ReadWaiting(epoch):
            members = [gateway.member for gateway in world.gateways.values()]
            return waiting(members, not_applied(members, epoch))
        case do.ReadExpectedBack():
            left = {name: until - world.now for name, until in world.expected_back.items()}
            return [ExpectedBack(name, seconds) for name, seconds in left.items() if seconds > 0]
        case do.CheckCluster(cluster):
            return "no broker answers" if cluster in world.down else None
        case do.ComputePlan():
            return world.plan_now or world.plan
        case do.CheckAcks():
            writers = [Seen("shop", name, "produce", "orders", details={"acks": 1}) for name in world.acks_1]
            found = acks(writers, Circumstances(replicated=frozenset({"orders"})))
            return found.sentence if found is not None else None
        case do.CheckAssignors():
            unknown = world.rebalancing.pop(0) if world.rebalancing else []
            return UsedAssignors(tuple(world.cooperative), tuple(unknown))
        case do.CheckMirrors(source, _):
            return [_look(world, mirror) for mirror in world.mirrors if source in ("", mirror.source)]
        case do.CheckAudits():
            return list(world.audits)
        case do.ReadPools():
            return world.pools.read()
        case do.ClosePools():
            return world.pools.close()
        case do.OpenPools(cluster):
            world.pools.open(cluster)
        case do.ReadWritten():
            return {topic: mirror.source for mirror in world.mirrors for topic in mirror.topics}
        case do.CheckSelfAssigned():
            _reach(world, plan.source)
            return dict(world.self_assigned)
        case do.CheckReadingOn():
            return list(world.reading_on)
        case do.ReadTopics(cluster):
            _reach(world, cluster)
            return dict(world.topics[cluster])
        case do.CopyAcls():
            _reach(world, plan.source, plan.target)
            missing = world.may_write[plan.source] and not world.may_write[plan.target]
            world.may_write[plan.target] |= missing
            world.denied[plan.target] |= missing and world.mirror.target == plan.target
            return int(missing)
        case do.ReadRights():
            _reach(world, plan.source, plan.target)
            return RightsFound(frozenset(), frozenset())
        case do.CheckRights() if plan.kind.spec.source_lost:
            _reach(world, plan.target)
            return RightsCheck(by_host=tuple(world.rules_for_hosts))
        case do.CheckRights():
            _reach(world, plan.source, plan.target)
            return RightsCheck(tuple(world.denied_by_hand), tuple(world.rules_for_hosts))
        case do.CheckQuotas():
            _reach(world, plan.source, plan.target)
            return world.quotas
        case do.CopyQuotas():
            _reach(world, plan.source, plan.target)
            copied, world.quotas = world.quotas.missing, replace(world.quotas, missing=())
            return list(copied)
        case do.ReadQuotas():
            _reach(world, plan.target)
            return world.quotas_found
        case do.CheckSignIn():
            return {"shop": (set(world.mechanisms[plan.source]), set(world.mechanisms[plan.target]))}
        case do.PublishPlacement(leaders):
            world.placement = dict(leaders)
        case do.WarmUp():
            _reach(world, plan.source)
            _reach(world, plan.target)
            committed = [
                {group.name: {p: Committed(o) for p, o in group.committed[cluster].items()}}
                for cluster in (plan.source, plan.target)
            ]
            starts = {p: log.start for p, log in _moving(world, world.logs[plan.target]).items()}
            if plan.groups:
                _write_group_offsets(world, to_try(*committed, starts).get(group.name, {}))
        case do.AllowWrites(cluster):
            _reach(world, cluster)
            world.denied[cluster], denied = False, world.denied[cluster]
            return int(denied)
        case do.ReadLateBrokers(cluster):
            _reach(world, cluster)
            return world.late_brokers.pop(0) if world.late_brokers else []
        case do.DenyWrites(cluster):
            _reach(world, cluster)
            new = world.may_write[cluster] and not world.denied[cluster]
            world.denied[cluster] |= new
            return int(new)
        case do.ReadMembers(cluster):
            _reach(world, cluster)
            return {name: {m.id for m in group.on(cluster)} for name in plan.groups}
        case do.ReadQuiesced():
            members = [m for m in group.members if m.client.gateway.live and not m.client.gone]
            return {(group.name, m.id): m.state for m in members if not m.deaf}
        case do.ReadEnds(cluster):
            _reach(world, cluster)
            return {p: log.end for p, log in _moving(world, world.logs[cluster]).items()}
        case do.ReadStarts(cluster):
            _reach(world, cluster)
            return {p: log.start for p, log in _moving(world, world.logs[cluster]).items()}
        case do.ReadOffsetSyncs():
            return {p: a for mirror in world.mirrors for p, a in _moving(world, mirror.syncs).items()}
        case do.CompareLastRecords(ends):
            _reach(world, plan.source, plan.target)
            source, target = world.logs[plan.source], world.logs[plan.target]
            tails = (
                {p: source[p].tail(end.source, 16) for p, end in ends.items()},
                {p: target[p].tail(end.target, 16) for p, end in ends.items()},
            )
            starts = {p: OffsetSync(source[p].start, target[p].start) for p in ends}
            return LastRecordsCompared(compare_last_records(*tails), shared_last_records(*tails), starts)
        case do.CompareNext(points, ends):
            _reach(world, plan.source, plan.target)
            source, target = world.logs[plan.source], world.logs[plan.target]
            return {
                p: same_next(
                    source[p].next(at.source, ends[p].source, 16),
                    target[p].next(at.target, ends[p].target, 16),
                )
                for p, at in points.items()
            }
        case do.RecordDrained(ends):
            world.drained = dict(ends)
            world.copy_facts()
        case do.ReadDrained():
            return None if world.drained is None else dict(world.drained)
        case do.ReadGroupOffsets(cluster):
            _reach(world, cluster)
            world.read_back |= cluster == plan.target
            return {name: dict(group.committed[cluster]) for name in plan.groups}
        case do.ReadCommits(cluster):
            _reach(world, cluster)
            world.read_back |= cluster == plan.target
            beside = group.metadata.get(cluster, {})
            commits = {p: Committed(o, beside.get(p, "")) for p, o in group.committed[cluster].items()}
            return {name: dict(commits) for name in plan.groups}
        case do.ReadAssigned(cluster):
            _reach(world, cluster)
            given = {p: frozenset({Reader(c)}) for p, c in group.assigned.get(cluster, {}).items()}
            members = group.on(cluster)
            is_rejoining = any(member.state in QUIESCED for member in members)
            if is_rejoining and world.resolve(world.table, None)[1] is BindingState.FORWARD:
                return dict.fromkeys(plan.groups)  # it rebalances: its coordinator does not tell
            # Gateways hold the requests of members that quiesce: their sessions end, and the group is empty for
            # its coordinator, which never hears of a rebalance.
            is_there = bool(members) and not is_rejoining
            return {name: _moving(world, given) if is_there else {} for name in plan.groups}
        case do.ReadPositions(client_ids):
            found = group.fetched.items() if world.sees_fetches else ()
            return [(Reader(c), p, o) for (c, at, p), o in found if at == plan.source and c in client_ids]
        case do.RecordReading(positions):
            world.reading = {name: dict(offsets) for name, offsets in positions.items()}
            world.copy_facts()
        case do.ReadReading():
            return world.reading
        case do.WriteGroupOffsets(offsets):
            _write_group_offsets(world, offsets.get(group.name, {}))
        case do.RemoveGroupOffsets(partitions):
            _reach(world, plan.target)
            for partition in partitions[group.name]:
                del group.committed[plan.target][partition]
        case Together(commands):
            return [world.answer(part) for part in commands]
        case do.PauseMirrors():
            for mirror in world.mirrors:
                if mirror.source == mirror.reads == plan.source:
                    mirror.turning, mirror.state = True, "paused"
        case do.ResumeMirrors():
            for mirror in world.mirrors:
                if mirror.turning or mirror.state == "paused":
                    mirror.turning, mirror.state = False, "running"
        case do.ReverseMirrors(ends):
            for mirror in world.mirrors:
                if mirror.source != plan.target:
                    mirror.turn(world.now, ends)
        case do.ReadClients():
            clients = [c for c in world.clients.values() if c.gateway.live and not c.gone]
            return {c.id: {c.cluster} for c in clients if plan.covers("shop", c.id)}
        case do.RecordSeen():
            world.seen = command
            world.copy_facts()
        case do.ReadActivity(cluster, seconds):
            return {
                (kind, topic)
                for (where, kind, topic), at in world.activity.items()
                if where == cluster and world.now - at < seconds
            }
        case do.ReadSeen():
            return world.seen
        case _:
            raise TypeError(f"unknown command {command!r}")
    return None


def _moving(world: World, found: Mapping[Partition, T]) -> dict[Partition, T]:
    """What is asked about the plan's Topics."""
    return {p: value for p, value in found.items() if p.topic in world.plan.topics}


def _reach(world: World, *clusters: str) -> None:
    for cluster in clusters:
        if cluster in world.down:
            raise WorldError(f"Cluster {cluster} does not answer.")


def _look(world: World, mirror: Mirror) -> MirrorFound:
    if world.down:
        return MirrorFound(mirror.name, "unknown", say("A cluster does not answer."), None)
    ends = {c: {p: log.end for p, log in logs.items()} for c, logs in world.logs.items()}
    lag = measure(mirror.syncs, ends[mirror.source], ends[mirror.target])
    if lag.excess:
        return MirrorFound(mirror.name, "failed", "It holds records that its source does not.", lag.records)
    return MirrorFound(mirror.name, mirror.state, mirror.fault, None if mirror.silent else lag.records)


def _write_bindings(world: World, bound: Bound) -> int:
    cluster, state = bound
    wanted = Binding(cluster, state, switch=world.switch, stage=world.stage)
    for identity in world.plan.identities:
        held = world.written.get(identity)
        refuse_wrong_turn(held, identity, wanted, Journal(world.switch, world.stage, 0))
        if held is not None and held.switch == world.switch and held.cluster != cluster == world.plan.source:
            raise Broken(f"The switch goes back behind its forward, in {world.stage}.")
    world.written |= dict.fromkeys(world.plan.identities, wanted)
    if bound[0] == world.plan.target:
        world.check_forward()
    world.epoch += 1
    world.table |= {str(identity): bound for identity in world.plan.identities}
    world.changes.append((world.now, world.epoch, dict(world.table)))
    return world.epoch


def _write_group_offsets(world: World, offsets: Mapping[Partition, Committed]) -> None:
    _reach(world, world.plan.target)
    if world.group.on(world.plan.target):
        raise WorldError("Group billing has members on west: its offsets cannot be written.")
    world.read_back = False
    kept = {p: committed for p, committed in offsets.items() if p != world.forgets}
    world.group.committed[world.plan.target] |= {p: committed.offset for p, committed in kept.items()}
    beside = world.group.metadata.setdefault(world.plan.target, {})
    beside |= {p: committed.metadata for p, committed in kept.items()}
