"""Where a client reads, as its FETCH requests say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import messages

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import build
from hadash.gateway.protocol.positions import MAX_PARTITIONS, FetchPositions
from hadash.gateway.protocol.wire import Request

VERSIONS = range(4, 11)


def fetch(version: int, offsets: dict[str, dict[int, int]]) -> Request:
    """A FETCH of these offsets, by Topic and partition."""
    topic_class, partition_class = (
        messages.nested(ApiKey.FETCH, version, name) for name in ("FetchTopic", "FetchPartition")
    )
    return messages.request(
        ApiKey.FETCH,
        version,
        replica_id=-1,
        max_wait=timedelta(milliseconds=500),
        min_bytes=1,
        topics=tuple(
            build(
                topic_class,
                topic=topic,
                partitions=tuple(
                    build(partition_class, partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
                    for index, offset in partitions.items()
                ),
            )
            for topic, partitions in offsets.items()
        ),
        forgotten_topics_data=(),
    )


names = st.text(min_size=1, max_size=8)
asked = st.dictionaries(
    names, st.dictionaries(st.integers(0, 99), st.integers(0, 2**60), max_size=4), max_size=3
)


@given(st.sampled_from(VERSIONS), asked)
def test_every_version_says_the_same(version: int, offsets: dict[str, dict[int, int]]) -> None:
    positions = FetchPositions()
    positions.note(fetch(version, offsets))
    assert positions.first == {(t, index): o for t, found in offsets.items() for index, o in found.items()}
    assert positions.topics == set(offsets)


def test_the_lowest_offset_stays() -> None:
    """Also of a reader that has gone back; what it reads ahead does not count."""
    positions = FetchPositions()
    for offset, lowest in ((40, 40), (90, 40), (10, 10), (50, 10)):
        positions.note(fetch(10, {"orders": {0: offset}}))
        assert positions.first == {("orders", 0): lowest}


def test_each_partition_has_its_own() -> None:
    positions = FetchPositions()
    positions.note(fetch(10, {"orders": {0: 7}}))
    positions.note(fetch(10, {"orders": {1: 3}, "carts": {0: 5}}))
    assert positions.first == {("orders", 0): 7, ("orders", 1): 3, ("carts", 0): 5}


@pytest.mark.parametrize("cut", [20, 40, 55])
def test_what_cannot_be_read_says_nothing(cut: int) -> None:
    whole = fetch(10, {"orders": {0: 7}})
    broken = Request(whole.kind, whole.version, 1, "web-1", whole.frame[:cut], whole.body)
    positions = FetchPositions()
    positions.note(broken)
    assert positions.first == {}


def test_one_client_does_not_fill_the_memory() -> None:
    positions = FetchPositions()
    positions.note(fetch(10, {"orders": dict.fromkeys(range(MAX_PARTITIONS + 5), 7)}))
    assert len(positions.first) == MAX_PARTITIONS
