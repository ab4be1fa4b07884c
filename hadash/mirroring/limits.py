"""How large a mirror's records may be. Pure.

Three limits count different things. A Topic's ``max.message.bytes`` counts a batch as it is stored: compressed, if
its producer compresses. A producer's ``max.request.size`` counts a record before it is compressed. A broker's
``socket.request.max.bytes`` counts a request. (``replica.fetch.max.bytes`` and the consumers' fetch sizes limit
nothing since Kafka 0.10.1, KIP-74: a batch that is larger comes by itself.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Defaults of Kafka's producer and consumer, below which nothing is set.
REQUEST_BYTES = 1024 * 1024
BUFFER_BYTES = 32 * 1024 * 1024
FETCH_PARTITION_BYTES = 1024 * 1024
FETCH_BYTES = 50 * 1024 * 1024

#: A broker's default for ``socket.request.max.bytes``, and what a request holds besides its records (Topic name,
#: ids), with room.
SOCKET_BYTES = 100 * 1024 * 1024
REQUEST_OVERHEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a mirror has to carry: the largest stored batch, and the largest record before it is compressed, in
    bytes.
    """

    batch: int = REQUEST_BYTES
    record: int = REQUEST_BYTES


def record_limit(batch: int, factor: float, request_limit: int) -> int:
    """The largest uncompressed record that is carried for a Topic with ``max.message.bytes=batch``.

    It is also what the standby Topic has to accept: the copy is stored as it comes, uncompressed. Never below
    ``batch``, even if no broker of the target takes such a request: then that is said, see :func:`too_large`.

    :param factor: how far a record may have shrunk. :param request_limit: the target's ``socket.request.max.bytes``.

    >>> record_limit(1_000_000, 8, 100_000_000)
    8000000
    >>> record_limit(20_000_000, 8, 100_000_000)
    99934464
    """
    return max(min(int(batch * factor), request_limit - REQUEST_OVERHEAD_BYTES), batch)


def limits_of(batches: Mapping[str, int], factor: float, request_limit: int) -> Limits:
    """The limits of a connector, by its largest Topic.

    :param batches: ``max.message.bytes`` by Topic, on the source. The others: as of :func:`record_limit`.
    """
    batch = max(batches.values(), default=REQUEST_BYTES)
    return Limits(batch, record_limit(batch, factor, request_limit))


def too_large(batches: Mapping[str, int], request_limit: int) -> str | None:
    """The Topic whose records the target's brokers would refuse at their limit for requests; ``None`` when they take
    all.
    """
    topic = max(batches, key=lambda name: batches[name], default=None)
    refused = topic is not None and batches[topic] > request_limit - REQUEST_OVERHEAD_BYTES
    return topic if refused else None


def sizes(limits: Limits) -> dict[str, str]:
    """The sizes in a connector's configuration. The producer's buffer holds at least one of the largest records; the
    consumer's fetches at least one of the largest batches."""
    return {
        "producer.override.max.request.size": str(max(limits.record, REQUEST_BYTES)),
        "producer.override.buffer.memory": str(max(limits.record, BUFFER_BYTES)),
        "source.consumer.max.partition.fetch.bytes": str(max(limits.batch, FETCH_PARTITION_BYTES)),
        "source.consumer.fetch.max.bytes": str(max(limits.batch, FETCH_BYTES)),
    }
