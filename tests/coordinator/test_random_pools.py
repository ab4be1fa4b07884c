"""Random histories of a pool on a real ZooKeeper of its own: members join, leave, die, hang, lose their sessions and
are isolated; coordinators die; partitions are added; ZooKeeper and the discovery go away. No partition is read by two
members at once (except by one that was isolated, or that ZooKeeper has lost, and that still lives), and in the end
each is read by the member that it is assigned to.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from support.gateway import free_ports
from support.waiting import eventually
from support.zookeeper import expire_session

from hadash.bindings import client as client_module
from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.discovery.ephemeral import EphemeralDiscovery
from hadash.coordinator.discovery.listing import DiscoveryUnavailable
from hadash.coordinator.pool import PoolSettings
from hadash.coordinator.pool_view import PoolError
from hadash.coordinator.strategies import STRATEGIES
from hadash_sandbox.java import find_java
from hadash_sandbox.zookeeper import ZooKeeper

from .pools import POOL, RunningMember, World

#: Seconds of a session: so long a member that has died is still listed.
SESSION_SECONDS = 2.0

#: What happens, and how often beside the others.
HAPPENINGS = {
    "joins": 8, "leaves": 3, "dies": 3, "loses its session": 2, "hangs": 2, "goes on": 6,
    "hangs while another joins": 5,    "sees no ZooKeeper": 3, "sees ZooKeeper": 8, "is isolated": 1,
    "is taken back": 3, "coordinator dies": 1, "coordinator comes": 3, "grows": 1, "ZooKeeper pauses": 1,
    "ZooKeeper is killed": 0.5, "the discovery goes": 1, "the discovery comes": 4, "another strategy": 1,
    "all are stopped": 0.5, "all go on": 3, "the state is lost": 2,
    "a switch holds it": 1, "the switch goes on": 3,
}  # fmt: skip
NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    folder: Path = tmp_path_factory.mktemp("zookeeper")
    port = free_ports(1)
    made = ZooKeeper(folder, port, find_java(), "a password")
    made.start(print)
    yield made
    made.stop()


class Unreliable:
    """A discovery over ZooKeeper that can go away."""

    def __init__(self, inner: EphemeralDiscovery, history: History) -> None:
        self._inner, self._history = inner, history

    def members(self) -> Mapping[str, str]:
        if not self._history.discovery:
            raise DiscoveryUnavailable("away")
        return self._inner.members()


class History:
    """A world to which things happen."""

    def __init__(self, seed: int, server: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance = random.Random(seed)
        self.server = server
        self.discovery = True
        self.said: list[str] = []
        self.opened: list[KazooClient] = []
        chroot = f"/history-{seed}-{time.monotonic_ns()}"
        monkeypatch.setattr(client_module, "SESSION_TIMEOUT_SECONDS", SESSION_SECONDS)
        monkeypatch.setattr(client_module, "ANSWER_SECONDS", 1.0)

        def connect(*, bounded: bool = True) -> KazooClient:
            opened = client_module.connect(server.address, chroot, bounded=bounded, access=server.access)
            self.opened.append(opened)
            return opened

        self.world = World(connect, partitions=self.chance.randint(1, 12))
        self.partitions = len(self.world.view().topics[World.TOPIC].document.members)
        self.begin_coordinator()

    def begin_coordinator(self) -> None:
        running = self.world.coordinate(
            f"coordinator {len(self.said)}", partitions_seconds=0.2, return_seconds=5.0
        )
        make = running.coordinator._make_discovery
        running.coordinator._make_discovery = lambda pool, on_change: Unreliable(make(pool, on_change), self)
        running.partitions[World.TOPIC] = self.partitions

    def happen(self) -> None:
        [what] = self.chance.choices([*HAPPENINGS], [*HAPPENINGS.values()])
        name = self.chance.choice(NAMES)
        self.said.append(f"{what} ({name})")
        try:
            self.befall(what, name, self.world.members.get(name))
        except (StoreUnavailable, PoolError):
            self.said.append("  (ZooKeeper did not answer)")
        time.sleep(
            self.chance.choice([0.0, 0.02, 0.1, 0.4])
        )  # what happens next may happen in the middle of it

    def befall(self, what: str, name: str, member: RunningMember | None) -> None:
        board, store = self.world.board, self.world.store
        match what:
            case "joins" if member is None and len(self.world.members) < 5:
                self.world.join(name, delay=self.delay)
            case "leaves" if member is not None:
                self.let_go(member)
                self.world.leave(name)
            case "dies" if member is not None:
                member.die(board)
                del self.world.members[name]
            case "loses its session" if member is not None:
                expire_session(member.client, self.server.address)
            case "hangs" if member is not None:
                for reader in member.readers.values():
                    reader.is_held = True
            case "hangs while another joins" if member is not None:
                # (Partitions are to move, and this one does not stop them.)
                for reader in member.readers.values():
                    reader.is_held = True
                for other in NAMES:
                    if other not in self.world.members:
                        self.world.join(other, delay=self.delay)
                        break
            case "goes on" if member is not None:
                self.let_go(member)
            case "sees no ZooKeeper" | "sees ZooKeeper" if member is not None:
                member.looks = what == "sees ZooKeeper"
            case "is isolated":
                store.isolate(name, "olga", "a test")
            case "is taken back":
                store.take_back(name)
            case "coordinator dies" if self.world.coordinators:
                victim = self.world.coordinators.pop(0)
                victim.die()
            case "coordinator comes" if len(self.world.coordinators) < 3:
                self.begin_coordinator()
            case "grows":
                self.partitions += self.chance.randint(1, 3)
                for running in self.world.coordinators:
                    running.partitions[World.TOPIC] = self.partitions
            case "ZooKeeper pauses":
                self.server.process.pause()
                time.sleep(self.chance.choice([0.2, 1.0, 1.5 * SESSION_SECONDS]))
                self.server.process.resume()
            case "ZooKeeper is killed":
                self.server.process.kill()
                self.server.process.start()
                self.server.process.wait_ready()
            case "the state is lost":
                with reaching():
                    self.opened[0].set(layout.assignment_state(POOL, World.TOPIC), b"")
            case "the discovery goes" | "the discovery comes":
                self.discovery = what == "the discovery comes"
            case "another strategy":
                chosen = PoolSettings(self.chance.choice([*STRATEGIES]))
                store.change_settings(lambda now: chosen)
            case "a switch holds it":
                store.hold(World.TOPIC, "k7")
            case "the switch goes on":
                store.open(
                    World.TOPIC, "k7", {"bootstrap.servers": self.chance.choice(["kafka:9092", "west:9092"])}
                )
            case "all are stopped" | "all go on":
                stopped = what == "all are stopped"
                store.change_settings(lambda now: PoolSettings(now.strategy, is_stopped=stopped))

    def delay(self) -> float:
        """How long a reader takes to stop and start."""
        return self.chance.choice([0.0, 0.02, 0.1, 0.3])

    @staticmethod
    def let_go(member: RunningMember) -> None:
        member.looks = True
        for reader in list(member.readers.values()):
            reader.release()

    def heal(self) -> None:
        self.discovery = True
        store = self.world.store
        eventually(lambda: self.manages(lambda: store.change_settings(lambda _: PoolSettings())))
        west = {"bootstrap.servers": "west:9092"}
        eventually(lambda: self.manages(lambda: store.open(World.TOPIC, "k7", west)))
        for member in self.world.members.values():
            self.let_go(member)
        if not self.world.coordinators:
            self.begin_coordinator()
        for name in NAMES:
            if name not in self.world.members and (not self.world.members or self.chance.random() < 0.3):
                self.world.join(name, delay=self.delay)
        for name in list(store.read().isolated):
            if name in self.world.members:
                eventually(lambda name=name: self.manages(lambda: store.take_back(name)))

    def end(self) -> None:
        self.world.end()
        for client in self.opened:
            client.stop()
            client.close()

    @staticmethod
    def manages(action: Callable[[], object]) -> bool:
        try:
            action()
        except StoreUnavailable:
            return False
        except PoolError:
            return True
        return True

    def settled(self) -> bool:
        members = {name for name in self.world.members if name not in self.world.view().isolated}
        shares = self.world.shares()
        return (
            bool(shares)
            and shares.keys() <= members
            and sum(shares.values()) == self.partitions
            and self.world.is_as_assigned()
        )


def live(seed: int, server: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(seed, server, monkeypatch)
    try:
        history.world.join("a", "b", delay=history.delay)
        for _ in range(25):
            history.happen()
            assert history.world.board.twice == [], history.said
        history.heal()
        eventually(history.settled, f"Stable after {history.said}")
        assert history.world.board.twice == [], history.said
    finally:
        history.end()


@pytest.mark.stack
@pytest.mark.parametrize("seed", range(4))
def test_a_history(seed: int, server: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    live(seed, server, monkeypatch)


@pytest.mark.stack
@pytest.mark.long
@pytest.mark.parametrize("seed", range(4, 100))
def test_another_history(seed: int, server: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    live(seed, server, monkeypatch)
