"""Clients that keep running while a test does something to them."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from support.kafka import Clusters
from support.waiting import eventually


class Writer:
    """Writes 0, 1, 2, … to a Topic's partitions in turn, and notes what was acknowledged and what failed."""

    #: Records that may wait for their acknowledgement: a bounded backlog makes for a bounded test.
    BACKLOG = 200

    def __init__(self, config: dict[str, Any], topic: str, partitions: int = 2) -> None:
        self.topic = topic
        #: Whether this producer is promised that what it has to send again does not overtake, or is overtaken.
        #: Without idempotence it is not, even with one request under way: librdkafka counts them by connection
        #: (librdkafka#1969), so when a leader moves, the next records may reach the new one before the old one has
        #: refused the records before them (librdkafka#1092 names it; seen once, on a machine with a load of 22).
        self.keeps_order = bool(config.get("enable.idempotence"))
        self.acknowledged: list[int] = []
        self.errors: list[KafkaError] = []
        self._partitions = partitions
        self._next = 0
        self._stop = threading.Event()
        #: What librdkafka reports besides: a connection that ends is no error, all else would be one.
        self.reported: list[KafkaError | SystemError] = []
        self._producer = Producer({"linger.ms": 1, "error_cb": self._report, **config})
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        self.wait_for_more(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                if self._next - len(self.acknowledged) - len(self.errors) < self.BACKLOG:
                    self._producer.produce(
                        self.topic,
                        b"%d" % self._next,
                        partition=self._next % self._partitions,
                        on_delivery=self._delivered,
                    )
                    self._next += 1
                self._producer.poll(0.002)
        except (KafkaException, SystemError) as raised:
            # A fatal error: this producer will never write again. (The client raises it inside of callbacks.)
            cause = raised if isinstance(raised, KafkaException) else raised.__cause__
            self.reported.append(cause.args[0] if isinstance(cause, KafkaException) else raised)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acknowledged.append(int(message.value() or b"-1"))

    def _report(self, error: KafkaError) -> None:
        if error.fatal() or error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
            self.reported.append(error)

    def wait_for_more(self, count: int) -> None:
        """Return when ``count`` more records were acknowledged."""
        goal = len(self.acknowledged) + count
        eventually(
            lambda: len(self.acknowledged) >= goal or self.errors or self.reported,
            f"{count} more acknowledgements",
            patience=40,
        )
        assert self.errors == [], self.errors
        assert self.reported == [], self.reported

    def stop(self) -> None:
        """Write no more, and wait for what is on its way."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        if not self.reported:
            self._producer.flush(40)


class Reader:
    """A member of a group that notes what it got."""

    def __init__(self, config: dict[str, Any], topic: str, group: str) -> None:
        self.values: list[int] = []
        self.errors: list[KafkaError] = []
        self.assigned = 0
        #: How often it has joined its group.
        self.joined = 0
        self._stop = threading.Event()
        self._consumer = Consumer(
            {
                "group.id": group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 300,
                "session.timeout.ms": 10_000,
                "auto.commit.interval.ms": 500,
                **config,
            }
        )
        self._consumer.subscribe([topic], on_assign=self._assign, on_revoke=self._revoke)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _assign(self, _: Consumer, partitions: list[Any]) -> None:
        self.assigned = len(partitions)
        self.joined += 1

    def _revoke(self, _: Consumer, partitions: list[Any]) -> None:
        self.assigned = 0

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                self.errors.append(error)
            else:
                self.values.append(int(message.value() or b"-1"))


def assert_exactly_once(clusters: Clusters, writer: Writer) -> dict[str, int]:
    """Every acknowledged record stands exactly once in the two clusters together, and no other does; in order, if Kafka
    promises that to ``writer`` at all.

    How many each cluster holds is returned.
    """
    assert writer.errors == []
    assert writer.reported == []
    found: Counter[int] = Counter()
    held = {}
    for cluster in clusters.described:
        by_partition: dict[int, list[int]] = {}
        records = clusters.records(cluster, writer.topic)
        held[cluster] = len(records)
        for record in records:
            number = int(record.value() or b"-1")
            found[number] += 1
            by_partition.setdefault(record.partition() or 0, []).append(number)
        if writer.keeps_order:
            for partition, numbers in by_partition.items():
                assert numbers == sorted(numbers), f"out of order on {cluster}, partition {partition}"
    wanted = set(writer.acknowledged)
    assert len(wanted) == len(writer.acknowledged), "a record was acknowledged twice"
    assert sorted(wanted - found.keys()) == [], "acknowledged, but in no cluster"
    assert sorted(n for n, times in found.items() if times > 1) == [], "written twice"
    assert sorted(found.keys() - wanted) == [], "written, but never acknowledged"
    return held
