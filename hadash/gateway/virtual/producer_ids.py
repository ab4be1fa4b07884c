"""The producer ids that a cluster sees, so that idempotent producers move without noticing (docs/adr/0005).

Both clusters count producer ids from 0, and each remembers the last sequence number of an id in each partition. A
producer keeps its id when it moves: on the new cluster the id may belong to another producer, and when the producer
comes back, the old cluster finds a gap in its sequence. So a cluster sees the client's id with two facts above it:
which cluster of the pair issued it, and since which binding epoch the client has been on this cluster. After each move
the cluster sees an id that it has never seen, whose first sequence number may be any, and the client need not know.

The id is in the header of each record batch, and covered by the batch's checksum. A batch that arrives with a wrong
checksum is passed on unchanged: the cluster refuses it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from crc32c import crc32c

from hadash.gateway.protocol.records import Produced

#: Bits of a cluster's own ids: enough for a million producers a day for 47 years.
ID_BITS = 34
#: One bit for the cluster of the pair that issued an id, and above it 28 bits of the epoch: a change of bindings every
#: second for eight years.
_EPOCH_AT = ID_BITS + 1
_EPOCHS = 1 << 28

_CRC = struct.Struct(">I")
_CRC_AT = 17
_CHECKED_FROM = 21
_ID = struct.Struct(">q")
_ID_AT = 43
_LENGTH = struct.Struct(">i")
_LENGTH_AT = 8
_OVERHEAD = 12
_HEADER = 61


class TooManyProducers(ValueError):
    """A cluster's producer ids have become too large to be told apart."""


def given_out(producer_id: int, place: int) -> int:
    """Return the id that a client gets.

    :param producer_id: the id that its cluster issued.
    :param place: 0 for the first cluster of the pair, 1 for the second.
    :raises TooManyProducers: the id does not fit.

    >>> given_out(7, 0), given_out(7, 1) == 7 + 2**34
    (7, True)
    """
    if not 0 <= producer_id < 1 << ID_BITS:
        raise TooManyProducers(f"producer id {producer_id} has more than {ID_BITS} bits")
    return producer_id | place << ID_BITS


def seen_by_cluster(producer_id: int, since: int) -> int:
    """Return the id that a cluster sees of a client that has been there since the binding epoch ``since``.

    An id that was not issued through a Gateway stays unchanged.

    >>> seen_by_cluster(7, 0)
    7
    >>> seen_by_cluster(7, 5) == seen_by_cluster(7, 6)
    False
    """
    if not 0 <= producer_id < 1 << _EPOCH_AT:
        return producer_id
    return producer_id | since % _EPOCHS << _EPOCH_AT


def renumbered(frame: bytes, produced: Produced, since: Callable[[str], int]) -> bytes:
    """Return the frame of a PRODUCE with the producer ids that the cluster should see.

    :param since: returns the binding epoch since which a Topic's writes have gone to this cluster.
    """
    changed: bytearray | None = None
    for partition in produced.partitions:
        epoch = since(partition.topic) if partition.producer_id >= 0 else 0
        if epoch == 0:
            continue
        changed = changed or bytearray(frame)
        at, end = partition.at, partition.at + partition.size
        while at + _HEADER <= end:
            beyond = at + _OVERHEAD + _LENGTH.unpack_from(changed, at + _LENGTH_AT)[0]
            if not at + _HEADER <= beyond <= end:
                break
            _renumber(changed, at, beyond, epoch)
            at = beyond
    return frame if changed is None else bytes(changed)


def _renumber(data: bytearray, at: int, end: int, epoch: int) -> None:
    """Renumber one batch."""
    (producer_id,) = _ID.unpack_from(data, at + _ID_AT)
    (checksum,) = _CRC.unpack_from(data, at + _CRC_AT)
    with memoryview(data) as view:
        if producer_id < 0 or crc32c(view[at + _CHECKED_FROM : end]) != checksum:
            return
        _ID.pack_into(data, at + _ID_AT, seen_by_cluster(producer_id, epoch))
        _CRC.pack_into(data, at + _CRC_AT, crc32c(view[at + _CHECKED_FROM : end]))
