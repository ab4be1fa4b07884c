"""A pair of clusters with Gateways, clients and a mirror, that answers the commands of a stage on a virtual clock.

It stands for the servers, not for our own modules: bindings have epochs that Gateways apply a little later, group
members commit and park, the mirror copies record by record, producers and consumers never stop. Every record is a
number that is unique, so that a lost or repeated one is noticed. After each command the world checks what must always
hold, and raises :class:`Broken` when it does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hadash.bindings.model import Binding, BindingState
from hadash.identity.identity import Identity
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.radius.scope import Scope, ScopeKind
from hadash.sentences import NOTHING, Sentence
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import (
    AuditFound,
    QuotaCheck,
    QuotasFound,
)
from hadash.switching.stages.command import Command

from . import answering, invariants
from .parts import QUIESCED, Bound, Client, Gateway, Group, Log, Member, Mirror, Pools

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
        #: The consumer pools of the plan.
        self.pools = Pools(plan.pools, plan.source)
        #: What auditors say of the mirrors.
        self.audits: list[AuditFound] = []
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
        self.stage_began = self.now
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
        self.read_back = False

        for partition in PARTITIONS:
            for _ in range(20):
                self.write("east", partition)
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
        self.stage, self.stage_began = stage, self.now

    def later(self, seconds: float) -> None:
        """Let time pass without a command."""
        for _ in range(round(seconds / 0.05)):
            self._pass(0.05)
            invariants.check(self)

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
        return self.resolve(client.gateway.table, client.id)

    def resolve(self, table: dict[str, Bound], instance: str | None) -> Bound:
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
                        self.write(cluster, partition)
                        if self.plan.covers("shop", client.id):
                            self.activity[cluster, "produce", partition.topic] = self.now

    def write(self, cluster: str, partition: Partition) -> None:
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
        cluster, state = self.resolve(self.table, "web-1")
        if state is not BindingState.BLOCK and self.writable(cluster) and cluster not in self.down:
            for partition in self.idle:
                self.write(cluster, partition)

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
        answer: R = self.answer(command)
        invariants.check(self)
        return answer

    def answer(self, command: Command[Any]) -> Any:
        """The answer, without the time that it takes (tests replace it to let a server misbehave)."""
        return answering.answer(self, command)

    def check_forward(self) -> None:
        """Check what has to hold before clients are sent over (a lost source has its own: ``test_forcing.py``)."""
        invariants.check_forward(self)

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

    def copy_facts(self) -> None:
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

    # -- comparing -----------------------------------------------------------------------------------------------------

    def situation(self) -> dict[str, Any]:
        """What a return must restore: what rules the clients, and where."""
        names = [None, *self.clients]
        return {
            "bindings": {name: self.resolve(self.table, name) for name in names},
            "in effect": {g.id: {n: self.resolve(g.table, n) for n in names} for g in self.gateways.values()},
            "writable": {cluster: self.writable(cluster) for cluster in self.logs},
            "mirrors": [(m.name, m.source, m.target, dict(m.syncs), m.turning) for m in self.mirrors],
            "source offsets": set(self.group.committed[self.plan.source]),
        }

    def kept(self) -> dict[str, Any]:
        """What a stage leaves behind, whatever it took to get there."""
        return self.situation() | {
            "target offsets": dict(self.group.committed[self.plan.target]),
            "members": {m.client.id: (m.cluster, QUIESCED.get(m.state, m.state)) for m in self.group.members},
            "facts": (self.drained, self.seen, self.reading, self.placement),
        }

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
