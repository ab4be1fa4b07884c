"""What the simulated world is made of: partitions, Gateways, clients, groups and mirrors, each with few
honest rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hadash.bindings.epochs import Report
from hadash.bindings.model import BindingState, GatewayMember
from hadash.kafka.values import Partition, Record
from hadash.mirroring.offsets import OffsetSync, resume_after
from hadash.sentences import NOTHING, Sentence
from hadash.switching.plan import PoolTopic
from hadash.switching.stages.answers import PoolFound

#: In a log: an offset without a record.
MARKER = -1

#: A cluster and the state of a binding to it.
Bound = tuple[str, BindingState]


class Broken(AssertionError):
    """Something that must never happen has happened."""


class WorldError(Exception):
    """What a command meets when a server is down, refuses, or its answer is lost."""


#: Waiting at the Gateway or at the coordinator: either way the member has committed and works no more.
QUIESCED = {"parked": "quiesced", "joining": "quiesced"}


@dataclass
class Log:
    """One partition on one cluster. A record is a number that is unique in the world; at ``MARKER`` an offset
    holds none.
    """

    start: int = 0
    records: list[int] = field(default_factory=list)
    #: Records that were written once more.
    repeated: list[int] = field(default_factory=list)
    _known: set[int] = field(default_factory=set)

    @property
    def end(self) -> int:
        return self.start + len(self.records)

    def at(self, offset: int) -> int | None:
        """The record at ``offset``; ``None`` at the end."""
        return self.records[offset - self.start] if offset < self.end else None

    def append(self, record: int) -> None:
        if record in self._known:
            self.repeated.append(record)
        self._known.add(record)
        self.records.append(record)

    def expire(self, count: int) -> None:
        """Retention takes the first ``count`` records."""
        del self.records[:count]
        self.start += count

    def next(self, first: int, end: int, count: int) -> list[Record]:
        """The records from ``first`` on."""
        return [r for r in self.tail(min(first + count, end), count) if r.offset >= first]

    def tail(self, end: int, count: int) -> list[Record]:
        first = max(self.start, end - count)
        held = ((o, self.records[o - self.start]) for o in range(first, end))
        return [Record(o, f"sum-{record}") for o, record in held if record != MARKER]


Logs = Mapping[str, Mapping[Partition, Log]]


@dataclass
class Gateway:
    """Puts each change of bindings into effect a little later, unless it is stuck."""

    id: str
    table: dict[str, Bound]
    applies_after: float = 0.02
    live: bool = True
    excluded: bool = False
    stuck: bool = False
    applied: int = 0
    changed_at: float = -1000.0

    def apply(self, now: float, changes: Sequence[tuple[float, int, dict[str, Bound]]]) -> None:
        if self.stuck or not changes or changes[-1][1] == self.applied:
            return
        due = [c for c in changes if c[1] > self.applied and now >= c[0] + self.applies_after]
        if due:
            _, self.applied, self.table = due[-1]
            self.changed_at = now

    @property
    def member(self) -> GatewayMember:
        address = f"{self.id}.example:9092"
        return GatewayMember(
            self.id,
            address,
            f"http://{address}",
            "1",
            1,
            0.0,
            self.live,
            Report(self.applied),
            self.excluded,
        )


@dataclass
class Client:
    """One client instance, signed in to ``cluster`` through ``gateway``.

    ``reacts_after`` is how long it takes to notice what its Gateway does; ``follows`` whether it ever moves.
    """

    id: str
    gateway: Gateway
    cluster: str
    produces: bool = False
    follows: bool = True
    gone: bool = False
    reacts_after: float = 0.05

    def follow(self, now: float, bound: Bound) -> None:
        cluster, state = bound
        sent_over = cluster != self.cluster and state is BindingState.FORWARD
        if sent_over and self.follows and self.notices(now):
            self.cluster = cluster

    def notices(self, now: float) -> bool:
        return now - self.gateway.changed_at >= self.reacts_after


@dataclass
class Member:
    """A client in a consumer group. A deaf one goes on as if nothing had happened; of a new one whose join is parked
    the coordinator has not heard."""

    id: str
    client: Client
    cluster: str
    state: str = "active"
    deaf: bool = False
    new: bool = False


@dataclass
class Group:
    """A consumer group: its members own partitions, commit when they are told to rejoin, and start from commits."""

    name: str
    partitions: tuple[Partition, ...]
    committed: dict[str, dict[Partition, int]]
    members: list[Member] = field(default_factory=list)
    owner: dict[Partition, Member] = field(default_factory=dict)
    position: dict[Partition, int] = field(default_factory=dict)
    consumed: set[int] = field(default_factory=set)
    #: Its members are there and read nothing.
    stuck: bool = False
    #: Records that were read again, where that is allowed: after a switch without the source.
    reread: list[int] | None = None
    #: Its members commit nothing of a partition that they have read nothing of, as librdkafka's do.
    lazy: bool = False
    #: The text beside each commit.
    metadata: dict[str, dict[Partition, str]] = field(default_factory=dict)
    #: What each coordinator has given its members last: the client of each partition.
    assigned: dict[str, dict[Partition, str]] = field(default_factory=dict)
    #: The lowest offset that a client has asked for on a cluster, as the Gateways saw it.
    fetched: dict[tuple[str, str, Partition], int] = field(default_factory=dict)

    def on(self, cluster: str) -> list[Member]:
        """The members that the cluster's coordinator knows."""
        here = [m for m in self.members if m.cluster == cluster and not m.client.gone]
        return [m for m in here if not (m.new and m.state == "parked")]

    def act(self, now: float, bound: Callable[[Client], Bound], logs: Logs) -> None:
        """What members do about their Gateway's answers, and the coordinators about the members."""
        for member in self.members:
            if member.client.cluster != member.cluster:
                self._give_up(member)
                member.cluster, member.state = member.client.cluster, "joining"
                member.id += "'"
            elif not member.deaf and bound(member.client)[0] == member.cluster:
                self._answer(member, bound(member.client)[1], member.client.notices(now))
        for cluster in logs:
            self._complete(cluster, bound, logs)

    def _answer(self, member: Member, state: BindingState, notices: bool) -> None:
        working = member.state in ("active", "held")
        match state:
            case BindingState.HOLD_HEARTBEATS if member.state == "active" and notices:
                member.state = "held"
            case BindingState.QUIESCE if working and notices:
                self.commit(member)
                self._give_up(member)
                member.state = "parked"
            case BindingState.BLOCK if working and notices:
                self._give_up(member)  # its commit is parked and will never be
                member.state = "parked"
            case BindingState.HOLD_HEARTBEATS | BindingState.FORWARD if member.state == "parked":
                member.state = "joining"
            case BindingState.FORWARD if member.state == "held":
                member.state = "active"

    def commit(self, member: Member) -> None:
        for partition, owner in self.owner.items():
            began = self.fetched.get((member.client.id, member.cluster, partition))
            if owner is member and not (self.lazy and self.position[partition] == began):
                self.committed[member.cluster][partition] = self.position[partition]
                self.metadata.setdefault(member.cluster, {})[partition] = f"by {member.client.id}"

    def _give_up(self, member: Member) -> None:
        self.owner = {p: owner for p, owner in self.owner.items() if owner is not member}

    def _complete(self, cluster: str, bound: Callable[[Client], Bound], logs: Logs) -> None:
        """A rebalance is complete when every member has joined; members at work hear of it by a heartbeat."""
        here = self.on(cluster)
        if not any(m.state == "joining" for m in here):
            return
        for member in here:
            hears = member.state == "active" and not member.deaf
            if member.state != "joining" and not (hears and bound(member.client)[1] is BindingState.FORWARD):
                return
        for member in here:
            self.commit(member)
            member.state, member.new = "active", False
        self.assign(cluster, logs)

    def assign(self, cluster: str, logs: Logs) -> None:
        """Share the partitions out, the newest member first; each goes on from what is committed, else from the end."""
        here = self.on(cluster)[::-1]
        for index, partition in enumerate(self.partitions):
            self.owner[partition] = here[index % len(here)]
            end = logs[cluster][partition].end
            self.position[partition] = position = self.committed[cluster].get(partition, end)
            client = self.owner[partition].client.id
            self.assigned.setdefault(cluster, {})[partition] = client
            lowest = self.fetched.setdefault((client, cluster, partition), position)
            self.fetched[client, cluster, partition] = min(lowest, position)

    def consume(self, bound: Callable[[Client], Bound], logs: Logs, down: set[str]) -> None:
        if self.stuck:
            return
        for partition, owner in self.owner.items():
            cluster, state = bound(owner.client)
            if owner.client.gone or owner.cluster in down or owner.state not in ("active", "held"):
                continue
            if cluster != owner.cluster or state is BindingState.BLOCK:
                continue
            log = logs[owner.cluster][partition]
            if not log.start <= self.position[partition] <= log.end:
                self.position[partition] = log.end  # out of range: auto.offset.reset=latest
            while (record := log.at(self.position[partition])) is not None:
                if record in self.consumed and self.reread is not None:
                    self.reread.append(record)
                elif record in self.consumed:
                    raise Broken(f"Group {self.name} has consumed record {record} twice.")
                self.consumed.add(record)
                self.position[partition] += 1


@dataclass
class Mirror:
    """Copies records in order, at most ``rate`` a second. Of a silent one nobody knows how far it is.

    ``source``, ``target``, ``syncs`` and ``turning`` are the row in PostgreSQL; all else is the connector's.
    """

    name: str
    source: str
    target: str
    topics: frozenset[str]
    syncs: dict[Partition, OffsetSync]
    position: dict[Partition, int]
    state: str = "running"
    fault: Sentence = NOTHING
    rate: float = 10_000.0
    starts_at: float | None = None
    never_turns: bool = False
    silent: bool = False
    turning: bool = False
    #: Between which clusters the connector copies.
    reads: str = ""
    writes: str = ""
    _budget: float = 0.0

    def __post_init__(self) -> None:
        self.reads, self.writes = self.source, self.target

    def copy(self, now: float, seconds: float, logs: Logs, down: set[str]) -> None:
        if self.state == "unknown" and self.starts_at is not None and now >= self.starts_at:
            self.state, self.starts_at = "running", None
        if self.state != "running" or down & {self.reads, self.writes}:
            return
        self._budget += self.rate * seconds
        for partition, position in self.position.items():
            log = logs[self.reads][partition]
            position = max(position, log.start)
            while self._budget >= 1 and (record := log.at(position)) is not None:
                logs[self.writes][partition].append(record)
                position += 1
                self._budget -= 1
            self.position[partition] = position
        if self._budget >= 1:
            self._budget = 0.0  # what was not needed is not saved up

    def turn(self, now: float, ends: Mapping[Partition, OffsetSync]) -> None:
        """The opposite connector goes on after the last record that both sides hold. One that runs already is
        left alone, and none is set back.
        """
        after = {p: offset + 1 for p, offset in resume_after(ends).items()}
        turned = self.reads == self.target
        if not turned or self.state != "running":
            self.position = {p: max(at, self.position[p]) if turned else at for p, at in after.items()}
            self.state, self.starts_at = "unknown", None if self.never_turns else now + 0.2
        self.reads, self.writes = self.target, self.source
        self.source, self.target, self.turning = self.target, self.source, False
        self.syncs = {p: OffsetSync(point.target, point.source) for p, point in ends.items()}


class Pools:
    """The consumer pools of a plan, and their coordinator: each look finds them a step further.

    :param cluster: where they read.
    """

    def __init__(self, topics: Sequence[PoolTopic], cluster: str) -> None:
        self.topics = topics
        self.cluster = cluster
        #: "stable", "closing", "closed" or "starting".
        self.state = "stable"
        self.fault = NOTHING
        self.refusal: Sentence | None = None
        #: The members do not do what they are told.
        self.hang = False

    def read(self) -> list[PoolFound]:
        if not self.hang:
            self.state = {"closing": "closed", "starting": "stable"}.get(self.state, self.state)
        return [
            PoolFound(
                each.pool,
                each.topic,
                self.cluster,
                self.state == "stable",
                self.state == "closed",
                self.fault,
            )
            for each in self.topics
        ]

    def close(self) -> Sentence | None:
        if self.refusal is None and self.state == "stable":
            self.state = "closing"
        return self.refusal

    def open(self, cluster: str) -> None:
        if self.state in ("closing", "closed"):
            self.state, self.cluster = "starting", cluster
