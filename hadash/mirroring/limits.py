"""The size limits of a mirror's records. Pure.

Three limits count different things. A Topic's ``max.message.bytes`` limits a stored batch, compressed if its
producer compresses. A producer's ``max.request.size`` limits a record before compression. A broker's
``socket.request.max.bytes`` limits a request. (``replica.fetch.max.bytes`` and the consumers' fetch sizes limit
nothing since Kafka 0.10.1, KIP-74: a larger batch is sent alone.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Defaults of Kafka's producer and consumer; smaller values are never set.
REQUEST_BYTES = 1024 * 1024
BUFFER_BYTES = 32 * 1024 * 1024
FETCH_PARTITION_BYTES = 1024 * 1024
FETCH_BYTES = 50 * 1024 * 1024

#: A broker's default for ``socket.request.max.bytes``, and room for the rest of a request (Topic name, ids).
SOCKET_BYTES = 100 * 1024 * 1024
REQUEST_OVERHEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes in bytes that a mirror has to carry: the largest stored batch, and the largest record before
    compression.
    """

    batch: int = REQUEST_BYTES
    record: int = REQUEST_BYTES


def record_limit(batch: int, factor: float, request_limit: int) -> int:
    """Return the size of the largest uncompressed record that is carried for a Topic with
    ``max.message.bytes=batch``.

    It is also the limit of the standby Topic, where copies are stored uncompressed. It is never below
    ``batch``, even if no broker of the target accepts such a request; see :func:`too_large` for that.

    :param factor: the largest compression ratio.
    :param request_limit: the target's ``socket.request.max.bytes``.

    >>> record_limit(1_000_000, 8, 100_000_000)
    8000000
    >>> record_limit(20_000_000, 8, 100_000_000)
    99934464
    """
    return max(min(int(batch * factor), request_limit - REQUEST_OVERHEAD_BYTES), batch)


def limits_of(batches: Mapping[str, int], factor: float, request_limit: int) -> Limits:
    """Return the limits of a connector, from its Topic with the largest batches.

    :param batches: ``max.message.bytes`` by Topic, on the source. The other parameters are those of
        :func:`record_limit`.
    """
    batch = max(batches.values(), default=REQUEST_BYTES)
    return Limits(batch, record_limit(batch, factor, request_limit))


def too_large(batches: Mapping[str, int], request_limit: int) -> str | None:
    """Return the Topic whose records the target's brokers would refuse by their limit for requests; ``None``
    when they accept all.
    """
    topic = max(batches, key=lambda name: batches[name], default=None)
    refused = topic is not None and batches[topic] > request_limit - REQUEST_OVERHEAD_BYTES
    return topic if refused else None


def sizes(limits: Limits) -> dict[str, str]:
    """Return the sizes in a connector's configuration. The producer's buffer holds at least one of the largest
    records, the consumer's fetches at least one of the largest batches.
    """
    return {
        "producer.override.max.request.size": str(max(limits.record, REQUEST_BYTES)),
        "producer.override.buffer.memory": str(max(limits.record, BUFFER_BYTES)),
        "source.consumer.max.partition.fetch.bytes": str(max(limits.batch, FETCH_PARTITION_BYTES)),
        "source.consumer.fetch.max.bytes": str(max(limits.batch, FETCH_BYTES)),
    }
