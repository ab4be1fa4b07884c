"""One cell of the table: what dies, how, and in which state of the assignment. Needs Django to be set up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from django.db import InterfaceError, OperationalError, connection
from django.db.models import QuerySet, Sum

from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.auditors.pool import pool_of
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.states import State
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash_sandbox.auditor_faults.both_sides import PARTITIONS, BothSides, Planted
from hadash_sandbox.auditor_faults.whats import AUDITOR, COORDINATOR, POSTGRESQL, SOURCE, TARGET, ZOOKEEPER
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.pool import MOST_COORDINATORS, PoolProcesses
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Service
from hadash_sandbox.stack import Stack
from hadash_sandbox.striking import strike
from hadash_sandbox.waiting import came_about, wait_until
from hadash_sandbox.zookeeper import ZooKeeper

AUDITORS = 2
#: Seconds for a pool to become Stable, and for all records to be compared.
LIMIT_SECONDS = 120.0
#: Seconds for a Topic to be created.
TOPIC_SECONDS = 30.0
#: What a look raises while what was struck is away.
AWAY = (StoreUnavailable, OperationalError, InterfaceError)

SLOW_AUDITOR = "hadash_sandbox.auditor_faults.slow_auditor"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a cell.

    :param state: of the assignment when it was struck.
    :param again_s: seconds from the fault until the assignment was Stable and all was compared that had been written
        when what had been struck was there again.
    :param written: records of the source. :param left: records that were not compared. :param twice: records that
        were counted as equal more than once. :param planted: differences; ``missed`` of them were not found.
    :param invented: differences that were found and not planted.
    """

    what: str
    how: str
    state: str
    again_s: float
    written: int
    left: int
    twice: int
    planted: int
    missed: int
    invented: int


class Cell:
    """Runs one cell with a mirrored Topic and auditors of its own."""

    def __init__(
        self,
        folder: Path,
        stack: Stack,
        zookeeper: ZooKeeper,
        pair: Pair,
        environment: Mapping[str, str],
        number: int,
    ) -> None:
        self._topic = f"audited-{number}"
        self._pair, self._number = pair, number
        sides = [stack.kafka[each.name] for each in (pair.first, pair.second)]
        self._source, self._target = (each.client_config() for each in sides)
        for config in (self._source, self._target):
            admin = AdminClient({**config})  # in a variable: the client has to outlive its futures
            admin.create_topics([NewTopic(self._topic, PARTITIONS, 1)])[self._topic].result(TOPIC_SECONDS)
        self._client = zookeeper.connect()
        self.pool = PoolProcesses(folder / f"pool-{number}", environment, self._client, pool_of(pair.name))
        self._servers: dict[str, Service] = {
            ZOOKEEPER: zookeeper,
            POSTGRESQL: stack.postgres,
            SOURCE: sides[0],
            TARGET: sides[1],
        }

    def run(self, what: str, how: str, state: State) -> Row:
        """Bring the assignment into a state, let something happen to something, and wait until all is well."""
        self.pool.store.create()
        for number in range(MOST_COORDINATORS):
            self.pool.coordinate(number)
        self._wait(lambda: self.pool.leader() is not None, "a coordinator")
        for _ in range(AUDITORS):
            self._audit()
        self._wait(lambda: all(map(self.pool.is_listed, self.pool.members)), "auditors")
        mirror = self._mirror()
        both = BothSides(self._source, self._target, self._topic)
        try:
            both.plant()
            self._bring_to(state)
            struck = self._struck(what)
            found_in = self.pool.assigned(self._topic).standing.state
            began = time.monotonic()
            strike(struck, how)
            marks = both.ends
            both.plant()
            self._wait(lambda: self.pool.is_stable(self._topic) and self._left(marks) == 0, "all as before")
            again = time.monotonic() - began
            self._wait(lambda: not both.is_planting, "all differences to be planted")
        except BaseException:
            with suppress(SandboxError):  # (what has happened before it says more)
                both.stop()
            raise
        both.stop()
        came_about(_connecting(lambda: self._is_done(both)), LIMIT_SECONDS, away=AWAY)
        found = self._found()
        counted = self._rows().aggregate(counted=Sum("equal", default=0))["counted"]
        row = Row(
            what,
            how,
            found_in,
            round(again, 1),
            sum(source for source, _ in both.ends.values()),
            self._left(both.ends),
            counted - both.equal,
            len(both.planted),
            len(both.planted - found),
            len(found - both.planted),
        )
        mirror.delete()
        return row

    def _mirror(self) -> Mirror:
        """Let hadash know of a mirror of the Topic, of which both sides begin at the same offsets."""
        mirror = Mirror.objects.create(
            pair=self._pair, name=self._topic, topics=[self._topic], source=self._pair.first
        )
        for partition in range(PARTITIONS):
            MirrorOffsetSync.objects.create(
                mirror=mirror, topic=self._topic, partition=partition, source_offset=0, target_offset=0
            )
        return mirror

    def _audit(self) -> None:
        # (A name of its own in each cell: nobody has to wait until a session has ended that had it.)
        self.pool.join(f"auditor-{self._number}-{len(self.pool.members)}", SLOW_AUDITOR)

    def _bring_to(self, state: State) -> None:
        self._wait(lambda: self._topic in self.pool.store.topics(), "the Topic in the pool")
        if state in (State.STABLE, State.CLOSING):
            self._wait(lambda: self.pool.is_stable(self._topic), "Stable")
            self._wait(lambda: self._rows().filter(equal__gt=0).count() == PARTITIONS, "that it is compared")
        if state is State.CLOSING:
            self._audit()
        if state is not State.INITIAL:  # (that lasts for a tenth of a second: the row says what it was)
            self._wait(lambda: self.pool.assigned(self._topic).standing.state is state, state)

    def _struck(self, what: str) -> Process | Service:
        if what in self._servers:
            return self._servers[what]
        if what == COORDINATOR:
            if (process := self.pool.leader()) is None:
                raise SandboxError("No coordinator decides.")
            return process
        if what != AUDITOR:
            raise ValueError(what)
        standing = self.pool.assigned(self._topic).standing
        return self.pool.members[next(iter(standing.to_close or standing.to_start or self.pool.members))]

    def _rows(self) -> QuerySet[AuditedPartition]:
        return AuditedPartition.objects.filter(topic=self._topic)

    def _left(self, ends: Mapping[int, tuple[int, int]]) -> int:
        """Records of both sides before these offsets that were not compared."""
        known = {
            each.partition: (each.source_next, each.target_next) for each in self._rows().filter(begun=True)
        }
        return sum(
            max(0, end - next_)
            for number, both in ends.items()
            for end, next_ in zip(both, known.get(number, (0, 0)), strict=True)
        )

    def _found(self) -> set[Planted]:
        of_topic = AuditDifference.objects.filter(audited__topic=self._topic)
        return set(of_topic.values_list("kind", "audited__partition", "source_offset", "target_offset"))

    def _is_done(self, both: BothSides) -> bool:
        return self._left(both.ends) == 0 and both.planted <= self._found()

    def _wait(self, look: Callable[[], bool], what: str) -> None:
        wait_until(_connecting(look), what, LIMIT_SECONDS, away=AWAY)

    def end(self) -> None:
        self.pool.stop()
        self._client.stop()
        self._client.close()


def _connecting(look: Callable[[], bool]) -> Callable[[], bool]:
    """``look``, but what it raises while PostgreSQL is away closes the connection: the next look connects again."""

    def again() -> bool:
        try:
            return look()
        except (OperationalError, InterfaceError):
            connection.close()
            raise

    return again
