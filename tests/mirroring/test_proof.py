"""When a mirror is drained: by count, and by the last records of both sides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Partition, Record
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.proof import Behind, CaughtUp, Contradiction, compare_ends, compare_last_records

ORDERS, CARTS = Partition("orders", 0), Partition("carts", 0)
ANCHORS = {ORDERS: OffsetSync(100, 0), CARTS: OffsetSync(7, 3)}


def records(checksums: Sequence[str], first: int = 0) -> list[Record]:
    return [Record(first + i, checksum) for i, checksum in enumerate(checksums)]


# -- counting ------------------------------------------------------------------------------------------------------


def test_a_mirror_that_has_copied_everything() -> None:
    found = compare_ends(ANCHORS, {ORDERS: 140, CARTS: 7}, {ORDERS: 40, CARTS: 3})
    assert found == CaughtUp({ORDERS: OffsetSync(140, 40), CARTS: OffsetSync(7, 3)})


def test_a_mirror_that_is_behind_over_all_partitions() -> None:
    assert compare_ends(ANCHORS, {ORDERS: 140, CARTS: 9}, {ORDERS: 38, CARTS: 4}) == Behind(3)


def test_records_that_the_source_does_not_have() -> None:
    found = compare_ends(ANCHORS, {ORDERS: 140}, {ORDERS: 42})
    assert isinstance(found, Contradiction)
    assert str(found.reason) == "The mirror of orders-0 holds 2 records that its source does not."


def test_records_too_many_are_not_set_against_records_too_few() -> None:
    """In sum the mirror would seem to be level."""
    found = compare_ends(ANCHORS, {ORDERS: 140, CARTS: 12}, {ORDERS: 42, CARTS: 6})
    assert isinstance(found, Contradiction)


def test_a_partition_without_an_anchor() -> None:
    found = compare_ends({ORDERS: ANCHORS[ORDERS]}, {ORDERS: 140, CARTS: 7}, {ORDERS: 40, CARTS: 3})
    assert isinstance(found, Contradiction)
    assert str(found.reason) == "Partition carts-0 has no known point at which both sides correspond."


def test_an_anchor_of_another_partition_does_not_matter() -> None:
    assert compare_ends(ANCHORS, {ORDERS: 140}, {ORDERS: 40}) == CaughtUp({ORDERS: OffsetSync(140, 40)})


@given(
    st.dictionaries(
        st.builds(Partition, st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 1000), st.integers(-5, 1000)),
        min_size=1,
    )
)
def test_the_verdict_follows_from_what_is_missing(world: dict[Partition, tuple[int, int, int, int]]) -> None:
    """Each partition: its offset sync on both sides, how many records were copied since, how many are missing."""
    syncs = {p: OffsetSync(source, target) for p, (source, target, _, _) in world.items()}
    source_ends = {p: source + copied + missing for p, (source, _, copied, missing) in world.items()}
    target_ends = {p: target + copied for p, (_, target, copied, _) in world.items()}
    missing = [missing for _, _, _, missing in world.values()]
    match compare_ends(syncs, source_ends, target_ends):
        case Contradiction():
            assert min(missing) < 0
        case Behind(count):
            assert min(missing) >= 0
            assert count == sum(missing) > 0
        case CaughtUp(ends):
            assert set(missing) == {0}
            assert ends == {p: OffsetSync(source_ends[p], target_ends[p]) for p in world}


# -- comparing tails -----------------------------------------------------------------------------------------------


def test_equal_tails_at_different_offsets() -> None:
    assert compare_last_records({ORDERS: records("abc", 137)}, {ORDERS: records("abc", 37)}) is None


def test_tails_that_differ_name_the_partition_and_how_much() -> None:
    found = compare_last_records(
        {CARTS: records("abc"), ORDERS: records("abcd")}, {CARTS: records("abc"), ORDERS: records("axyd")}
    )
    assert str(found) == "The last 4 records of orders-0 differ between the clusters (2 of them)."


def test_a_record_that_was_copied_twice_or_left_out() -> None:
    """The count is right, yet every record before the fault is shifted."""
    found = compare_last_records({ORDERS: records("abcd")}, {ORDERS: records("bcdd")})
    assert str(found) == "The last 4 records of orders-0 differ between the clusters (3 of them)."


@pytest.mark.parametrize(
    ("source", "target"),
    [("abcd", "cd"), ("cd", "abcd"), ("abcd", ""), ("", "abcd"), ("", "")],
)
def test_retention_on_one_side_leaves_what_both_hold(source: str, target: str) -> None:
    assert compare_last_records({ORDERS: records(source)}, {ORDERS: records(target)}) is None


def test_retention_does_not_hide_a_difference_at_the_end() -> None:
    found = compare_last_records({ORDERS: records("abcd")}, {ORDERS: records("cx")})
    assert str(found) == "The last 2 records of orders-0 differ between the clusters (1 of them)."


@given(st.text("abc", max_size=8), st.integers(0, 8), st.integers(0, 8))
def test_what_was_copied_in_order_always_agrees(checksums: str, gone_here: int, gone_there: int) -> None:
    source, target = records(checksums)[gone_here:], records(checksums, 500)[gone_there:]
    assert compare_last_records({ORDERS: source}, {ORDERS: target}) is None


@given(st.text("abc", min_size=1, max_size=8), st.data())
def test_one_changed_record_is_always_found(checksums: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(checksums) - 1))
    changed = checksums[:at] + "x" + checksums[at + 1 :]
    assert compare_last_records({ORDERS: records(checksums)}, {ORDERS: records(changed)}) is not None
