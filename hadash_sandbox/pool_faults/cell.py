"""One cell of the table: what dies, how, and in which state of the assignment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.states import State
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.kafka import KafkaCluster
from hadash_sandbox.pool import PoolProcesses
from hadash_sandbox.pool_faults.noting_member import NOTES
from hadash_sandbox.striking import strike
from hadash_sandbox.waiting import came_about, wait_until
from hadash_sandbox.zookeeper import ZooKeeper

COORDINATOR, MEMBER, ZOOKEEPER = "coordinator", "member", "ZooKeeper"
WHATS = (COORDINATOR, MEMBER, ZOOKEEPER)
STATES = tuple(State)

PARTITIONS, MEMBERS = 8, 3
#: Records a second that are written to each partition.
RATE = 20
#: Seconds for a pool to become Stable, and for all records to be handled.
LIMIT_SECONDS = 90.0
#: Seconds of writing before and after all that happens.
BESIDE_SECONDS = 1.0
#: What a look raises while what was struck is away.
AWAY = (StoreUnavailable,)

NOTING = "hadash_sandbox.pool_faults.noting_member"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a cell.

    :param stable_s: seconds from the fault to Stable. :param lost: records that nobody has handled.
    :param doubled: records that were handled more than once; ``by_others`` of them by a member that had not died or
        been paused, and not after one that had.
    """

    what: str
    how: str
    state: str
    stable_s: float
    written: int
    lost: int
    doubled: int
    by_others: int


class Writer:
    """Writes to every partition at a steady rate until it is stopped; knows what Kafka has acknowledged."""

    def __init__(self, config: Mapping[str, Any], topic: str) -> None:
        self._producer = Producer({**config, "acks": "all", "linger.ms": 5})
        self._topic = topic
        self._stop = threading.Event()
        self.acknowledged: set[tuple[int, int]] = set()
        self.failed = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1 / RATE):
            for partition in range(PARTITIONS):
                self._producer.produce(
                    self._topic, b"record", partition=partition, on_delivery=self._delivered
                )
            self._producer.poll(0)

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.failed += 1
        else:
            self.acknowledged.add((message.partition(), message.offset()))  # type: ignore[attr-defined]

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        if self._producer.flush(30) or self.failed:
            raise SandboxError("Kafka has not taken all records.")


class Cell:
    """Runs one cell with a Topic and a pool of its own."""

    def __init__(self, folder: Path, zookeeper: ZooKeeper, kafka: KafkaCluster, number: int) -> None:
        self._zookeeper = zookeeper
        self._config = kafka.client_config()
        self._topic = f"records-{number}"
        self._notes = folder / f"notes-{number}"
        self._notes.touch()
        admin = AdminClient({**self._config})
        admin.create_topics([NewTopic(self._topic, PARTITIONS, 1)])[self._topic].result(30)
        self._client = zookeeper.connect()
        environment = {**zookeeper.environment(), NOTES: str(self._notes)}
        self.pool = PoolProcesses(folder / f"pool-{number}", environment, self._client, f"pool-{number}")
        #: Members that may have handled what others handle, too: they died, were paused, or ZooKeeper was away.
        self._excused: set[str] = set()

    def run(self, what: str, how: str, state: State) -> Row:
        """Bring the assignment into a state, let something happen to something, and wait until all is well."""
        self.pool.store.create()
        for number in range(2):
            self.pool.coordinate(number)
        for number in range(MEMBERS):
            self.pool.join(f"member-{number}", NOTING)
        writer = Writer(self._config, self._topic)
        try:
            self._wait(lambda: all(map(self.pool.is_listed, self.pool.members)), "members")
            self._wait(lambda: self.pool.leader() is not None, "a coordinator")
            consumer: dict[str, Any] = {
                **self._config,
                "group.id": self.pool.name,
                "auto.offset.reset": "earliest",
            }
            self.pool.store.register(self._topic, consumer, range(PARTITIONS))
            if state in (State.STABLE, State.CLOSING):
                self._wait(lambda: self.pool.is_stable(self._topic), "Stable")
                time.sleep(BESIDE_SECONDS)
            if state is State.CLOSING:
                self.pool.join(f"member-{MEMBERS}", NOTING)
            if state is not State.INITIAL:
                self._wait(lambda: self._state() is state, state)
            began = time.monotonic()
            self._befall(what, how)
            self._wait(lambda: self.pool.is_stable(self._topic), "Stable again")
            stable = time.monotonic() - began
            time.sleep(BESIDE_SECONDS)
        finally:
            writer.stop()
        came_about(lambda: not writer.acknowledged - self._handled().keys(), LIMIT_SECONDS)
        handled = self._handled()
        doubled = {place: who for place, who in handled.items() if len(who) > 1}
        return Row(
            what,
            how,
            state,
            round(stable, 1),
            len(writer.acknowledged),
            len(writer.acknowledged - handled.keys()),
            len(doubled),
            sum(not self._excused.intersection(who) for who in doubled.values()),
        )

    def _state(self) -> State:
        return self.pool.assigned(self._topic).standing.state

    def _befall(self, what: str, how: str) -> None:
        if what == ZOOKEEPER:
            strike(self._zookeeper, how)
            return
        if what == COORDINATOR:
            process = self.pool.leader()
            if process is None:
                raise SandboxError("No coordinator decides.")
            strike(process, how)
            return
        standing = self.pool.assigned(self._topic).standing
        name = next(iter(standing.to_close or standing.to_start or self.pool.members))
        self._excused.add(name)
        strike(self.pool.members[name], how)

    def _handled(self) -> dict[tuple[int, int], list[str]]:
        """Partition and offset → the members that have handled the record, once for each time."""
        found: dict[tuple[int, int], list[str]] = {}
        for line in self._notes.read_text().splitlines():
            partition, offset, member = line.split()
            found.setdefault((int(partition), int(offset)), []).append(member)
        return found

    def _wait(self, look: Callable[[], bool], what: str) -> None:
        wait_until(look, what, LIMIT_SECONDS, away=AWAY)

    def end(self) -> None:
        self.pool.stop()
        self._client.stop()
        self._client.close()
