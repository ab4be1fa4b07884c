"""Writes both sides of a mirrored Topic, as a mirror would, and plants differences of which the place is known."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

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
class _Partition:
    """What has been written to a partition: the next offsets of both sides, and how many records of them are equal."""

    source: int = 0
    target: int = 0
    equal: int = 0


class BothSides:
    """Writes to every partition of both sides at a steady rate until it is stopped.

    :param source: librdkafka's settings of the source. :param topic: is empty on both sides.
    """

    def __init__(self, source: Mapping[str, Any], target: Mapping[str, Any], topic: str) -> None:
        # (A broker that dies between writing and answering must not have it written twice.)
        config = {"enable.idempotence": True, "linger.ms": 5}
        self._source, self._target = Producer({**source, **config}), Producer({**target, **config})
        self._topic = topic
        self._lock = threading.Lock()
        self._partitions = [_Partition() for _ in range(PARTITIONS)]
        self._to_plant: list[deque[Kind]] = [deque() for _ in range(PARTITIONS)]
        #: Equal records that are still to be written before the next difference may follow.
        self._quiet = [APART] * PARTITIONS
        self._wrong: list[str] = []
        self._stop = threading.Event()
        self.planted: set[Planted] = set()
        self._thread = threading.Thread(target=self._run, name="both sides", daemon=True)
        self._thread.start()

    def plant(self) -> None:
        """Have a difference of each kind written to each partition, soon, and apart from each other."""
        with self._lock:
            for waiting in self._to_plant:
                waiting.extend(KINDS)

    @property
    def is_planting(self) -> bool:
        """Whether a difference has still to be written, or what has to follow it."""
        with self._lock:
            return any(map(len, self._to_plant)) or any(self._quiet)

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
        left = self._source.flush(FLUSH_SECONDS) + self._target.flush(FLUSH_SECONDS)
        if left or self._wrong:
            raise SandboxError(
                f"The sides do not hold what was meant; {left} records are left. {self._wrong[:3]}"
            )

    def _run(self) -> None:
        while not self._stop.wait(1 / RATE):
            with self._lock:
                for number in range(PARTITIONS):
                    self._write(number)
            for producer in (self._source, self._target):
                producer.poll(0)

    def _write(self, number: int) -> None:
        place = self._partitions[number]
        kind = None
        if self._quiet[number]:
            self._quiet[number] -= 1
        elif self._to_plant[number]:
            kind = self._to_plant[number].popleft()
            self._quiet[number] = APART
            self.planted.add((kind.value, number, place.source, place.target))
        at, name = int(time.time() * 1000), f"{place.source}/{place.target}"
        if kind is not Kind.EXTRA:
            self._produce(self._source, number, place.source, name, "its header", at)
            place.source += 1
        if kind is not Kind.MISSING:
            value = f"{name} altered" if kind is Kind.DIFFERENT else name
            header = "another header" if kind is Kind.HEADERS else "its header"
            self._produce(
                self._target, number, place.target, value, header, at + 7 if kind is Kind.TIME else at
            )
            place.target += 1
        place.equal += kind is None

    def _produce(
        self, producer: Producer, number: int, offset: int, value: str, header: str, at: int
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None or message.offset() != offset:
                self._wrong.append(f"{number} at {offset}: {error or message.offset()}")

        producer.produce(
            self._topic, value.encode(), b"key", partition=number, headers=[("h", header.encode())],
            timestamp=at, on_delivery=delivered,
        )  # fmt: skip
