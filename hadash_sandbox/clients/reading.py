"""Reads the whole log of a Topic from the cluster itself."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from hadash_sandbox.clients.judging import Logged
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.traffic.records import damage, place

#: Seconds that reading one Topic of some thousand records may take.
READ_SECONDS = 30.0

#: Prefix of libraries whose producers cannot write headers: Kafka's own VerifiableProducer.
WITHOUT_HEADERS = "java-"


def read_log(config: Mapping[str, str], topic: str, library: str, partitions: int) -> list[Logged]:
    """All records of ``topic``, in order within each partition.

    :param config: librdkafka settings to connect to the cluster as its administrator.
    :raises SandboxError: the log cannot be read to its end in time.
    :raises KafkaException: the cluster answers with an error.
    """
    consumer = Consumer({**config, "group.id": "hadash-clients-check", "enable.auto.commit": False})
    found: list[Logged] = []
    try:
        ends: dict[int | None, int] = {}
        begins = []
        for index in range(partitions):
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, index), timeout=READ_SECONDS)
            if high > low:
                ends[index] = high
                begins.append(TopicPartition(topic, index, low))
        consumer.assign(begins)
        deadline = time.monotonic() + READ_SECONDS
        while ends:
            if time.monotonic() > deadline:
                raise SandboxError(f"The log of {topic} cannot be read to its end: {ends} are missing.")
            for message in consumer.consume(1000, timeout=0.2):
                if message.error():
                    raise KafkaException(message.error())
                found.append(logged_of(message, topic, library))
                if (message.offset() or 0) + 1 >= ends.get(message.partition(), 0):
                    ends.pop(message.partition(), None)
    finally:
        consumer.close()
    return found


def logged_of(message: Message, topic: str, library: str) -> Logged:
    """A record as the check compares it.

    A librdkafka client numbers the records of each key; the other libraries number all records of a Topic.
    """
    value, headers = message.value() or b"", message.headers()
    kind, milliseconds = message.timestamp()
    whole = repr((message.key(), message.value(), headers)).encode()
    try:
        number = int(value.split(b" ", 1)[0])
    except ValueError:
        record = Logged("", -1, f"value {value[:40]!r}")
    else:
        wrong = "" if library.startswith(WITHOUT_HEADERS) else damage(number, headers)
        own_key = library == "librdkafka"
        key, index = ((message.key() or b"").decode(), number) if own_key else place(topic, number)
        record = Logged(key, index, wrong)
    return replace(
        record,
        partition=message.partition() or 0,
        timestamp=(milliseconds, kind),
        content=hashlib.blake2b(whole, digest_size=16).digest(),
    )
