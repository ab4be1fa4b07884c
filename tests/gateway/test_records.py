"""What is read of PRODUCE and FETCH without touching the records, in every version that is offered."""

from __future__ import annotations

import struct
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import batch, produce

from hadash.gateway.protocol.api_keys import OFFERED, SERVED, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, encode_response, response_module
from hadash.gateway.protocol.records import FetchedCounter, ProducedPartition, produce_errors, read_produce
from hadash.gateway.protocol.wire import MalformedFrame, Request

PRODUCE_VERSIONS = range(OFFERED[ApiKey.PRODUCE][0], OFFERED[ApiKey.PRODUCE][1] + 1)
FETCH_VERSIONS = range(SERVED[ApiKey.FETCH][0], SERVED[ApiKey.FETCH][1] + 1)

ONE, TWO = batch(b"1"), batch(b"1", b"2")
IDEMPOTENT = batch(b"1", b"2", b"3", producer_id=4_000_000_000, epoch=9, sequence=30)

every_produce = pytest.mark.parametrize("version", PRODUCE_VERSIONS)
every_fetch = pytest.mark.parametrize("version", FETCH_VERSIONS)


class TestProduce:
    def test_the_versions_are_3_to_9(self) -> None:
        assert list(PRODUCE_VERSIONS) == list(range(3, 10))

    @every_produce
    def test_names_counts_and_sizes_of_every_partition(self, version: int) -> None:
        found = read_produce(produce(version, {"orders": {0: TWO, 7: ONE}, "订单": {1: ONE}}, acks=1))
        assert found.acks == 1
        assert found.transactional_id is None
        assert [p._replace(at=0) for p in found.partitions] == [
            ProducedPartition("orders", 0, 2, len(TWO), -1, -1, 0),
            ProducedPartition("orders", 7, 1, len(ONE), -1, -1, 0),
            ProducedPartition("订单", 1, 1, len(ONE), -1, -1, 0),
        ]

    @every_produce
    def test_where_the_batches_of_each_partition_begin(self, version: int) -> None:
        sent = produce(version, {"orders": {0: TWO, 7: ONE}})
        first, second = read_produce(sent).partitions
        assert sent.frame[first.at : first.at + first.size] == TWO
        assert sent.frame[second.at : second.at + second.size] == ONE

    @every_produce
    def test_who_an_idempotent_producer_is(self, version: int) -> None:
        found = read_produce(produce(version, {"orders": {0: IDEMPOTENT, 1: IDEMPOTENT}}))
        assert {(p.producer_id, p.producer_epoch) for p in found.partitions} == {(4_000_000_000, 9)}
        assert [p.records for p in found.partitions] == [3, 3]
        assert [p.sequence for p in found.partitions] == [30, 30]

    @every_produce
    @pytest.mark.parametrize("acks", [0, 1, -1])
    def test_acks(self, version: int, acks: int) -> None:
        assert read_produce(produce(version, {"orders": {0: ONE}}, acks=acks)).acks == acks

    @every_produce
    def test_a_transaction_is_recognized(self, version: int) -> None:
        sent = produce(version, {"orders": {0: IDEMPOTENT}}, transactional_id="tx-1")
        assert read_produce(sent).transactional_id == "tx-1"

    @every_produce
    def test_several_batches_in_one_partition_are_added_up(self, version: int) -> None:
        (partition,) = read_produce(produce(version, {"orders": {0: IDEMPOTENT + TWO}})).partitions
        assert (partition.records, partition.producer_id) == (5, 4_000_000_000)

    @every_produce
    def test_a_partition_without_records(self, version: int) -> None:
        found = read_produce(produce(version, {"orders": {0: None, 1: ONE}}))
        assert [(p.partition, p.records, p.size) for p in found.partitions] == [(0, 0, 0), (1, 1, len(ONE))]

    @every_produce
    def test_nothing_at_all(self, version: int) -> None:
        assert read_produce(produce(version, {})).partitions == ()

    @every_produce
    def test_records_of_an_old_format_are_not_counted(self, version: int) -> None:
        old = bytearray(TWO)
        old[16] = 1
        (partition,) = read_produce(produce(version, {"orders": {0: bytes(old)}})).partitions
        assert (partition.records, partition.producer_id, partition.size) == (0, -1, len(TWO))

    @every_produce
    def test_a_frame_that_was_cut_off_is_malformed_wherever_it_was_cut(self, version: int) -> None:
        whole = produce(version, {"orders": {0: IDEMPOTENT}})
        for end in range(whole.body, len(whole.frame) - (1 if version >= 9 else 0)):
            cut = Request(whole.kind, version, 7, "test", whole.frame[:end], whole.body)
            with pytest.raises(MalformedFrame):
                read_produce(cut)

    def test_a_length_that_points_beyond_the_frame_is_malformed(self) -> None:
        sent = produce(3, {"orders": {0: ONE}})
        wrong = sent.frame.replace(struct.pack(">i", len(ONE)), struct.pack(">i", 2**31 - 1))
        with pytest.raises(MalformedFrame, match=r"^a field of 2147483647 bytes at \d+ in a frame of \d+$"):
            read_produce(Request(sent.kind, 3, 7, "test", wrong, sent.body))

    def test_a_topic_name_that_is_not_text_is_malformed(self) -> None:
        sent = produce(3, {"orders": {0: ONE}})
        with pytest.raises(MalformedFrame, match="a name that is not UTF-8"):
            read_produce(Request(sent.kind, 3, 7, "", sent.frame.replace(b"orders", b"order\xff"), sent.body))

    def test_an_endless_varint_is_malformed(self) -> None:
        sent = produce(9, {})
        frame = sent.frame[: sent.body] + b"\xff" * 10
        with pytest.raises(MalformedFrame, match="more than five bytes"):
            read_produce(Request(sent.kind, 9, 7, "", frame, sent.body))


def produced(version: int, errors: dict[str, list[ErrorCode]]) -> bytes:
    """The payload of a PRODUCE response; each error says what is wrong with its first batch, where its version can."""
    module: Any = response_module(ApiKey.PRODUCE, version)

    def partition(index: int, error: ErrorCode) -> Any:
        more: dict[str, Any] = {"record_errors": ()} if version >= 8 else {}
        if version >= 8 and error is not ErrorCode.none:
            first = build(module.BatchIndexAndErrorMessage, batch_index=0, batch_index_error_message="Why")
            more = {"record_errors": (first,), "error_message": "为什么"}
        return build(module.PartitionProduceResponse, index=index, error_code=error, base_offset=7, **more)

    response = build(
        module.ProduceResponse,
        responses=tuple(
            build(
                module.TopicProduceResponse,
                name=topic,
                partition_responses=tuple(partition(index, error) for index, error in enumerate(found)),
            )
            for topic, found in errors.items()
        ),
        throttle_time=timedelta(0),
    )
    return encode_response(ApiKey.PRODUCE, version, 7, response)[4:]


class TestProduced:
    @every_produce
    def test_the_errors_of_all_partitions(self, version: int) -> None:
        none, late, moved = ErrorCode.none, ErrorCode.request_timed_out, ErrorCode.not_leader_or_follower
        answer = produced(version, {"orders": [none, late, none], "订单": [moved], "empty": []})
        assert produce_errors(answer, version) == {("orders", 1): late, ("订单", 0): moved}

    @every_produce
    def test_none_when_all_is_well(self, version: int) -> None:
        assert produce_errors(produced(version, {"orders": [ErrorCode.none] * 3}), version) == {}

    @every_produce
    def test_an_answer_that_is_none_has_none(self, version: int) -> None:
        """It is the client's to judge."""
        whole = produced(version, {"orders": [ErrorCode.none, ErrorCode.request_timed_out]})
        for end in range(len(whole)):
            assert produce_errors(whole[:end], version) in (
                {},
                {("orders", 1): ErrorCode.request_timed_out},
            )


def fetched(
    version: int, records: dict[str, list[bytes | None]], aborted: tuple[tuple[int, int], ...] | None = None
) -> bytes:
    """The payload of a FETCH response."""
    module: Any = response_module(ApiKey.FETCH, version)
    transactions = (
        None
        if aborted is None
        else tuple(build(module.AbortedTransaction, producer_id=p, first_offset=o) for p, o in aborted)
    )
    response = build(
        module.FetchResponse,
        throttle_time=timedelta(0),
        error_code=ErrorCode.none,
        session_id=5,
        responses=tuple(
            build(
                module.FetchableTopicResponse,
                topic=topic,
                partitions=tuple(
                    build(
                        module.PartitionData,
                        partition_index=index,
                        error_code=ErrorCode.none,
                        high_watermark=9,
                        aborted_transactions=transactions,
                        records=data,
                    )
                    for index, data in enumerate(partitions)
                ),
            )
            for topic, partitions in records.items()
        ),
    )
    return encode_response(ApiKey.FETCH, version, 7, response)[4:]


def read_fetched(payload: bytes, version: int) -> dict[str, int]:
    """Records by Topic in a FETCH answer that came in one piece."""
    counter = FetchedCounter(version)
    counter.feed(payload)
    return {topic: records for topic, (records, _) in counter.counts.items()}


class TestFetched:
    def test_the_versions_are_4_to_11(self) -> None:
        assert list(FETCH_VERSIONS) == list(range(4, 12))

    @every_fetch
    def test_records_by_topic(self, version: int) -> None:
        payload = fetched(version, {"orders": [TWO, None, ONE + TWO], "订单": [IDEMPOTENT]})
        assert read_fetched(payload, version) == {"orders": 5, "订单": 3}

    @every_fetch
    def test_a_poll_that_found_nothing(self, version: int) -> None:
        assert read_fetched(fetched(version, {}), version) == {}
        assert read_fetched(fetched(version, {"orders": [None, b""]}), version) == {}

    @every_fetch
    def test_aborted_transactions_stand_before_the_records(self, version: int) -> None:
        payload = fetched(version, {"orders": [TWO]}, aborted=((4000, 1), (4001, 2)))
        assert read_fetched(payload, version) == {"orders": 2}

    @every_fetch
    @pytest.mark.parametrize("rest", [20, 60])
    def test_a_batch_whose_header_was_cut_off_is_not_counted(self, version: int, rest: int) -> None:
        """Brokers fill an answer up to the byte limit and cut the last batch where it falls."""
        assert read_fetched(fetched(version, {"orders": [TWO + IDEMPOTENT[:rest]]}), version) == {"orders": 2}

    @every_fetch
    def test_nor_is_one_whose_records_were_cut_off(self, version: int) -> None:
        assert read_fetched(fetched(version, {"orders": [TWO + IDEMPOTENT[:-1]]}), version) == {"orders": 2}

    @every_fetch
    def test_an_answer_that_breaks_off_is_counted_as_far_as_it_goes(self, version: int) -> None:
        payload = fetched(version, {"orders": [TWO, ONE]})
        for end in range(len(payload)):
            assert read_fetched(payload[:end], version).get("orders", 0) in (0, 2, 3)

    @given(st.sampled_from(FETCH_VERSIONS), st.lists(st.integers(0, 400), max_size=10))
    def test_the_pieces_in_which_it_comes_do_not_matter(self, version: int, cuts: list[int]) -> None:
        payload = fetched(
            version, {"orders": [TWO, None, ONE + TWO], "订单": [IDEMPOTENT]}, aborted=((1, 2),)
        )
        counter = FetchedCounter(version)
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(payload)], strict=True):
            counter.feed(payload[start:end])
        counts = {"orders": (5, 2 * len(TWO) + len(ONE)), "订单": (3, len(IDEMPOTENT))}
        assert counter.counts == counts

    @every_fetch
    @pytest.mark.parametrize(
        "cut",
        [TWO + IDEMPOTENT[:20], TWO + IDEMPOTENT[:-1], TWO + bytes(61) + ONE],
        ids=["header", "body", "old"],
    )
    def test_nor_do_they_when_a_batch_is_cut_off(self, version: int, cut: bytes) -> None:
        """What follows it is another partition's: it is counted again."""
        payload = fetched(version, {"orders": [cut, ONE], "订单": [IDEMPOTENT]})
        for size in (1, 7, 61, len(payload)):
            counter = FetchedCounter(version)
            for start in range(0, len(payload), size):
                counter.feed(payload[start : start + size])
            assert counter.counts == {"orders": (3, len(TWO) + len(ONE)), "订单": (3, len(IDEMPOTENT))}, size


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=20), st.sampled_from(PRODUCE_VERSIONS))
def test_the_count_does_not_depend_on_what_the_records_hold(values: list[bytes], version: int) -> None:
    (partition,) = read_produce(produce(version, {"orders": {0: batch(*values)}})).partitions
    assert partition.records == len(values)
