"""The producer ids that a cluster sees: never one twice, and no batch harmed on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch
from support.messages import batch, produce

from hadash.gateway.protocol.records import read_produce
from hadash.gateway.virtual.producer_ids import (
    ID_BITS,
    TooManyProducers,
    given_out,
    renumbered,
    seen_by_cluster,
)

ids = st.integers(0, (1 << ID_BITS) - 1)
places = st.integers(0, 1)
epochs = st.integers(0, (1 << 28) - 1)
everybody = st.tuples(ids, places, epochs)


@given(everybody, everybody)
def test_two_producers_or_two_stays_of_one_are_never_taken_for_each_other(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    def seen(id: int, place: int, since: int) -> int:
        return seen_by_cluster(given_out(id, place), since)

    assert (seen(*one) == seen(*other)) == (one == other)
    assert 0 <= seen(*one) < 2**63


@given(ids, places)
def test_who_has_never_moved_keeps_its_id(id: int, place: int) -> None:
    assert seen_by_cluster(given_out(id, place), 0) == given_out(id, place)


@pytest.mark.parametrize("id", [-1, 1 << ID_BITS])
def test_an_id_that_cannot_be_told_apart_is_refused(id: int) -> None:
    with pytest.raises(TooManyProducers):
        given_out(id, 0)


@pytest.mark.parametrize("version", range(3, 10))
def test_every_batch_gets_the_id_and_a_right_checksum(version: int) -> None:
    mine = {"producer_id": 4000, "epoch": 3}
    two = batch(b"a", b"b", sequence=0, **mine)
    without_id, unmoved = batch(b"d"), batch(b"e", sequence=0, **mine)
    sent = produce(
        version,
        {
            "orders": {0: two + batch(b"c", sequence=2, **mine), 1: without_id},
            "订单": {0: unmoved},
        },
    )
    produced = read_produce(sent)
    frame = renumbered(sent.frame, produced, lambda topic: {"orders": 7, "订单": 0}[topic])
    assert len(frame) == len(sent.frame)
    first, second, third = (frame[p.at : p.at + p.size] for p in produced.partitions)
    length = len(two)
    for data, sequence, values in ((first[:length], 0, [b"a", b"b"]), (first[length:], 2, [b"c"])):
        read = DefaultRecordBatch(data)
        assert read.validate_crc()
        assert (read.producer_id, read.producer_epoch) == (seen_by_cluster(4000, 7), 3)
        assert read.base_sequence == sequence
        assert [record.value for record in read] == values
    # Without a producer id, and where nothing has moved, not a byte is touched.
    assert (second, third) == (without_id, unmoved)


def test_where_nothing_changes_the_frame_is_the_same_object() -> None:
    sent = produce(9, {"orders": {0: batch(b"a")}})
    assert renumbered(sent.frame, read_produce(sent), lambda topic: 7) is sent.frame


def test_a_batch_with_a_wrong_checksum_is_passed_on_as_it_came() -> None:
    damaged = bytearray(batch(b"a", producer_id=4000, epoch=0, sequence=0))
    damaged[-2] ^= 1
    sent = produce(9, {"orders": {0: bytes(damaged)}})
    assert renumbered(sent.frame, read_produce(sent), lambda topic: 7) == sent.frame


@given(st.binary(max_size=300))
def test_records_that_are_none_are_passed_on_as_they_came(data: bytes) -> None:
    start = batch(b"a", producer_id=4000, epoch=0, sequence=0)
    sent = produce(9, {"orders": {0: start + data}})
    frame = renumbered(sent.frame, read_produce(sent), lambda topic: 7)
    at = read_produce(sent).partitions[0].at
    assert DefaultRecordBatch(frame[at : at + len(start)]).producer_id == seen_by_cluster(4000, 7)
    assert frame[at + len(start) :] == sent.frame[at + len(start) :]
