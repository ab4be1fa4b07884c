"""A pair of clusters with Gateways, clients and a mirror, that answers the commands of a stage on a virtual clock.

It stands for the servers, not for our own modules: bindings have epochs that Gateways apply a little later, group
members commit and park, the mirror copies record by record, producers and consumers never stop. Every record is a
number that is unique, so that a lost or repeated one is noticed. After each command the world checks what must always
hold, and raises :class:`Broken` when it does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hadash.bindings.editing import refuse_wrong_turn
from hadash.bindings.membership import not_applied
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.native import waiting
from hadash.bindings.returning import ExpectedBack
from hadash.governance.client_risks import Seen
from hadash.governance.findings import Circumstances, acks
from hadash.identity.identity import Identity
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.lag import measure
from hadash.mirroring.offsets import OffsetSync, to_try
from hadash.mirroring.proof import compare_tails, same_next, shared_tails
from hadash.radius.scope import Scope, ScopeKind
from hadash.sentences import NOTHING, Sentence, say
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import (
    MirrorFound,
    QuotaCheck,
    QuotasFound,
    Reader,
    RightsCheck,
    RightsFound,
    TailsCompared,
    UsedAssignors,
)
from hadash.switching.stages.asking import Command

from .parts import Bound, Broken, Client, Gateway, Group, Log, Member, Mirror

#: A whole AppID with one InstanceID that has a binding of its own.
WHOLE = Plan(
    pair="main",
    scope=Scope.of(Identity("shop")),
    source="east",
    target="west",
    topics=("carts", "orders"),
    groups=("billing",),
    mirrors=("shop",),
    identities=(Identity("shop"), Identity("shop", "web-1")),
)

#: The readers of orders go to the mirror; web-1, which writes, stays.
SPLIT = Plan(
    pair="main",
    scope=Scope(ScopeKind.TOPICS, topics=("orders",)),
    source="east",
    target="west",
    topics=("orders",),
    groups=("billing",),
    mirrors=("shop",),
    identities=(Identity("shop", "bill-1"), Identity("shop", "bill-2")),
    kind=Kind.READ_SPLIT,
)

#: Seconds that a command takes, and between two records of a producer.
COMMAND_SECONDS = 0.001
RECORD_SECONDS = 0.02

CARTS, ORDERS_0, ORDERS_1 = Partition("carts", 0), Partition("orders", 0), Partition("orders", 1)
PARTITIONS = (CARTS, ORDERS_0, ORDERS_1)


T = TypeVar("T")
R = TypeVar("R")

#: Waiting at the Gateway or at the coordinator: either way the member has committed and works no more.
_QUIESCED = {"parked": "quiesced", "joining": "quiesced"}


class WorldError(Exception):
    """What a command meets when a server is down, refuses, or its answer is lost."""


@dataclass(frozen=True)
class Rows:
    """What PostgreSQL holds of a switch and its mirrors at one moment; the switch's stage is the walk's."""

    drained: dict[Partition, OffsetSync] | None
    seen: do.RecordSeen
    reading: dict[str, dict[Partition, int]] | None
    number: int
    mirrors: tuple[tuple[str, str, dict[Partition, OffsetSync], bool], ...]


class World:
    """Faults are plain attributes: set them before a stage, or in the middle of it through :mod:`walking`."""

    def __init__(self, plan: Plan = WHOLE, *, traffic: bool = True) -> None:
        self.plan = plan
        #: The plan as it would be computed now, or what blocks it; who writes with acks=1.
        self.plan_now: Plan | list[Sentence] | None = None
        #: Clients of shop that write with acks=1.
        self.acks_1: list[str] = []
        self.cooperative: list[str] = []
        #: Groups of which it is not known how they rebalance, at the next looks.
        self.rebalancing: list[list[str]] = []
        #: The Topics that clients read without being members of a group.
        self.self_assigned: dict[str, frozenset[str]] = {}
        #: Who has a library that reads on while it rejoins.
        self.reading_on: list[str] = []
        #: The Gateways know where members read.
        self.sees_fetches = True
        self.now = 1000.0
        self.said: list[str] = []
        self.done: list[Command[Any]] = []
        self.traffic = traffic
        #: Partitions that producers do not write to by themselves.
        self.idle: set[Partition] = set()
        self._numbers = itertools.count(1)
        self._stage_began = self.now
        self._next_record_at = self.now

        # What ZooKeeper holds.
        self.epoch = 7
        self.table: dict[str, Bound] = {"shop › web-1": ("east", BindingState.FORWARD)}
        self.changes: list[tuple[float, int, dict[str, Bound]]] = []
        #: Of the switch that runs: its stage, as its executor has it, and what it has bound its identities to.
        self.stage = ""
        self.written: dict[Identity, Binding] = {}

        # What stages keep for each other, how often they did, and ZooKeeper's copy of it.
        self.drained: dict[Partition, OffsetSync] | None = None
        self.seen = do.RecordSeen((), (), ())
        #: Where members read what they have not committed, as quiesce noted it.
        self.reading: dict[str, dict[Partition, int]] | None = None
        self.number = 0
        self.copied: Rows | None = None
        self.placement: dict[str, tuple[int, ...]] | None = None

        # The clusters: east has lost its first hundred records to retention before the mirror began.
        self.down: set[str] = set()
        self.logs = {
            "east": {p: Log(start=100 + 10 * i) for i, p in enumerate(PARTITIONS)},
            "west": {p: Log() for p in PARTITIONS},
        }
        self.topics: dict[str, dict[str, tuple[int, ...]]] = {
            "east": {"carts": (1,), "orders": (1, 2)},
            "west": {"carts": (3,), "orders": (3, 1)},
        }
        self.may_write = {"east": True, "west": True}
        self.denied = {"east": False, "west": True}
        #: What the next looks at who has not heard of the rules find; afterwards everybody has.
        self.late_brokers: list[list[int]] = []
        #: Denials on the target that hadash has not made.
        self.denied_by_hand: list[str] = []
        #: Rules for single hosts on which it depends what clients may do.
        self.rules_for_hosts: list[str] = []
        #: How the quotas of both clusters compare, and what the target's are when the source is lost.
        self.quotas = QuotaCheck()
        self.quotas_found = QuotasFound()
        self.mechanisms = {"east": {"SCRAM-SHA-256"}, "west": {"SCRAM-SHA-256"}}
        syncs = {p: OffsetSync(log.end, 0) for p, log in self.logs["east"].items()}
        self.mirror = Mirror(
            "shop",
            "east",
            "west",
            frozenset(WHOLE.topics),
            syncs,
            {p: a.source for p, a in syncs.items()},
        )
        self.mirrors = [self.mirror]
        #: The broker of the target forgets this offset of group billing when it is written.
        self.forgets: Partition | None = None

        # Gateways and clients.
        #: Gateways that have gone, and until when their clients may come back.
        self.expected_back: dict[str, float] = {}
        #: When something was last written or read: by cluster, produce or consume, and Topic.
        self.activity: dict[tuple[str, str, str], float] = {}
        self.gateways = {name: Gateway(name, dict(self.table)) for name in ("gw-1", "gw-2")}
        self.clients = {
            "web-1": Client("web-1", self.gateways["gw-1"], "east", produces=True),
            "bill-1": Client("bill-1", self.gateways["gw-1"], "east"),
            "bill-2": Client("bill-2", self.gateways["gw-2"], "east", reacts_after=0.1),
        }
        self.group = Group("billing", (ORDERS_0, ORDERS_1), {"east": {}, "west": {}})
        for name in ("bill-1", "bill-2"):
            self.group.members.append(Member(f"{name}-m", self.clients[name], "east"))
        #: Records whose write a Gateway has acknowledged.
        self.acknowledged: set[int] = set()
        #: Somebody wrote past the Gateways or damaged a record: what is read cannot be vouched for.
        self.tampered = False
        self._read_back = False

        for partition in PARTITIONS:
            for _ in range(20):
                self._write("east", partition)
        for partition in self.group.partitions:
            log = self.logs["east"][partition]
            self.group.committed["east"][partition] = log.start + 12
            self.group.consumed |= set(log.records[:12])
        self.group.assign("east", self.logs)
        self.mirror.copy(self.now, 10.0, self.logs, self.down)
        if not traffic:
            self.group.consume(self.bound, self.logs, self.down)

    # -- time --------------------------------------------------------------------------------------------------------

    def begin_switch(self) -> None:
        """Another switch: it knows nothing of what an earlier one has noted."""
        self.drained, self.reading, self.copied, self.placement = None, None, None, None
        self.seen, self.number = do.RecordSeen((), (), ()), 0

    def begin_stage(self, stage: str) -> None:
        self.stage, self._stage_began = stage, self.now

    def later(self, seconds: float) -> None:
        """Let time pass without a command."""
        for _ in range(round(seconds / 0.05)):
            self._pass(0.05)
            self.check()

    def _pass(self, seconds: float) -> None:
        self.now += seconds
        for gateway in self.gateways.values():
            gateway.apply(self.now, self.changes)
        for client in self.clients.values():
            client.follow(self.now, self.bound(client))
        self._produce()
        self.group.act(self.now, self.bound, self.logs)
        self._consume()
        for mirror in self.mirrors:
            mirror.copy(self.now, seconds, self.logs, self.down)

    def _consume(self) -> None:
        before = dict(self.group.position)
        self.group.consume(self.bound, self.logs, self.down)
        for partition, owner in self.group.owner.items():
            moved = self.plan.covers("shop", owner.client.id)
            if moved and self.group.position[partition] != before.get(partition):
                self.activity[owner.cluster, "consume", partition.topic] = self.now

    def bound(self, client: Client) -> Bound:
        """The binding of a client, as its Gateway sees it."""
        return self._resolve(client.gateway.table, client.id)

    def _resolve(self, table: dict[str, Bound], instance: str | None) -> Bound:
        found = table.get(f"shop › {instance}") or table.get("shop")
        return found or ("east", BindingState.FORWARD)

    # -- producers ---------------------------------------------------------------------------------------------------

    def _produce(self) -> None:
        while self.traffic and self._next_record_at <= self.now:
            self._next_record_at += RECORD_SECONDS
            for client in self.clients.values():
                cluster, state = self.bound(client)
                here = cluster == client.cluster and cluster not in self.down and self.writable(cluster)
                if here and client.produces and not client.gone and state is not BindingState.BLOCK:
                    for partition in PARTITIONS:
                        if partition in self.idle:
                            continue
                        self._write(cluster, partition)
                        if self.plan.covers("shop", client.id):
                            self.activity[cluster, "produce", partition.topic] = self.now

    def _write(self, cluster: str, partition: Partition) -> None:
        record = next(self._numbers)
        self.logs[cluster][partition].append(record)
        self.acknowledged.add(record)

    def idle_without_a_commit(self, partition: Partition) -> None:
        """The group has delivered nothing of a partition since its members began at its end, and so committed
        nothing.
        """
        self.idle.add(partition)
        self.group.lazy = True
        log = self.logs["east"][partition]
        self.group.consumed |= set(log.records)
        del self.group.committed["east"][partition]
        self.group.fetched.clear()
        self.group.assign("east", self.logs)

    def write_to_idle(self) -> None:
        """A producer has a record for each idle partition; it was parked, and its Gateway is the first to
        hear of a change.
        """
        cluster, state = self._resolve(self.table, "web-1")
        if state is not BindingState.BLOCK and self.writable(cluster) and cluster not in self.down:
            for partition in self.idle:
                self._write(cluster, partition)

    def writable(self, cluster: str) -> bool:
        """Whether the cluster's ACLs let the AppID write."""
        return self.may_write[cluster] and not self.denied[cluster]

    # -- faults ------------------------------------------------------------------------------------------------------

    def write_past(self, cluster: str, partition: Partition = ORDERS_0, count: int = 1) -> None:
        """Somebody writes to a cluster without a Gateway."""
        self.tampered = True
        for _ in range(count):
            self.logs[cluster][partition].append(next(self._numbers))

    def damage(self, cluster: str, partition: Partition = ORDERS_0) -> None:
        """The last record of a partition is not what it was."""
        self.tampered = True
        records = self.logs[cluster][partition].records
        records[-1] = next(self._numbers)

    def join(self, name: str, reacts_after: float = 0.05) -> None:
        """Another consumer joins the group."""
        client = Client(name, self.gateways["gw-2"], "east", reacts_after=reacts_after)
        client.cluster, state = self.bound(client)
        self.clients[name] = client
        parked = state in (BindingState.QUIESCE, BindingState.BLOCK)
        member = Member(f"{name}-m", client, client.cluster, "parked" if parked else "joining", new=True)
        self.group.members.append(member)
        self._pass(0)

    def without_members(self) -> None:
        """Nobody is in the group, though it has committed offsets."""
        self.group.members.clear()
        self.group.owner.clear()

    def leave(self, name: str) -> None:
        """A client ends: a member commits first."""
        client = self.clients[name]
        if self.bound(client)[1] is not BindingState.BLOCK:
            for member in self.group.members:
                if member.client is client and not client.gone:
                    self.group.commit(member)
        client.gone = True

    def heal(self) -> None:
        """Everything that a person can repair is repaired."""
        self.down.clear()
        self.forgets = None
        for gateway in self.gateways.values():
            gateway.stuck, gateway.live = False, True
        for client in self.clients.values():
            client.follows = True
        for member in self.group.members:
            member.deaf = False
        for mirror in self.mirrors:
            mirror.rate, mirror.never_turns = 10_000.0, False
            mirror.state, mirror.fault, mirror.starts_at = "running", NOTHING, None

    # -- answering ---------------------------------------------------------------------------------------------------

    def carry_out(self, command: Command[R]) -> R:
        """The answer to one command."""
        self.done.append(command)
        self._pass(command.seconds if isinstance(command, do.Pause) else COMMAND_SECONDS)
        answer: R = self._answer(command)
        self.check()
        return answer

    def _answer(self, command: Command[Any]) -> Any:
        plan, group = self.plan, self.group
        match command:
            case do.Say(sentence):
                self.said.append(str(sentence))
            case do.Pause():
                return self.now - self._stage_began
            case do.ReadBindings():
                return {str(i): self._resolve(self.table, i.instance_id) for i in plan.identities}
            case do.WriteBindings(cluster, state):
                return self._write_bindings((cluster, state))
            case do.ReadGateways():
                return [gateway.member for gateway in self.gateways.values()]
            case do.ReadWaiting(epoch):
                members = [gateway.member for gateway in self.gateways.values()]
                return waiting(members, not_applied(members, epoch))
            case do.ReadExpectedBack():
                left = {name: until - self.now for name, until in self.expected_back.items()}
                return [ExpectedBack(name, seconds) for name, seconds in left.items() if seconds > 0]
            case do.CheckCluster(cluster):
                return "no broker answers" if cluster in self.down else None
            case do.ComputePlan():
                return self.plan_now or self.plan
            case do.CheckAcks():
                writers = [
                    Seen("shop", name, "produce", "orders", details={"acks": 1}) for name in self.acks_1
                ]
                found = acks(writers, Circumstances(replicated=frozenset({"orders"})))
                return found.sentence if found is not None else None
            case do.CheckAssignors():
                unknown = self.rebalancing.pop(0) if self.rebalancing else []
                return UsedAssignors(tuple(self.cooperative), tuple(unknown))
            case do.CheckMirrors(source, _):
                return [self._look(mirror) for mirror in self.mirrors if source in ("", mirror.source)]
            case do.ReadWritten():
                return {topic: mirror.source for mirror in self.mirrors for topic in mirror.topics}
            case do.CheckSelfAssigned():
                self._reach(plan.source)
                return dict(self.self_assigned)
            case do.CheckReadingOn():
                return list(self.reading_on)
            case do.ReadTopics(cluster):
                self._reach(cluster)
                return dict(self.topics[cluster])
            case do.CopyAcls():
                self._reach(plan.source, plan.target)
                missing = self.may_write[plan.source] and not self.may_write[plan.target]
                self.may_write[plan.target] |= missing
                self.denied[plan.target] |= missing and self.mirror.target == plan.target
                return int(missing)
            case do.ReadRights():
                self._reach(plan.source, plan.target)
                return RightsFound(frozenset(), frozenset())
            case do.CheckRights() if plan.kind.spec.source_lost:
                self._reach(plan.target)
                return RightsCheck(by_host=tuple(self.rules_for_hosts))
            case do.CheckRights():
                self._reach(plan.source, plan.target)
                return RightsCheck(tuple(self.denied_by_hand), tuple(self.rules_for_hosts))
            case do.CheckQuotas():
                self._reach(plan.source, plan.target)
                return self.quotas
            case do.CopyQuotas():
                self._reach(plan.source, plan.target)
                copied, self.quotas = self.quotas.missing, replace(self.quotas, missing=())
                return list(copied)
            case do.ReadQuotas():
                self._reach(plan.target)
                return self.quotas_found
            case do.CheckSignIn():
                return {"shop": (set(self.mechanisms[plan.source]), set(self.mechanisms[plan.target]))}
            case do.PublishPlacement(leaders):
                self.placement = dict(leaders)
            case do.WarmUp():
                self._reach(plan.source)
                self._reach(plan.target)
                committed = [
                    {group.name: {p: Committed(o) for p, o in group.committed[cluster].items()}}
                    for cluster in (plan.source, plan.target)
                ]
                starts = {p: log.start for p, log in self._moving(self.logs[plan.target]).items()}
                if plan.groups:
                    self._write_group_offsets(to_try(*committed, starts).get(group.name, {}))
            case do.AllowWrites(cluster):
                self._reach(cluster)
                self.denied[cluster], denied = False, self.denied[cluster]
                return int(denied)
            case do.ReadLateBrokers(cluster):
                self._reach(cluster)
                return self.late_brokers.pop(0) if self.late_brokers else []
            case do.DenyWrites(cluster):
                self._reach(cluster)
                new = self.may_write[cluster] and not self.denied[cluster]
                self.denied[cluster] |= new
                return int(new)
            case do.ReadMembers(cluster):
                self._reach(cluster)
                return {name: {m.id for m in group.on(cluster)} for name in plan.groups}
            case do.ReadQuiesced():
                members = [m for m in group.members if m.client.gateway.live and not m.client.gone]
                return {(group.name, m.id): m.state for m in members if not m.deaf}
            case do.ReadEnds(cluster):
                self._reach(cluster)
                return {p: log.end for p, log in self._moving(self.logs[cluster]).items()}
            case do.ReadStarts(cluster):
                self._reach(cluster)
                return {p: log.start for p, log in self._moving(self.logs[cluster]).items()}
            case do.ReadOffsetSyncs():
                return {p: a for mirror in self.mirrors for p, a in self._moving(mirror.syncs).items()}
            case do.CompareTails(ends):
                self._reach(plan.source, plan.target)
                source, target = self.logs[plan.source], self.logs[plan.target]
                tails = (
                    {p: source[p].tail(end.source, 16) for p, end in ends.items()},
                    {p: target[p].tail(end.target, 16) for p, end in ends.items()},
                )
                starts = {p: OffsetSync(source[p].start, target[p].start) for p in ends}
                return TailsCompared(compare_tails(*tails), shared_tails(*tails), starts)
            case do.CompareNext(points, ends):
                self._reach(plan.source, plan.target)
                source, target = self.logs[plan.source], self.logs[plan.target]
                return {
                    p: same_next(
                        source[p].next(at.source, ends[p].source, 16),
                        target[p].next(at.target, ends[p].target, 16),
                    )
                    for p, at in points.items()
                }
            case do.RecordDrained(ends):
                self.drained = dict(ends)
                self._copy_facts()
            case do.ReadDrained():
                return None if self.drained is None else dict(self.drained)
            case do.ReadGroupOffsets(cluster):
                self._reach(cluster)
                self._read_back |= cluster == plan.target
                return {name: dict(group.committed[cluster]) for name in plan.groups}
            case do.ReadCommits(cluster):
                self._reach(cluster)
                self._read_back |= cluster == plan.target
                beside = group.metadata.get(cluster, {})
                commits = {p: Committed(o, beside.get(p, "")) for p, o in group.committed[cluster].items()}
                return {name: dict(commits) for name in plan.groups}
            case do.ReadAssigned(cluster):
                self._reach(cluster)
                given = {p: frozenset({Reader(c)}) for p, c in group.assigned.get(cluster, {}).items()}
                members = group.on(cluster)
                is_rejoining = any(member.state in _QUIESCED for member in members)
                if is_rejoining and self._resolve(self.table, None)[1] is BindingState.FORWARD:
                    return dict.fromkeys(plan.groups)  # it rebalances: its coordinator does not tell
                # Gateways hold the requests of members that quiesce: their sessions end, and the group is empty for
                # its coordinator, which never hears of a rebalance.
                is_there = bool(members) and not is_rejoining
                return {name: self._moving(given) if is_there else {} for name in plan.groups}
            case do.ReadPositions(client_ids):
                found = group.fetched.items() if self.sees_fetches else ()
                return [(Reader(c), p, o) for (c, at, p), o in found if at == plan.source and c in client_ids]
            case do.RecordReading(positions):
                self.reading = {name: dict(offsets) for name, offsets in positions.items()}
                self._copy_facts()
            case do.ReadReading():
                return self.reading
            case do.WriteGroupOffsets(offsets):
                self._write_group_offsets(offsets.get(group.name, {}))
            case do.RemoveGroupOffsets(partitions):
                self._reach(plan.target)
                for partition in partitions[group.name]:
                    del group.committed[plan.target][partition]
            case do.Together(commands):
                return [self._answer(part) for part in commands]
            case do.PauseMirrors():
                for mirror in self.mirrors:
                    if mirror.source == mirror.reads == plan.source:
                        mirror.turning, mirror.state = True, "paused"
            case do.ResumeMirrors():
                for mirror in self.mirrors:
                    if mirror.turning or mirror.state == "paused":
                        mirror.turning, mirror.state = False, "running"
            case do.ReverseMirrors(ends):
                for mirror in self.mirrors:
                    if mirror.source != plan.target:
                        mirror.turn(self.now, ends)
            case do.ReadClients():
                clients = [c for c in self.clients.values() if c.gateway.live and not c.gone]
                return {c.id: {c.cluster} for c in clients if plan.covers("shop", c.id)}
            case do.RecordSeen():
                self.seen = command
                self._copy_facts()
            case do.ReadActivity(cluster, seconds):
                return {
                    (kind, topic)
                    for (where, kind, topic), at in self.activity.items()
                    if where == cluster and self.now - at < seconds
                }
            case do.ReadSeen():
                return self.seen
            case _:
                raise TypeError(f"unknown command {command!r}")
        return None

    def _moving(self, found: Mapping[Partition, T]) -> dict[Partition, T]:
        """What is asked about the plan's Topics."""
        return {p: value for p, value in found.items() if p.topic in self.plan.topics}

    def _reach(self, *clusters: str) -> None:
        for cluster in clusters:
            if cluster in self.down:
                raise WorldError(f"Cluster {cluster} does not answer.")

    def _look(self, mirror: Mirror) -> MirrorFound:
        if self.down:
            return MirrorFound(mirror.name, "unknown", say("A cluster does not answer."), None)
        ends = {c: {p: log.end for p, log in logs.items()} for c, logs in self.logs.items()}
        lag = measure(mirror.syncs, ends[mirror.source], ends[mirror.target])
        if lag.excess:
            return MirrorFound(
                mirror.name, "failed", "It holds records that its source does not.", lag.records
            )
        return MirrorFound(mirror.name, mirror.state, mirror.fault, None if mirror.silent else lag.records)

    # -- what PostgreSQL holds, and forgets ----------------------------------------------------------------------------

    def rows(self) -> Rows:
        mirrors = tuple((m.source, m.target, m.syncs, m.turning) for m in self.mirrors)
        return Rows(self.drained, self.seen, self.reading, self.number, mirrors)

    def set_back(self, rows: Rows) -> None:
        """PostgreSQL holds what it held at an earlier moment."""
        self.drained, self.seen, self.number = rows.drained, rows.seen, rows.number
        self.reading = rows.reading
        for mirror, row in zip(self.mirrors, rows.mirrors, strict=True):
            mirror.source, mirror.target, mirror.syncs, mirror.turning = row

    def _copy_facts(self) -> None:
        self.number += 1
        self.copied = self.rows()

    def read_facts_back(self) -> None:
        """As an executor that takes a switch over: ZooKeeper's copy, if it is newer."""
        if self.copied is not None and self.copied.number > self.number:
            copied = self.copied
            self.drained, self.seen, self.number = copied.drained, copied.seen, copied.number
            self.reading = copied.reading

    @property
    def switch(self) -> str:
        """The key of the switch that runs: no two in one world have the same plan."""
        return f"{self.plan.scope} from {self.plan.source} to {self.plan.target}"

    def stages_written(self) -> set[str]:
        """The stages that have written bindings, as ZooKeeper shows them to the executor that takes the switch over."""
        bound = [self.written[identity] for identity in self.plan.identities if identity in self.written]
        return {binding.stage for binding in bound if binding.switch == self.switch}

    def _write_bindings(self, bound: Bound) -> int:
        cluster, state = bound
        wanted = Binding(cluster, state, switch=self.switch, stage=self.stage)
        for identity in self.plan.identities:
            held = self.written.get(identity)
            refuse_wrong_turn(held, identity, wanted, Journal(self.switch, self.stage, 0))
            if (
                held is not None
                and held.switch == self.switch
                and held.cluster != cluster == self.plan.source
            ):
                raise Broken(f"The switch goes back behind its forward, in {self.stage}.")
        self.written |= dict.fromkeys(self.plan.identities, wanted)
        if bound[0] == self.plan.target:
            self._check_forward()
        self.epoch += 1
        self.table |= {str(identity): bound for identity in self.plan.identities}
        self.changes.append((self.now, self.epoch, dict(self.table)))
        return self.epoch

    def _write_group_offsets(self, offsets: Mapping[Partition, Committed]) -> None:
        self._reach(self.plan.target)
        if self.group.on(self.plan.target):
            raise WorldError("Group billing has members on west: its offsets cannot be written.")
        self._read_back = False
        kept = {p: committed for p, committed in offsets.items() if p != self.forgets}
        self.group.committed[self.plan.target] |= {p: committed.offset for p, committed in kept.items()}
        beside = self.group.metadata.setdefault(self.plan.target, {})
        beside |= {p: committed.metadata for p, committed in kept.items()}

    # -- what always holds ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Never may both clusters accept the writes of one scope, never may a mirror copy a record round."""
        if not self.tampered and (repeated := self.repeated()):
            raise Broken(f"Records {repeated} are in one partition twice.")
        tables = [gateway.table for gateway in self.gateways.values() if not gateway.excluded]
        for instance in {identity.instance_id for identity in self.plan.identities}:
            found = [self._resolve(table, instance) for table in tables]
            accepting = {cluster for cluster, state in found if state is not BindingState.BLOCK}
            if len(accepting) > 1:
                raise Broken(f"{instance or 'The AppID'} may write to {sorted(accepting)} at once.")

    def _check_forward(self) -> None:
        """Before the clients are sent over: blocked, drained, nothing missing, every group at the same record."""
        source, target = self.plan.source, self.plan.target
        if all(self._resolve(self.table, i.instance_id)[0] == target for i in self.plan.identities):
            return  # it has been sent over by an earlier attempt
        for identity in self.plan.identities:
            for gateway in self.gateways.values():
                bound = self._resolve(gateway.table, identity.instance_id)
                if not gateway.excluded and bound != (source, BindingState.BLOCK):
                    raise Broken(f"{gateway.id} still lets {identity} through to {bound}.")
        if self.drained is None:
            raise Broken("The drained point was not recorded.")
        if self.plan.groups and not self._read_back:
            raise Broken("The group offsets were not read back.")
        split = self.plan.kind is Kind.READ_SPLIT
        if self.placement is None or not (split or self.writable(target)):
            raise Broken("The target is not ready for the clients.")
        for partition, log in self.logs[source].items():
            lost = (set(log.records) & self.acknowledged) - set(self.logs[target][partition].records)
            if lost and not (split or self.tampered):
                raise Broken(f"{partition} lacks {len(lost)} acknowledged records on {target}.")
        for partition in self.group.partitions if self.plan.groups else ():
            if partition not in self.group.committed[source] and not self.group.on(source):
                continue  # nobody reads it: its next reader begins where it says
            there, here = (
                self._following(c, partition, self._stands(c, partition)) for c in (target, source)
            )
            if there != here and not self.tampered:
                raise Broken(f"The group would go on at {there} instead of {here} on {partition}.")

    def _stands(self, cluster: str, partition: Partition) -> int:
        """Where the group goes on: at its commit, or where the member began that has committed nothing."""
        committed = self.group.committed[cluster].get(partition)
        if committed is not None:
            return committed
        began = [o for (_, at, p), o in self.group.fetched.items() if (at, p) == (cluster, partition)]
        return min(began, default=self.logs[cluster][partition].end)

    def _following(self, cluster: str, partition: Partition, offset: int) -> int | None:
        """The record at an offset, also one that the mirror has not brought yet."""
        log = self.logs[cluster][partition]
        if offset < log.end or cluster != self.mirror.target:
            return log.at(offset)
        origin = self.logs[self.mirror.source][partition]
        return origin.at(self.mirror.position[partition] + offset - log.end)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def situation(self) -> dict[str, Any]:
        """What a return must restore: what rules the clients, and where."""
        names = [None, *self.clients]
        return {
            "bindings": {name: self._resolve(self.table, name) for name in names},
            "in effect": {
                g.id: {n: self._resolve(g.table, n) for n in names} for g in self.gateways.values()
            },
            "writable": {cluster: self.writable(cluster) for cluster in self.logs},
            "mirrors": [(m.name, m.source, m.target, dict(m.syncs), m.turning) for m in self.mirrors],
            "source offsets": set(self.group.committed[self.plan.source]),
        }

    def kept(self) -> dict[str, Any]:
        """What a stage leaves behind, whatever it took to get there."""
        return self.situation() | {
            "target offsets": dict(self.group.committed[self.plan.target]),
            "members": {
                m.client.id: (m.cluster, _QUIESCED.get(m.state, m.state)) for m in self.group.members
            },
            "facts": (self.drained, self.seen, self.reading, self.placement),
        }

    def repeated(self) -> list[int]:
        """Records that are in a partition twice."""
        return [record for logs in self.logs.values() for log in logs.values() for record in log.repeated]

    def unconsumed(self) -> set[int]:
        """Acknowledged records of the group's partitions that it has not consumed."""
        written = {
            record
            for logs in self.logs.values()
            for partition in self.group.partitions
            for record in logs[partition].records
        }
        return (written & self.acknowledged) - self.group.consumed


#: Something that happens to the world.
Happening = Callable[[World], None]
