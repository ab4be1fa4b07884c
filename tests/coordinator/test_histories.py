"""Random histories of a pool of consumers, in memory: whatever dies, hangs or is late, no partition is read by two
members at once, and in the end each is read by the member that it is assigned to.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from hadash.coordinator.decisions import Report, Step, View, Waiting, next_step
from hadash.coordinator.documents import NOBODY, AssignmentDocument, StateDocument
from hadash.coordinator.holding import Hold
from hadash.coordinator.states import State
from hadash.coordinator.strategies import STRATEGIES

CONSUMER = {"bootstrap.servers": "kafka:9092", "group.id": "audit"}


#: What happens, and how often beside the others: what goes wrong is repaired again, or nothing would ever move.
HAPPENINGS = {
    "reads": 20, "applies": 20, "decides": 20, "dies": 3, "is started": 8, "is lost": 1, "is found": 8,
    "is isolated": 1, "is taken back": 6, "answers no more": 1, "answers": 8, "sees no ZooKeeper": 1,
    "sees ZooKeeper": 8, "ZooKeeper goes": 0.5, "ZooKeeper comes": 6, "the discovery goes": 0.5,
    "the discovery comes": 6, "grows": 1, "state lost": 0.5, "a switch holds it": 1, "the switch goes on": 4,
}  # fmt: skip


@dataclass
class Host:
    """A consumer process.

    :param is_listed: the discovery lists it. :param answers: it can be asked. :param sees_zookeeper: it reads its
        assignments; otherwise it goes on with those that it has.
    """

    name: str
    #: How often it does what it could do now.
    pace: float
    is_alive: bool = True
    is_listed: bool = True
    is_isolated: bool = False
    answers: bool = True
    sees_zookeeper: bool = True
    token: int = -1
    running: frozenset[int] = frozenset()
    #: What it has read and not put into effect yet.
    read: tuple[int, frozenset[int], str] | None = None
    #: The cluster that it reads.
    servers: str = ""

    @property
    def counts(self) -> bool:
        """Whether it must not read what another reads. (One that was isolated and still lives may.)"""
        return self.is_alive and self.is_listed and not self.is_isolated


@dataclass
class Pool:
    """ZooKeeper, the discovery and the hosts."""

    chance: random.Random
    hosts: dict[str, Host]
    document: AssignmentDocument
    standing: StateDocument = field(default_factory=StateDocument)
    token: int = 1
    zookeeper: bool = True
    discovery: bool = True
    #: The version of the list of members, and what each has said last.
    membership: int = 0
    reports: dict[str, Report] = field(default_factory=dict)
    #: What a switch does with the Topic.
    hold: Hold | None = None

    def view(self) -> View:
        listed = {host.name for host in self.hosts.values() if host.is_listed and not host.is_isolated}
        self.reports |= {
            host.name: Report(host.token, host.running)
            for host in self.hosts.values()
            if host.is_alive and host.answers
        }
        members = frozenset(listed) if self.discovery else None
        return View(
            self.document,
            self.token,
            self.standing,
            members,
            dict(self.reports),
            self.membership,
            hold=self.hold,
        )

    def write(self, seen: View, step: Step) -> None:
        """One transaction, which is refused if somebody has written, or a member came, since the view was taken; or if
        the hold that was seen has changed. (One that was not seen may be new.)
        """
        now = (self.token, self.standing, self.membership)
        if seen.hold not in (None, self.hold):
            return
        if self.zookeeper and (seen.token, seen.standing, seen.membership) == now:
            self.standing = step.standing
            if step.releases:
                self.hold = None
            if step.standing.state is State.STABLE:
                started = seen.standing.to_start.items()
                assert all(own <= seen.reports[member].running for member, own in started)
            if step.document is not None:
                self.document, self.token = step.document, self.token + 1

    def read(self, host: Host) -> None:
        """A host reads its assignments."""
        if host.is_alive and host.sees_zookeeper and self.zookeeper:
            own = frozenset() if host.is_isolated else self.document.of(host.name)
            host.read = self.token, own, str(self.document.consumer["bootstrap.servers"])

    def apply(self, host: Host) -> None:
        """A host stops what is not its own, and then starts what is; meanwhile the assignments may have changed."""
        if host.is_alive and host.read is not None:
            host.token, own, servers = host.read
            # (What has read another cluster stops first, and commits there.)
            host.running = host.running & own if host.servers == servers else frozenset()
            self.check()
            host.running, host.read, host.servers = own, None, servers
            self.check()

    def follow(self, host: Host) -> None:
        self.read(host)
        self.apply(host)

    def happen(self) -> None:
        """Let something happen."""
        host = self.chance.choice(list(self.hosts.values()))
        [what] = self.chance.choices([*HAPPENINGS], [*HAPPENINGS.values()])
        self.befall(what, host)
        self.check()

    def befall(self, what: str, host: Host) -> None:
        match what:
            case "reads" if self.chance.random() < host.pace:
                self.read(host)
            case "applies" if self.chance.random() < host.pace:
                self.apply(host)
            case "decides":
                self.decide()
            case "dies":
                self.kill(host)
            case "is started" if not host.is_alive:
                host.is_alive, host.answers, host.sees_zookeeper = True, True, True
            case "is lost":
                host.is_listed = False
            case "is found" if host.is_alive and host.sees_zookeeper and self.zookeeper:
                self.follow(host)  # it registers when it has put its assignments into effect
                host.is_listed = True
                self.membership += 1
            case "is isolated":
                host.is_isolated = True
            case "is taken back" if host.is_isolated and host.sees_zookeeper and self.zookeeper:
                self.follow(host)  # only one that reads nothing is taken back
                host.is_isolated = False
                self.membership += 1
            case "answers no more":
                host.answers = False
            case "answers":
                host.answers = True
            case "sees no ZooKeeper":
                host.sees_zookeeper = False
            case "sees ZooKeeper":
                host.sees_zookeeper = True
            case "ZooKeeper goes" | "ZooKeeper comes":
                self.zookeeper = what == "ZooKeeper comes"
            case "the discovery goes" | "the discovery comes":
                self.discovery = what == "the discovery comes"
            case "grows" if self.zookeeper and len(self.document.members) < 12:
                grown = {**self.document.members, len(self.document.members): NOBODY}
                self.document, self.token = replace(self.document, members=grown), self.token + 1
            case "state lost":
                self.standing = StateDocument()
            case "a switch holds it" if self.zookeeper and self.hold is None:
                self.hold = Hold("k7")
            case "the switch goes on" if self.zookeeper and self.hold is not None:
                self.hold = Hold("k7", {"bootstrap.servers": self.chance.choice(["kafka:9092", "west:9092"])})
        self.check()

    def decide(self) -> None:
        """A coordinator looks, and writes a little later: meanwhile hosts follow, die, and another decides."""
        strategy = STRATEGIES[self.chance.choice(["range", "roundrobin", "sticky", "weighted"])](
            {0: 5.0, 1: 2.0}
        )
        seen = self.view()
        if not self.zookeeper:
            return
        step = next_step(seen, strategy)
        for host in self.chance.sample(list(self.hosts.values()), 2):
            what = self.chance.choice(
                ["reads", "applies", "dies", "is lost", "is found", "is taken back", "", "", ""]
            )
            self.befall(what, host)
        if isinstance(step, Step):
            self.write(seen, step)

    def kill(self, host: Host) -> None:
        host.is_alive, host.running, host.token, host.read = False, frozenset(), -1, None

    def check(self) -> None:
        readers: dict[int, list[str]] = {}
        for host in self.hosts.values():
            for partition in host.running if host.counts else ():
                readers.setdefault(partition, []).append(host.name)
        twice = {partition: who for partition, who in readers.items() if len(who) > 1}
        assert not twice, f"read twice: {twice}"
        clusters = {host.servers for host in self.hosts.values() if host.counts and host.running}
        assert len(clusters) < 2, f"one Topic is read from {clusters}"
        if self.is_closed_for_switch:
            assert not readers, f"read although all had said that they stopped: {readers}"

    @property
    def is_closed_for_switch(self) -> bool:
        """Whether a switch may translate offsets now."""
        held = self.hold is not None and self.hold.consumer is None
        closed = self.standing.state is State.CLOSING and not self.standing.to_close
        return held and closed and not any(self.document.members.values())

    def heal(self) -> None:
        self.zookeeper = self.discovery = True
        if self.hold is not None:
            self.hold = Hold("k7", {"bootstrap.servers": "west:9092"})
        for host in self.hosts.values():
            host.is_alive = host.answers = host.sees_zookeeper = True
            self.follow(host)
            host.is_listed, host.is_isolated = True, False

    def settle(self) -> None:
        """Let time pass with nothing in the way, until nothing is to be done."""
        strategy = STRATEGIES["sticky"]({})
        for _ in range(30):
            for host in self.hosts.values():
                self.follow(host)
            seen = self.view()
            step = next_step(seen, strategy)
            if isinstance(step, Waiting) and not step.why:
                return
            if isinstance(step, Step):
                self.write(seen, step)
            self.check()
        raise AssertionError(f"not Stable: {self.standing}, {step}")


@pytest.mark.parametrize("seed", range(100))
def test_a_history(seed: int) -> None:
    chance = random.Random(seed)
    names = ("a", "b", "c", "d")[: chance.randint(2, 4)]
    hosts = {name: Host(name, chance.choice([0.05, 0.3, 1.0])) for name in names}
    pool = Pool(chance, hosts, AssignmentDocument(CONSUMER, dict.fromkeys(range(6), NOBODY)))
    for _ in range(400):
        pool.happen()
    pool.heal()
    pool.settle()
    assert pool.standing.state is State.STABLE
    assert {p: [h.name for h in hosts.values() if p in h.running] for p in pool.document.members} == {
        partition: [who] for partition, who in pool.document.members.items()
    }
