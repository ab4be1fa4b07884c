"""Reads the partitions of one Topic that a member has.

A thread of its own does all of it: it hands records over one by one, stops and starts partitions between two records,
and commits. What it reads is therefore always known.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from hadash.coordinator.consumer_config import connecting, consuming
from hadash.coordinator.process_settings import MemberSettings

log = logging.getLogger(__name__)

#: What is done with a record. An error has it handled again, after ``retry_seconds``.
Handle = Callable[[Message], object]

#: Records that are taken at once: a partition is stopped after them, at the latest.
RECORDS_AT_ONCE = 500

#: Seconds that a read waits for records: a new assignment is noticed after them, at the latest.
READ_SECONDS = 0.1

#: Seconds between two measurements of how much is read.
RATE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader does now.

    :param token: the assignment that it has put into effect.
    :param running: partition → the offset of the next record.
    :param rates: partition → bytes a second. :param lags: partition → records that it has still to read, if known.
    :param error: why something that is to be does not go on; empty when all goes on.
    """

    token: int = -1
    running: Mapping[int, int] = field(default_factory=dict)
    rates: Mapping[int, float] = field(default_factory=dict)
    lags: Mapping[int, int] = field(default_factory=dict)
    error: str = ""


class Reader(Protocol):
    """Reads the partitions of one Topic that are assigned to a member."""

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        """Let it read these partitions and no others. It does so soon: :meth:`reading` says when."""
        ...

    def reading(self) -> Reading: ...

    def stop(self) -> None:
        """Let it stop all partitions and commit, for good. :meth:`is_closed` says when it has."""
        ...

    def is_closed(self, seconds: float = 0.0) -> bool:
        """Whether it has stopped for good; waits for it at most ``seconds``."""
        ...


class TopicReader:
    """Hands the records of a Topic's partitions to a function.

    :param consumer: settings of the Kafka consumer, as the Topic's document has them. :param secrets: those that it
        must not have.
    """

    def __init__(
        self,
        topic: str,
        consumer: Mapping[str, Any],
        secrets: Mapping[str, Any],
        handle: Handle,
        settings: MemberSettings,
    ) -> None:
        self.topic = topic
        self._handle = handle
        self._settings = settings
        config = consuming(consumer, secrets)
        self._reset = str(config.get("auto.offset.reset", "latest"))
        self._consumer = Consumer({**config, "enable.auto.commit": False, "enable.auto.offset.store": False})
        self._admin = AdminClient(connecting(consumer, secrets))
        self._lock = threading.Lock()
        self._wanted: tuple[int, frozenset[int]] = (-1, frozenset())
        self._reading = Reading()
        self._stop = threading.Event()
        #: Partition → the next offset, and → what is committed. Only the thread changes them.
        self._positions: dict[int, int] = {}
        self._committed: dict[int, int] = {}
        #: Partition → when its record, whose handling failed, is handled again.
        self._again: dict[int, float] = {}
        self._bytes: dict[int, int] = {}
        self._rates: dict[int, float] = {}
        self._measured = time.monotonic()
        self._committed_at = time.monotonic()
        self._errors: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name=f"reader of {topic}", daemon=True)
        self._thread.start()

    # -- called by others ------------------------------------------------------------------------------------------

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        with self._lock:
            self._wanted = token, partitions

    def reading(self) -> Reading:
        with self._lock:
            return self._reading

    def stop(self) -> None:
        self._stop.set()

    def is_closed(self, seconds: float = 0.0) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        token = -1
        while not self._stop.is_set():
            with self._lock:
                wanted_token, wanted = self._wanted
            self._stop_reading(self._positions.keys() - wanted)
            if self._positions.keys() <= wanted:
                token = wanted_token
                self._start_reading(wanted - self._positions.keys())
            self._try_again()
            self._read()
            self._commit_now_and_then()
            self._tell(token)
        while self._positions:
            # Whatever it takes: who says that it has stopped without having committed has the next one read twice.
            self._stop_reading(self._positions.keys())
            self._tell(token)
            if self._positions:
                time.sleep(READ_SECONDS)
        self._consumer.close()

    def _stop_reading(self, partitions: Iterable[int]) -> None:
        """Stop partitions whose position can be committed; the others are kept until it can."""
        stopping = sorted(partitions)
        if stopping and self._commit(stopping):
            if paused := [TopicPartition(self.topic, each) for each in stopping if each in self._again]:
                # (The client would remember that it is paused, also when it is assigned again.)
                self._consumer.resume(paused)
            self._consumer.incremental_unassign([TopicPartition(self.topic, each) for each in stopping])
            for each in stopping:
                for values in (self._positions, self._committed, self._again, self._bytes, self._rates):
                    values.pop(each, None)

    def _start_reading(self, partitions: Iterable[int]) -> None:
        starting = sorted(partitions)
        if not starting:
            return
        try:
            offsets = self._offsets(starting)
            self._consumer.incremental_assign(
                [TopicPartition(self.topic, partition, offset) for partition, offset in offsets.items()]
            )
        except (KafkaException, TimeoutError) as error:
            self._failed("start", error)
            return
        self._errors.pop("start", None)
        self._positions |= offsets
        self._bytes |= dict.fromkeys(offsets, 0)

    def _offsets(self, partitions: list[int]) -> dict[int, int]:
        """Where to go on: at what is committed. A partition of which nothing is begins where the settings say, and that
        is committed at once: its next member must not begin somewhere else.

        :raises KafkaException, TimeoutError: the cluster does not answer.
        """
        seconds = self._settings.kafka_seconds
        found = self._consumer.committed(
            [TopicPartition(self.topic, each) for each in partitions], timeout=seconds
        )
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        known = {each.partition: each.offset for each in found if each.offset > OFFSET_INVALID}
        self._committed |= known
        new = [each for each in partitions if each not in known]
        if new and self._reset == "error":
            raise KafkaException(KafkaError(KafkaError._AUTO_OFFSET_RESET))
        if new:
            spec = OffsetSpec.earliest() if self._reset in ("earliest", "smallest") else OffsetSpec.latest()
            asked = self._admin.list_offsets(
                {TopicPartition(self.topic, each): spec for each in new}, request_timeout=seconds
            )
            # (The client itself gives up after so many seconds: its error says more than one of waiting for it.)
            begun = {each.partition: answer.result(seconds + 1).offset for each, answer in asked.items()}
            self._write_offsets(begun)
            known |= begun
        return known

    def _read(self) -> None:
        try:
            messages = self._consumer.consume(RECORDS_AT_ONCE, READ_SECONDS)
        except KafkaException as error:
            self._failed("read", error)
            return
        for message in messages:
            if (fault := message.error()) is not None:
                self._failed("read", KafkaException(fault))
                continue
            self._errors.pop("read", None)
            partition, offset = message.partition(), message.offset()
            if partition is None or offset is None or partition not in self._positions:
                continue
            if partition in self._again:
                continue  # what follows a record that has to be handled again
            try:
                self._handle(message)
            except Exception:
                self._put_back(partition, offset)
                continue
            self._positions[partition] = offset + 1
            self._bytes[partition] += len(message.key() or b"") + len(message.value() or b"")
            self._errors.pop(f"handle {partition}", None)

    def _put_back(self, partition: int, offset: int) -> None:
        """Have a record handled again later; the partition waits for it, the others do not."""
        log.exception(
            "Topic %s, partition %d: the record at %d was not handled; again in %g s",
            self.topic,
            partition,
            offset,
            self._settings.retry_seconds,
        )
        self._errors[f"handle {partition}"] = f"partition {partition}: the record at {offset} was not handled"
        self._again[partition] = time.monotonic() + self._settings.retry_seconds
        try:
            self._consumer.pause([TopicPartition(self.topic, partition)])
        except KafkaException as error:  # what comes of it is passed over meanwhile
            self._failed("read", error)

    def _try_again(self) -> None:
        now = time.monotonic()
        for partition in [each for each, at in self._again.items() if at <= now]:
            try:
                self._consumer.seek(TopicPartition(self.topic, partition, self._positions[partition]))
                self._consumer.resume([TopicPartition(self.topic, partition)])
                del self._again[partition]
            except KafkaException as error:
                self._failed("read", error)

    # -- offsets ---------------------------------------------------------------------------------------------------

    def _commit_now_and_then(self) -> None:
        if time.monotonic() - self._committed_at >= self._settings.commit_seconds:
            self._commit(self._positions)
            self._committed_at = time.monotonic()

    def _commit(self, partitions: Iterable[int]) -> bool:
        """Commit the positions of these partitions; whether all of them are committed now."""
        new = {
            each: self._positions[each]
            for each in partitions
            if self._positions[each] != self._committed.get(each)
        }
        try:
            self._write_offsets(new)
        except KafkaException as error:
            self._failed("commit", error)
            return False
        self._errors.pop("commit", None)
        return True

    def _write_offsets(self, offsets: Mapping[int, int]) -> None:
        """:raises KafkaException: they are not committed, or that is not known."""
        if not offsets:
            return
        answered = self._consumer.commit(
            offsets=[TopicPartition(self.topic, partition, offset) for partition, offset in offsets.items()],
            asynchronous=False,
        )
        for each in answered or ():
            if each.error is not None:
                raise KafkaException(each.error)
        self._committed |= offsets

    # -- what is told ----------------------------------------------------------------------------------------------

    def _failed(self, what: str, error: Exception) -> None:
        text = error.args[0].str() if error.args and hasattr(error.args[0], "str") else str(error)
        if self._errors.get(what) != text:
            log.warning("Topic %s: %s: %s; trying again", self.topic, what, text)
        self._errors[what] = text

    def _tell(self, token: int) -> None:
        now = time.monotonic()
        if now - self._measured >= RATE_SECONDS:
            seconds, self._measured = now - self._measured, now
            self._rates = {partition: count / seconds for partition, count in self._bytes.items()}
            self._bytes = dict.fromkeys(self._bytes, 0)
        said = Reading(
            token,
            dict(self._positions),
            dict(self._rates),
            self._lags(),
            "; ".join(self._errors.values()),
        )
        with self._lock:
            self._reading = said

    def _lags(self) -> dict[int, int]:
        lags = {}
        for partition, position in self._positions.items():
            _, high = self._consumer.get_watermark_offsets(
                TopicPartition(self.topic, partition), cached=True
            ) or (OFFSET_INVALID, OFFSET_INVALID)
            if high >= 0:
                lags[partition] = max(0, high - position)
        return lags
