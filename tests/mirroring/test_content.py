"""What differs between the records of both sides, and which records are compared at all."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.tail import checksum_of, parts_of
from hadash.kafka.values import Partition, Record
from hadash.mirroring.content import Difference, differences, pairs_of
from hadash.mirroring.offsets import OffsetSync

ORDERS = Partition("orders", 0)

Header = tuple[str, bytes | None]


def record(
    offset: int,
    value: bytes | None = b"v",
    key: bytes | None = None,
    headers: Iterable[Header] = (),
    time: int = 1,
    kind: int = 1,
) -> Record:
    message = SimpleNamespace(
        key=lambda: key, value=lambda: value, headers=lambda: list(headers), timestamp=lambda: (kind, time)
    )
    parts = parts_of(message)
    return Record(offset, checksum_of(parts), parts)


def found(source: list[Record], target: list[Record], point: OffsetSync) -> list[Difference]:
    return differences(ORDERS, pairs_of(source, target, point))


@pytest.mark.parametrize(
    ("copy", "kind"),
    [
        (record(0, value=b"other"), "value"),
        (record(0, value=None), "value"),
        (record(0, key=b""), "key"),
        (record(0, headers=[("a", b"1")]), "headers"),
        (record(0, time=2), "time"),
    ],
)
def test_what_differs_is_named(copy: Record, kind: str) -> None:
    assert found([record(0)], [copy], OffsetSync(0, 0)) == [Difference(ORDERS, kind, 0, 0, 1)]


def test_the_time_that_a_broker_has_set_is_the_same_time() -> None:
    create, append = 1, 2
    assert found([record(0, kind=append)], [record(0, kind=create)], OffsetSync(0, 0)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("a", None)], [("a", b"")]),
        ([("a", b"1"), ("b", b"2")], [("b", b"2"), ("a", b"1")]),
        ([("a", b"1")], [("a", b"1"), ("a", b"1")]),
        ([("ab", b"c")], [("a", b"bc")]),
        ([("a", b"\0\1b")], [("a", b""), ("b", b"")]),
    ],
)
def test_headers_are_never_taken_for_others(one: list[Header], other: list[Header]) -> None:
    assert record(0, headers=one).checksum != record(0, headers=other).checksum


headers = st.lists(st.tuples(st.text("ab\0", max_size=3), st.none() | st.binary(max_size=3)), max_size=3)
texts = st.none() | st.binary(max_size=4)


@given(st.tuples(texts, texts, headers), st.tuples(texts, texts, headers))
def test_equal_checksums_mean_equal_records(
    one: tuple[bytes | None, bytes | None, list[Header]],
    other: tuple[bytes | None, bytes | None, list[Header]],
) -> None:
    assert (record(0, *one).checksum == record(0, *other).checksum) == (one == other)


def test_records_correspond_by_their_distance_to_the_point() -> None:
    source = [record(10 + n, value=b"%d" % n) for n in range(4)]
    target = [record(5 + n, value=b"%d" % n) for n in range(3)]
    assert found(source, target, OffsetSync(10, 5)) == []
    assert found(source, target, OffsetSync(11, 5)) == [Difference(ORDERS, "value", 11, 13, 3)]


def test_before_the_point_only_records_that_are_surely_the_same_are_compared() -> None:
    """The mirror may have copied some twice there: then others stand at their places."""
    wrong = [("a", b"wrong")]
    source = [record(n, value=b"%d" % n) for n in range(4)]
    same = [record(n, value=b"%d" % n, headers=wrong) for n in range(4)]
    assert found(source, same, OffsetSync(4, 4)) == [Difference(ORDERS, "headers", 0, 3, 4)]
    shifted = [record(n, value=b"%d" % max(n - 1, 0), headers=wrong) for n in range(4)]
    assert found(source, shifted, OffsetSync(4, 4)) == []
    alike = [record(n, time=n) for n in range(4)]
    assert found(alike, [record(n, time=max(n - 1, 0)) for n in range(4)], OffsetSync(4, 4)) == []
