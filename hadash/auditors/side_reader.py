"""Reads the partitions of one cluster that an auditor has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from hadash.auditing.prints import Print, print_of
from hadash.auditors.settings import AuditorSettings
from hadash.kafka.tail import RECEIVE_BYTES
from hadash.kafka.values import Partition

#: Records that are taken from the client's queue at once.
RECORDS_AT_ONCE = 2_000


@dataclass(slots=True)
class Batch:
    """Records of one partition, one after the other. ``size``: bytes of keys, values and headers."""

    size: int = 0
    offsets: list[int] = field(default_factory=list)
    prints: list[Print] = field(default_factory=list)


@dataclass(slots=True)
class Taken:
    """What was taken at once.

    :param size: bytes of keys, values and headers. :param ends: partitions that have nothing more at the moment, with
        their next offsets. :param gone: partitions that cannot be read on, with the reason; an empty one: their next
        records are not there any more.
    """

    batches: dict[Partition, Batch] = field(default_factory=dict)
    size: int = 0
    ends: dict[Partition, int] = field(default_factory=dict)
    gone: dict[Partition, str] = field(default_factory=dict)
    error: str = ""


class SideReader:
    """Reads one cluster. Not thread-safe.

    :param config: librdkafka's settings to connect to it.
    """

    def __init__(self, config: Mapping[str, Any], settings: AuditorSettings) -> None:
        self._consumer = Consumer(
            {
                **config,
                "log_level": 0,
                "group.id": "hadash-auditor",  # (nothing is committed, and no group is joined)
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                # As MirrorMaker reads, which also copies records of aborted transactions.
                "isolation.level": "read_uncommitted",
                "receive.message.max.bytes": RECEIVE_BYTES,
                "queued.max.messages.kbytes": settings.queued_kib,
                "max.partition.fetch.bytes": settings.fetch_kib * 1024,
                "fetch.wait.max.ms": 100,
                "fetch.queue.backoff.ms": 5,
            }
        )
        self._read: set[Partition] = set()
        self._paused: set[Partition] = set()

    def begin(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions, too. :raises KafkaException: the client refuses."""
        self._consumer.incremental_assign(
            [TopicPartition(p.topic, p.partition, offset) for p, offset in offsets.items()]
        )
        self._read |= offsets.keys()

    def end(self, partitions: Iterable[Partition]) -> None:
        """Do not read these partitions any more."""
        known = self._read.intersection(partitions)
        if waiting := known & self._paused:
            # (The client would remember that it is paused, also when it is assigned again.)
            self._consumer.resume([TopicPartition(p.topic, p.partition) for p in waiting])
        if known:
            self._consumer.incremental_unassign([TopicPartition(p.topic, p.partition) for p in known])
        self._read -= known
        self._paused -= known

    def is_waiting(self, partition: Partition) -> bool:
        """Whether a partition waits until more of it is wanted."""
        return partition in self._paused

    def read_only(self, wanted: set[Partition]) -> None:
        """Go on with the wanted ones of the partitions that it reads; let the others wait."""
        to_pause = (self._read - wanted) - self._paused
        to_resume = self._paused & wanted
        if to_pause:
            self._consumer.pause([TopicPartition(p.topic, p.partition) for p in to_pause])
        if to_resume:
            self._consumer.resume([TopicPartition(p.topic, p.partition) for p in to_resume])
        self._paused = (self._paused | to_pause) - to_resume

    def take(self, seconds: float) -> Taken:
        """Take what has been fetched; wait for something at most so long."""
        taken = Taken()
        # (Its types allow for messages without a place, which are errors.)
        messages: list[Any] = self._consumer.consume(RECORDS_AT_ONCE, seconds)
        batch, last = Batch(), None
        for message in messages:
            if (fault := message.error()) is not None:
                _note(taken, message, fault)
                continue
            place = message.topic(), message.partition()
            if place != last:
                last = place
                batch = taken.batches.setdefault(Partition(*place), Batch())
            key, value, headers = message.key(), message.value(), message.headers()
            batch.offsets.append(message.offset())
            batch.prints.append(print_of(key, value, headers, message.timestamp()[1]))
            batch.size += len(key or b"") + len(value or b"")
            if headers:
                batch.size += sum(len(name) + len(each or b"") for name, each in headers)
        taken.size = sum(batch.size for batch in taken.batches.values())
        return taken

    def close(self) -> None:
        self._consumer.close()


def _note(taken: Taken, message: Any, fault: KafkaError) -> None:
    """Note what the client tells in place of a record."""
    code = fault.code()
    if code == KafkaError._PARTITION_EOF:
        taken.ends[Partition(message.topic(), message.partition())] = message.offset()
    elif code == KafkaError._AUTO_OFFSET_RESET:
        taken.gone[Partition(message.topic(), message.partition())] = ""
    elif message.topic() is not None and message.partition() is not None and message.partition() >= 0:
        # Such as a Topic that was deleted on this side: the others are read all the same.
        taken.gone[Partition(message.topic(), message.partition())] = fault.str()
    elif not fault.retriable():
        taken.error = fault.str()
