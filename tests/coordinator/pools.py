"""A pool on a real ZooKeeper: coordinators and members in threads of this process, and in place of readers of Kafka
ones that only say what they read.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kazoo.client import KazooClient
from support.waiting import SLOWER, eventually

from hadash.bindings import layout
from hadash.bindings.client import LOST_REPLY
from hadash.coordinator.discovery.ephemeral import EphemeralDiscovery
from hadash.coordinator.documents import AssignmentDocument
from hadash.coordinator.member.process import PoolMember
from hadash.coordinator.member.topic_reader import Reading
from hadash.coordinator.pool_view import PoolView
from hadash.coordinator.process import Coordinator
from hadash.coordinator.process_settings import CoordinatorSettings, MemberSettings
from hadash.coordinator.states import State
from hadash.coordinator.store import PoolStore

POOL, TOKEN = "audit", "a token of sixteen characters and more"
CONSUMER = {"bootstrap.servers": "kafka:9092", "group.id": "audit"}


@dataclass
class Board:
    """Who reads what at this moment, by Topic and partition.

    :param is_listed: whether a member is listed now, and not isolated: others may read what one reads that is not.
    :param twice: what two members that are listed have read at once.
    """

    is_listed: Callable[[str], bool]
    readers: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    twice: list[tuple[str, int, set[str]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, member: str, topic: str, partition: int) -> None:
        with self.lock:
            now = self.readers.setdefault((topic, partition), set())
            now.add(member)
            others = now - {member}
        for other in others:
            if not (self.is_listed(member) and self.is_listed(other)):
                continue
            with self.lock:
                # (One that was not listed when this one began stops before it is listed again.)
                if {member, other} <= self.readers[topic, partition]:
                    self.twice.append((topic, partition, {member, other}))

    def stop(self, member: str, topic: str, partition: int) -> None:
        with self.lock:
            self.readers[topic, partition].discard(member)

    def clear(self, member: str) -> None:
        """It reads nothing any more: its process is dead."""
        with self.lock:
            for readers in self.readers.values():
                readers.discard(member)

    def of(self, topic: str) -> dict[int, set[str]]:
        with self.lock:
            return {partition: set(who) for (name, partition), who in self.readers.items() if name == topic}


class SaidReader:
    """A reader that reads nothing, and says that it does. It can be held up: it then neither stops nor starts.

    :param delay: returns the seconds after which a new assignment is put into effect; meanwhile the old one is.
    """

    def __init__(
        self, board: Board, member: str, topic: str, delay: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._board, self._member, self._topic, self._delay = board, member, topic, delay
        self._lock = threading.Lock()
        self._token, self._running = -1, frozenset[int]()
        self._wanted: tuple[int, frozenset[int]] = (-1, frozenset())
        #: How many assignments it was given, and which of them is in effect.
        self._number = self._applied = 0
        self.is_held = False
        self._is_closed = False

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        with self._lock:
            if self._wanted == (token, partitions):
                return
            self._wanted = token, partitions
            self._number += 1
            number, seconds = self._number, self._delay()
            if not seconds:
                self._apply_if_free(number, token, partitions)
                return
        # (It takes what was wanted at the time of the call, as a reader that has begun to stop and start does.)
        threading.Timer(seconds, self._later, (number, token, partitions)).start()

    def _later(self, number: int, token: int, partitions: frozenset[int]) -> None:
        with self._lock:
            self._apply_if_free(number, token, partitions)

    def _apply_if_free(self, number: int, token: int, partitions: frozenset[int]) -> None:
        if not self.is_held and not self._is_closed and number > self._applied:
            self._apply(number, token, partitions)

    def release(self) -> None:
        with self._lock:
            if self.is_held:
                self.is_held = False
                if self._applied < self._number:
                    self._apply(self._number, *self._wanted)

    def _apply(self, number: int, token: int, wanted: frozenset[int]) -> None:
        for partition in self._running - wanted:
            self._board.stop(self._member, self._topic, partition)
        for partition in wanted - self._running:
            self._board.start(self._member, self._topic, partition)
        self._applied, self._token, self._running = number, token, wanted

    def reading(self) -> Reading:
        with self._lock:
            return Reading(self._token, dict.fromkeys(self._running, 0), dict.fromkeys(self._running, 1.0))

    def stop(self) -> None:
        with self._lock:
            self._apply(self._number, self._token, frozenset())
            self._is_closed = True

    def is_closed(self, seconds: float = 0.0) -> bool:
        return self._is_closed


class RunningMember:
    """A member in a thread."""

    def __init__(
        self,
        client: KazooClient,
        board: Board,
        name: str,
        delay: Callable[[], float] = lambda: 0.0,
        **settings: Any,
    ) -> None:
        self.name = name
        self.client = client
        self.readers: dict[str, SaidReader] = {}
        #: Whether it looks at ZooKeeper.
        self.looks = True

        def make_reader(topic: str, consumer: Mapping[str, Any]) -> SaidReader:
            self.readers[topic] = SaidReader(board, name, topic, delay)
            return self.readers[topic]

        of = MemberSettings(pool=POOL, name=name, http_port=0, check_seconds=1.0, **settings)
        self.member = PoolMember(client, of, TOKEN, make_reader)
        look = self.member.look
        self.member.look = lambda: look() if self.looks else 0.02  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self.member.run, name=name, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self.member.stop()
        self._thread.join(30 * SLOWER)
        assert not self._thread.is_alive()

    def die(self, board: Board) -> None:
        """As by SIGKILL: nothing is read, said or given back from now on; ZooKeeper notices when the session ends."""
        self.member.end = self.member._http.stop  # type: ignore[method-assign]
        self.member.stop()
        self._thread.join(30 * SLOWER)
        assert not self._thread.is_alive()
        for reader in self.readers.values():
            reader.is_held = True
        board.clear(self.name)
        _silence(self.client)


class RunningCoordinator:
    """A coordinator in a thread."""

    def __init__(self, client: KazooClient, name: str = "first", **settings: Any) -> None:
        quick: dict[str, float] = {
            "check_seconds": 0.5,
            "poll_seconds": 0.02,
            "settle_seconds": 0.1,
            "return_seconds": 0.1,
        }
        of = CoordinatorSettings(name=name, **{**quick, **settings})
        self.partitions: dict[str, int] = {}
        self.client = client
        self.coordinator = Coordinator(
            client,
            of,
            TOKEN,
            lambda pool, on_change: EphemeralDiscovery(client, pool, on_change),
            self._count,
        )
        self._thread = threading.Thread(target=self.coordinator.run, name=name, daemon=True)
        self._thread.start()

    def _count(self, document: AssignmentDocument, topic: str) -> int:
        return self.partitions.get(topic, 0)

    def stop(self) -> None:
        self.coordinator.stop()
        self._thread.join(30 * SLOWER)
        assert not self._thread.is_alive()

    def die(self) -> None:
        """As by SIGKILL: another one decides when the session has ended."""
        self.coordinator._candidate.resign = lambda: None  # type: ignore[method-assign]
        self.stop()
        _silence(self.client)


def _silence(client: KazooClient) -> None:
    """End a client without ending its session, which ZooKeeper keeps until it times out."""
    client._stopped.set()  # it does not connect again
    with contextlib.suppress(OSError, AttributeError):
        client._connection._socket.shutdown(socket.SHUT_RDWR)


class World:
    """A pool with its Topic ``orders``, and all that runs for it."""

    TOPIC = "orders"

    def __init__(self, connect: Callable[..., KazooClient], partitions: int = 8) -> None:
        self._connect = connect
        self._client = connect(bounded=True)
        self.board = Board(self.is_listed)
        self.store = PoolStore(self._client, POOL)
        self.store.create()
        self.store.register(self.TOPIC, CONSUMER, range(partitions))
        self.members: dict[str, RunningMember] = {}
        self.coordinators: list[RunningCoordinator] = []

    def join(self, *names: str, delay: Callable[[], float] = lambda: 0.0) -> None:
        for name in names:
            self.members[name] = RunningMember(self._connect(bounded=True), self.board, name, delay)

    def leave(self, name: str) -> None:
        self.members.pop(name).leave()

    def coordinate(self, name: str = "first", **settings: Any) -> RunningCoordinator:
        self.coordinators.append(RunningCoordinator(self._connect(bounded=True), name, **settings))
        return self.coordinators[-1]

    def is_listed(self, member: str) -> bool:
        """Whether ZooKeeper lists a member and nobody has isolated it; waits for ZooKeeper to answer."""

        def looked() -> list[bool] | None:
            try:
                is_there = self._client.exists(layout.pool_member(POOL, member)) is not None
                return [is_there and self._client.exists(layout.isolation(POOL, member)) is None]
            except LOST_REPLY:
                return None

        return eventually(looked, "an answer of ZooKeeper")[0]  # type: ignore[index]

    def view(self) -> PoolView:
        return self.store.read()

    def shares(self) -> dict[str, int]:
        """Member → how many partitions it is assigned, when the assignment is Stable; empty while it is not."""
        assigned = self.view().topics[self.TOPIC]
        if assigned.standing.state is not State.STABLE:
            return {}
        counts: dict[str, int] = {}
        for who in assigned.document.members.values():
            counts[who] = counts.get(who, 0) + 1
        return counts

    def is_as_assigned(self) -> bool:
        """Whether each partition is read by the member that it is assigned to, and by nobody else."""
        assigned = self.view().topics[self.TOPIC].document.members
        return self.board.of(self.TOPIC) == {partition: {who} for partition, who in assigned.items()}

    def end(self) -> None:
        for coordinator in self.coordinators:
            coordinator.stop()
        for member in self.members.values():
            member.leave()
