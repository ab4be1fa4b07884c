"""Writes both sides of a mirrored Topic, as a mirror would, and plants differences of which the place is known."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from hadash.auditing.findings import Kind
from hadash_sandbox.errors import SandboxError

PARTITIONS = 4
#: Records a second that are written to each partition, of each side.
RATE = 20
#: Equal records between two planted differences of a partition: so many show what a difference was.
APART = 12
#: What is planted.
KINDS = (Kind.DIFFERENT, Kind.HEADERS, Kind.TIME, Kind.MISSING, Kind.EXTRA)
#: Seconds for the clusters to take what is still to be written at the end.
FLUSH_SECONDS = 60.0

#: Kind, partition, offset on the source, and on the target.
Planted = tuple[str, int, int, int]


@dataclass(slots=True)
class _Record:
    """A record of a partition, in the order of both sides. :param is_copied: whether the source has it, so that the
    target may have it, too.
    """

    kind: Kind | None
    value: str
    at: int
    target: int
    is_copied: bool
    header: str = "its header"


@dataclass(slots=True)
class _Partition:
    """What has been written to a partition: the next offsets of both sides, how many records of them are equal, and
    what the target waits for.
    """

    source: int = 0
    target: int = 0
    equal: int = 0
    waiting: deque[_Record] = field(default_factory=deque)
    to_plant: deque[Kind] = field(default_factory=deque)
    #: Equal records that are still to be written before the next difference may follow.
    quiet: int = APART


class BothSides:
    """Writes to every partition of both sides at a steady rate until it is stopped: to the target what the source has
    acknowledged, as a mirror does.

    :param source: librdkafka's settings of the source. :param topic: is empty on both sides.
    """

    def __init__(self, source: Mapping[str, Any], target: Mapping[str, Any], topic: str) -> None:
        config = {
            "linger.ms": 5,
            # A broker that dies between writing and answering must not have it written twice.
            "enable.idempotence": True,
            "reconnect.backoff.max.ms": 500,
            # The only broker of a cluster says after its start for a while that its Topics do not exist.
            "topic.metadata.propagation.max.ms": 600_000,
        }
        self._source, self._target = Producer({**source, **config}), Producer({**target, **config})
        self._topic = topic
        self._lock = threading.RLock()
        self._partitions = [_Partition() for _ in range(PARTITIONS)]
        self._wrong: list[str] = []
        self._stop = threading.Event()
        self.planted: set[Planted] = set()
        self._thread = threading.Thread(target=self._run, name="both sides", daemon=True)
        self._thread.start()

    def plant(self) -> None:
        """Have a difference of each kind written to each partition, soon, and apart from each other."""
        with self._lock:
            for each in self._partitions:
                each.to_plant.extend(KINDS)

    @property
    def is_planting(self) -> bool:
        """Whether a difference has still to be written, or what has to follow it.

        :raises SandboxError: it cannot be.
        """
        with self._lock:
            self._check()
            return any(each.to_plant or each.quiet for each in self._partitions)

    @property
    def ends(self) -> dict[int, tuple[int, int]]:
        """Partition → the next offsets of source and target, counting what the clusters have still to take."""
        with self._lock:
            return {number: (each.source, each.target) for number, each in enumerate(self._partitions)}

    @property
    def equal(self) -> int:
        """Records that both sides hold, and that are the same."""
        with self._lock:
            return sum(each.equal for each in self._partitions)

    def stop(self) -> None:
        """Stop, and wait until the clusters have all of it.

        :raises SandboxError: they have not, or not at the offsets that were meant.
        """
        self._stop.set()
        self._thread.join()
        left = self._source.flush(FLUSH_SECONDS)
        left += self._target.flush(FLUSH_SECONDS)
        left += sum(len(each.waiting) for each in self._partitions)
        self._check()
        if left:
            raise SandboxError(f"The clusters have not taken all records; {left} are left.")

    def _check(self) -> None:
        if self._wrong:
            raise SandboxError(f"The sides do not hold what was meant: {self._wrong[:3]}")

    def _run(self) -> None:
        while not self._stop.wait(1 / RATE):
            try:
                with self._lock:
                    for number, each in enumerate(self._partitions):
                        self._write(number, each)
                for producer in (self._source, self._target):
                    producer.poll(0)
            except (KafkaException, BufferError) as error:
                self._wrong.append(str(error))
                return

    def _write(self, number: int, place: _Partition) -> None:
        kind = None
        if place.quiet:
            place.quiet -= 1
        elif place.to_plant:
            kind = place.to_plant.popleft()
            place.quiet = APART
            self.planted.add((kind.value, number, place.source, place.target))
        value = f"{place.source}/{place.target}"
        record = _Record(kind, value, int(time.time() * 1000), place.target, is_copied=kind is Kind.EXTRA)
        place.waiting.append(record)
        if kind is not Kind.EXTRA:
            self._produce(self._source, number, place.source, record, lambda: self._copy(number, record))
            place.source += 1
        if kind is not Kind.MISSING:
            place.target += 1
        place.equal += kind is None

    def _copy(self, number: int, copied: _Record) -> None:
        """Write to the target what the source has, in its order."""
        with self._lock:
            copied.is_copied = True
            waiting = self._partitions[number].waiting
            while waiting and waiting[0].is_copied:
                record = waiting.popleft()
                if record.kind is not Kind.MISSING:
                    self._produce(self._target, number, record.target, _altered(record), lambda: None)

    def _produce(
        self, producer: Producer, number: int, offset: int, record: _Record, then: Callable[[], None]
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None or message.offset() != offset:
                self._wrong.append(f"{number} at {offset}: {error or message.offset()}")
            else:
                then()

        producer.produce(
            self._topic, record.value.encode(), b"key", partition=number,
            headers=[("h", record.header.encode())], timestamp=record.at, on_delivery=delivered,
        )  # fmt: skip


def _altered(record: _Record) -> _Record:
    """A record as the target has it."""
    match record.kind:
        case Kind.DIFFERENT:
            return replace(record, value=f"{record.value} altered")
        case Kind.HEADERS:
            return replace(record, header="another header")
        case Kind.TIME:
            return replace(record, at=record.at + 7)
        case _:
            return record
