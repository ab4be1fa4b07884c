"""``python -m hadash_sandbox.traffic.client``: one producer or consumer with its library's stock configuration.

Like every application, it knows a bootstrap address, its credentials, and perhaps a client.id. It knows nothing of
hadash.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from enum import StrEnum
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from hadash_sandbox.traffic import libraries
from hadash_sandbox.traffic.journal import Writer
from hadash_sandbox.traffic.records import damage, headers_of, number_of, value_of

#: Number of keys of a producer. Each key has numbers of its own and stays in one partition. The application chooses the
#: partition itself, so that every partition, and with it every consumer, has records.
KEYS = 6
PARTITIONS = 3

#: Seconds between two writes of the journal's open runs.
FLUSH_SECONDS = 0.5

#: The resolution of librdkafka's poll(), in seconds.
POLL_STEP_SECONDS = 0.001

#: Seconds to wait at the end for records in flight.
FLUSH_AT_END_SECONDS = 15


class Pace(StrEnum):
    """When librdkafka's producer sends the next record."""

    #: At the rate, without waiting for acknowledgements: as many records are in flight as the library allows.
    RATE = "rate"
    #: As soon as the previous record is acknowledged (150 a second and more), whatever the rate: pauses are measured to
    #: some hundredths of a second.
    CLOSED_LOOP = "closed-loop"
    #: At the rate, but not before the previous record is acknowledged: then librdkafka keeps the order, also without
    #: idempotence.
    ONE_AT_A_TIME = "one-at-a-time"


class Stop:
    """A flag, ``wanted``, that SIGTERM and SIGINT set."""

    def __init__(self) -> None:
        self.wanted = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, number: int, frame: Any) -> None:
        self.wanted = True


def configuration(options: argparse.Namespace) -> dict[str, Any]:
    """librdkafka's configuration: what an application owner sets, and no more."""
    config: dict[str, Any] = {
        "bootstrap.servers": options.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": options.mechanism,
        "sasl.username": options.user,
        "sasl.password": os.environ["CLIENT_PASSWORD"],
    }
    if options.client_id:
        config["client.id"] = options.client_id
    for extra in options.config:
        name, _, value = extra.partition("=")
        config[name] = value
    return config


def produce(options: argparse.Namespace, journal: Writer, stop: Stop) -> None:
    """Send numbered records until ``stop`` is set, at the pace of the options; then wait for the last answers."""
    config = configuration(options)
    config["error_cb"] = lambda error: journal.note(str(error))
    producer = Producer(config)
    life = f"{time.time():.3f}"
    numbers = dict.fromkeys((f"{options.name}/{life}/{index}" for index in range(KEYS)), 0)
    topics = options.topic
    #: Records without an answer yet.
    under_way: set[tuple[str, int]] = set()

    def delivered(error: KafkaError | None, message: Message) -> None:
        key = (message.key() or b"").decode()
        number = int((message.value() or b"0").split(b" ", 1)[0])
        under_way.discard((key, number))
        if error is not None:
            journal.failed(key, number, str(error))
        else:
            journal.progress(key, number)

    interval, pace = 1.0 / options.rate, Pace(options.pace)

    def is_early(sent: bool, due: float) -> bool:
        """Whether the next record has to wait for its time. (A closed loop waits only if a record was not sent.)"""
        return time.monotonic() < due and not (pace is Pace.CLOSED_LOOP and sent)

    def awaits_answer(sent: bool) -> bool:
        return sent and bool(under_way) and pace is not Pace.RATE

    due = time.monotonic()
    flushed = due
    turn = 0
    keys = list(numbers)
    while not stop.wanted:
        index = turn % KEYS
        key, topic = keys[index], topics[index % len(topics)]
        turn += 1
        value = value_of(numbers[key], options.name)
        sent = False
        try:
            producer.produce(
                topic,
                value,
                key=key.encode(),
                partition=index % PARTITIONS,
                on_delivery=delivered,
                headers=headers_of(numbers[key]),
            )
            under_way.add((key, numbers[key]))
            numbers[key] += 1
            sent = True
        except BufferError:
            journal.note("the producer's queue is full")
        except (
            KafkaException
        ) as error:  # refused before it was queued: an application sees the error here, and continues
            refusal: KafkaError = error.args[0]
            journal.failed(key, numbers[key], f"{refusal.name()}: {refusal}")
            numbers[key] += 1
        due = due + interval if pace is Pace.RATE else time.monotonic() + interval
        while True:
            answer_is_due = awaits_answer(sent) and not is_early(sent, due)
            left = FLUSH_SECONDS if answer_is_due else max(due - time.monotonic(), 0)
            # poll() returns with each acknowledgement, long before the next record is due. It rounds down to whole
            # milliseconds: without one more, the last part of each wait would be a busy loop.
            producer.poll(min(left + POLL_STEP_SECONDS, FLUSH_SECONDS) if left else 0)
            if time.monotonic() - flushed > FLUSH_SECONDS:
                journal.flush()
                flushed = time.monotonic()
            if not (is_early(sent, due) or awaits_answer(sent)) or stop.wanted:
                break
    producer.flush(FLUSH_AT_END_SECONDS)
    for key, number in sorted(under_way):
        journal.unknown(key, number, f"no answer {FLUSH_AT_END_SECONDS} s after the last record was sent")


def consume(options: argparse.Namespace, journal: Writer, stop: Stop) -> None:
    """Read in a group until ``stop`` is set; the library commits offsets as it does by default."""
    config = configuration(options)
    config |= {"group.id": options.group, "auto.offset.reset": "earliest"}
    config["error_cb"] = lambda error: journal.note(str(error))
    consumer = Consumer(config)
    consumer.subscribe(options.topic)
    flushed = time.monotonic()
    try:
        while not stop.wanted:
            message = consumer.poll(0.1)
            if message is not None:
                if message.error() is not None:
                    journal.note(str(message.error()))
                else:
                    _note(message, journal)
            if time.monotonic() - flushed > FLUSH_SECONDS:
                journal.flush()
                flushed = time.monotonic()
    finally:
        consumer.close()


def _note(message: Message, journal: Writer) -> None:
    """Write down that one more record was read."""
    key, value = message.key(), message.value()
    number = number_of(key, value)
    if number is None:
        journal.stranger(message.topic() or "", message.partition() or 0, message.offset() or 0, value)
        return
    place = (key or b"").decode()
    journal.progress(place, number)
    if what := damage(number, message.headers()):
        journal.damaged(place, number, what)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["produce", "consume"])
    parser.add_argument("--name", required=True)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--mechanism", default="PLAIN")
    parser.add_argument("--client-id", default="")
    parser.add_argument("--topic", action="append", required=True)
    parser.add_argument("--group", default="")
    parser.add_argument("--rate", type=float, default=20.0, help="records a second of a producer")
    parser.add_argument(
        "--pace",
        choices=[pace.value for pace in Pace],
        default=Pace.RATE.value,
        help="of librdkafka's producer: at the rate; in a closed loop, whatever the rate; or at the rate, "
        "one at a time",
    )
    parser.add_argument("--config", action="append", default=[], help="librdkafka setting, name=value")
    parser.add_argument("--library", default="librdkafka", help="see hadash_sandbox.traffic.libraries")
    parser.add_argument("--journal", type=Path, required=True)
    options = parser.parse_args()
    stop = Stop()
    kind = "acked" if options.role == "produce" else "read"
    about = {
        "role": options.role,
        "pid": os.getpid(),
        "began": time.time(),
        "user": options.user,
        "client_id": options.client_id,
        "topics": options.topic,
        "group": options.group,
    }
    journal = Writer(options.journal, kind, json.loads(json.dumps(about)))
    try:
        if options.library == "librdkafka":
            (produce if options.role == "produce" else consume)(options, journal, stop)
        else:
            libraries.run(options.library, options, journal, lambda: stop.wanted)
    finally:
        journal.close()


if __name__ == "__main__":
    main()
