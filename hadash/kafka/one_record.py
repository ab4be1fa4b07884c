"""Reads single records, to be shown to a person."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import KafkaError as ClientError

from hadash.kafka.errors import KafkaError
from hadash.kafka.tail import RECEIVE_BYTES
from hadash.kafka.values import ClusterAccess, Partition
from hadash.sentences import say


@dataclass(frozen=True, slots=True)
class Content:
    """A whole record. ``time``: milliseconds since 1970."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    time: int


def read_one(access: ClusterAccess, partition: Partition, offset: int, seconds: float) -> Content | None:
    """Return the record at an offset; ``None`` if there is none (deleted, compacted, or a transaction's marker).

    :raises KafkaError: the cluster does not answer within ``seconds``.
    """
    consumer = Consumer(
        {
            **access.config(),
            "log_level": 0,
            "group.id": "hadash-shown",  # (nothing is committed, and no group is joined)
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "receive.message.max.bytes": RECEIVE_BYTES,
        }
    )
    try:
        consumer.assign([TopicPartition(partition.topic, partition.partition, offset)])
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            message: Any = consumer.poll(left)
            if message is None:
                break
            if (fault := message.error()) is None:
                return _content(message) if message.offset() == offset else None
            if fault.code() in (ClientError._PARTITION_EOF, ClientError._AUTO_OFFSET_RESET):
                return None
    except KafkaException as error:
        raise KafkaError(
            say("Cluster %(cluster)s: %(error)s.", cluster=access.name, error=str(error))
        ) from None
    finally:
        consumer.close()
    raise KafkaError(
        say(
            "Cluster %(cluster)s: the record of %(partition)s could not be read within %(seconds)s s.",
            cluster=access.name,
            partition=partition,
            seconds=f"{seconds:.0f}",
        )
    )


def _content(message: Any) -> Content:
    headers: Mapping[str, bytes] | Sequence[tuple[str, bytes | None]] = message.headers() or ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return Content(message.offset(), message.key(), message.value(), tuple(pairs), message.timestamp()[1])
