"""How offsets of the two sides correspond: the same distance from the same point."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import (
    OffsetSync,
    mirrored_up_to,
    never_back,
    resume_after,
    stale_offsets,
    to_try,
    translate,
    translate_groups,
)

ORDERS, CARTS = Partition("orders", 0), Partition("carts", 0)
offsets = st.integers(0, 10**12)


@st.composite
def copied_partitions(draw: st.DrawFn) -> dict[str, int]:
    """A partition of which the mirror holds everything: it began with an empty target and copied ``count``."""
    start, count = draw(offsets), draw(st.integers(0, 10_000))
    committed = draw(st.integers(start, start + count))
    return {"start": start, "count": count, "committed": committed}


@given(copied_partitions())
def test_both_consumers_read_the_same_record_next(copied: dict[str, int]) -> None:
    """The n-th record of the source is the n-th of the target."""
    ends = OffsetSync(copied["start"] + copied["count"], copied["count"])
    found = translate(copied["committed"], ends, copied["start"])
    assert found == copied["committed"] - copied["start"]


@given(offsets, offsets, st.integers(0, 10**6))
def test_the_distance_from_the_end_is_kept(source: int, target: int, behind: int) -> None:
    found = translate(source - behind, OffsetSync(source, target), source_start=-(10**12))
    assert found == max(target - behind, 0)


@given(offsets, offsets, offsets, st.integers(0, 10**6), st.integers(0, 10**6))
def test_an_offset_never_leaves_the_target(
    committed: int, source: int, start: int, target: int, target_start: int
) -> None:
    target = max(target, target_start)
    found = translate(committed, OffsetSync(max(source, start), target), start, target_start)
    assert target_start <= found <= target


@given(copied_partitions(), st.integers(0, 100))
def test_translating_keeps_the_order(copied: dict[str, int], more: int) -> None:
    ends = OffsetSync(copied["start"] + copied["count"], copied["count"])
    assert translate(copied["committed"], ends) <= translate(copied["committed"] + more, ends)


@given(copied_partitions())
def test_there_and_back_is_the_same_offset(copied: dict[str, int]) -> None:
    """Switching there and back again, nothing written in between."""
    ends = OffsetSync(copied["start"] + copied["count"], copied["count"])
    there = translate(copied["committed"], ends, copied["start"])
    assert translate(there, OffsetSync(ends.target, ends.source)) == copied["committed"]


@pytest.mark.parametrize(
    ("committed", "start", "found", "why"),
    [
        (100, 0, 60, "it has read everything"),
        (95, 0, 55, "five records are left"),
        (130, 0, 60, "beyond the end counts as the end"),
        (10, 70, 30, "what retention has taken counts as the first record that is left"),
        (70, 70, 30, "the first record"),
        (0, 0, 0, "the target began later: nothing before its first record"),
    ],
)
def test_clamps(committed: int, start: int, found: int, why: str) -> None:
    assert translate(committed, OffsetSync(source=100, target=60), start) == found, why


@given(offsets, offsets, st.integers(0, 10**6))
def test_mirrored_up_to(source: int, target: int, copied: int) -> None:
    """Every record copied since the offset sync moves it on by one."""
    sync = OffsetSync(source, target)
    assert mirrored_up_to(sync, target) == source
    assert mirrored_up_to(sync, target + copied) == source + copied


def test_groups_keep_only_what_is_proved() -> None:
    """A partition without proved ends is not in the radius."""
    found = translate_groups(
        {"billing": {ORDERS: 95, CARTS: 7}, "idle": {}, "crm": {CARTS: 1}},
        {ORDERS: OffsetSync(100, 60)},
        {ORDERS: 0},
        {ORDERS: 0},
    )
    assert found == {"billing": {ORDERS: 55}, "idle": {}, "crm": {}}


@pytest.mark.parametrize(
    ("source_start", "target_start", "found"),
    [
        (0, 0, 10),
        (80, 0, 40),  # the source has deleted more
        (0, 30, 30),  # the target has deleted more: an offset before it would send the consumer to the end
        (80, 30, 40),
        (80, 50, 50),
        (0, 60, 60),  # the target has deleted everything
    ],
)
def test_retention_works_on_each_side_by_itself(source_start: int, target_start: int, found: int) -> None:
    ends = {ORDERS: OffsetSync(100, 60)}
    translated = translate_groups(
        {"billing": {ORDERS: 50}}, ends, {ORDERS: source_start}, {ORDERS: target_start}
    )
    assert translated == {"billing": {ORDERS: found}}


def test_without_first_records_nothing_has_been_deleted() -> None:
    assert translate_groups({"billing": {ORDERS: 50}}, {ORDERS: OffsetSync(100, 60)}, {}, {}) == {
        "billing": {ORDERS: 10}
    }


@pytest.mark.parametrize(("target", "last"), [(60, 59), (1, 0), (0, -1)])
def test_the_opposite_mirror_goes_on_after_the_last_record(target: int, last: int) -> None:
    assert resume_after({ORDERS: OffsetSync(100, target)}) == {ORDERS: last}


def test_nothing_in_nothing_out() -> None:
    empty: dict[Any, Any] = {}
    assert translate_groups(empty, empty, empty, empty) == {}
    assert resume_after(empty) == {}


# -- what a mirror and a group already have ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copied", "goes_on_after"),
    [
        ({}, 49),
        ({Partition("orders", 0): 20}, 49),
        ({Partition("orders", 0): 60}, 60),  # set back, it would copy ten records twice
        ({Partition("orders", 0): 100}, 49),  # beyond the end: of an earlier Topic with this name
    ],
    ids=["nothing", "less", "more", "more than there is"],
)
def test_a_mirror_is_never_set_back(copied: dict[Partition, int], goes_on_after: int) -> None:
    partition = Partition("orders", 0)
    assert never_back({partition: 49}, copied, {partition: 100}) == {partition: goes_on_after}


def test_offsets_that_only_the_target_has_are_stale_within_the_radius() -> None:
    moved, also_moved, elsewhere = Partition("orders", 0), Partition("orders", 1), Partition("people", 0)
    ends = {moved: OffsetSync(10, 10), also_moved: OffsetSync(10, 10)}
    standing = {"billing": {moved: 3, also_moved: 4, elsewhere: 5}, "audit": {moved: 1}}
    wanted = {"billing": {moved: 9}, "audit": {moved: 2}}
    assert stale_offsets(standing, wanted, ends) == {"billing": frozenset([also_moved])}


def test_what_is_tried_moves_nobody_where_something_stands() -> None:
    """But for the text beside it, which the target may refuse: clusters have limits of their own for it."""
    first, second, other = Partition("orders", 0), Partition("orders", 1), Partition("carts", 0)
    committed = {
        "billing": {
            first: Committed(100, "batch 7"),
            second: Committed(200),
            other: Committed(300),
            Partition("gone", 0): Committed(1),
        },
        "audit": {first: Committed(5)},
    }
    starts = {first: 10, second: 20, other: 30}
    assert to_try(committed, {"billing": {first: Committed(40)}}, starts) == {
        "billing": {first: Committed(40, "batch 7"), other: Committed(30)},
        "audit": {first: Committed(10)},
    }
