"""Offsets of the source without a copy: found where the records prove it, and told apart from records that were
lost.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Record
from hadash.mirroring.gaps import Gap, Read, find_gap
from hadash.mirroring.offsets import OffsetSync

ANCHOR = OffsetSync(0, 0)
MARKER = None


def log(*values: object, start: int = 0, read: int = 10_000) -> Read:
    """One side of a partition that begins at ``start``; at ``MARKER`` is an offset without a record. ``read``: its
    last offsets that were read."""
    end = start + len(values)
    first = max(start, end - read)
    records = [
        Record(offset, str(value))
        for offset, value in enumerate(values, start)
        if value is not MARKER and offset >= first
    ]
    return Read(start, first, end, records)


def numbers(first: int, end: int) -> list[object]:
    return list(range(first, end))


def test_a_marker_at_the_end() -> None:
    source, target = log(*numbers(0, 5), MARKER), log(*numbers(0, 5))
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(6, 5), without_record=1)


def test_markers_before_records_that_are_still_to_be_copied() -> None:
    source = log(*numbers(0, 20), MARKER, *numbers(20, 40), MARKER, *numbers(40, 60))
    assert find_gap(source, log(*numbers(0, 50)), ANCHOR) == Gap(OffsetSync(52, 50), without_record=2)


def test_what_is_still_to_be_copied_is_no_gap() -> None:
    assert find_gap(log(*numbers(0, 60)), log(*numbers(0, 50)), ANCHOR) is None
    assert find_gap(log(*numbers(0, 60)), log(), ANCHOR) is None


def test_records_that_look_the_same_prove_nothing_unless_connect_has_copied_them_all() -> None:
    source, target = log(*["beat"] * 40, MARKER), log(*["beat"] * 40)
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(41, 40), 1), "the only place that fits"
    source = log(*["beat"] * 43, MARKER)
    assert find_gap(source, target, ANCHOR, copied=39) is None, "three are still to come"
    source = log(*["beat"] * 20, MARKER, MARKER, MARKER, *["beat"] * 20)
    assert find_gap(source, target, ANCHOR, copied=42) == Gap(OffsetSync(43, 40), 3)


def test_other_records_at_the_end_of_the_target_prove_nothing() -> None:
    assert find_gap(log(*numbers(0, 40), MARKER), log(*numbers(0, 39), "stranger"), ANCHOR) is None
    assert (
        find_gap(log(*numbers(0, 40), MARKER), log(*numbers(0, 30), "stranger", *numbers(31, 40)), ANCHOR)
        is None
    )


def test_too_few_records_of_a_longer_log_prove_nothing() -> None:
    source, target = log(*numbers(0, 40), MARKER, read=6), log(*numbers(0, 40), read=5)
    assert find_gap(source, target, ANCHOR) is None


def test_records_that_were_deleted_before_they_were_copied() -> None:
    """50 were copied, then the source deleted all before 80."""
    source, target = log(*numbers(80, 100), start=80), log(*numbers(0, 50), *numbers(80, 100))
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(100, 70), 0, 30, 80, 50)


def test_deleted_records_and_markers_are_told_apart() -> None:
    source = log(*numbers(80, 100), MARKER, MARKER, *numbers(100, 110), start=80)
    target = log(*numbers(0, 50), *numbers(80, 110))
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(112, 80), 2, 30, 80, 50)


def test_where_not_everything_was_read_a_loss_has_no_place() -> None:
    source, target = log(*numbers(80, 200), start=80, read=30), log(*numbers(0, 50), *numbers(80, 200))
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(200, 170), 0, 30)


def test_a_source_that_has_deleted_everything() -> None:
    assert find_gap(log(start=100), log(*numbers(0, 50)), ANCHOR) == Gap(OffsetSync(100, 50), 0, 50, 100, 50)


def test_retention_that_takes_only_what_was_copied_is_no_loss() -> None:
    source, target = log(*numbers(30, 50), MARKER, start=30), log(*numbers(0, 50))
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(51, 50), 1)


@pytest.mark.parametrize("read", [64, 10_000])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (numbers(0, 100), [*numbers(0, 50), *numbers(80, 100)]),
        (numbers(0, 100), [*numbers(0, 50), *numbers(51, 100)]),
        ([*numbers(0, 60), MARKER, *numbers(60, 100)], [*numbers(0, 30), *numbers(31, 100)]),
    ],
    ids=["thirty", "one", "one, and a marker"],
)
def test_records_that_the_source_still_holds_are_no_gap(
    source: list[object], target: list[object], read: int
) -> None:
    """The mirror has left them out: nobody may count over them."""
    assert find_gap(log(*source, read=read), log(*target, read=read), ANCHOR) is None


def test_records_left_out_after_a_loss_are_not_said_to_be_deleted() -> None:
    source = log(*numbers(80, 120), start=80)
    target = log(*numbers(0, 50), *numbers(80, 90), *numbers(95, 120))
    assert find_gap(source, target, ANCHOR) is None


def test_a_marker_long_after_the_point_that_was_known_needs_no_reading_back_to_it() -> None:
    source, target = log(*numbers(0, 1000), MARKER, read=64), log(*numbers(0, 1000), read=64)
    assert find_gap(source, target, ANCHOR) == Gap(OffsetSync(1001, 1000), 1)


@pytest.mark.parametrize("known", [OffsetSync(0, 0), OffsetSync(21, 20)])
def test_whatever_was_known_before_the_end_is_the_same(known: OffsetSync) -> None:
    source, target = log(*numbers(0, 20), MARKER, *numbers(20, 40), MARKER), log(*numbers(0, 40))
    found = find_gap(source, target, known)
    assert found is not None
    assert found.point == OffsetSync(42, 40)


@given(
    st.lists(st.sampled_from(["copied", "copied", "marker", "left out"]), min_size=1, max_size=60),
    st.integers(0, 20),
    st.sampled_from([20, 10_000]),
)
def test_the_point_is_where_the_next_record_of_both_sides_is_the_same(
    offsets: list[str], behind: int, read: int
) -> None:
    """A log in which some offsets are markers, and a mirror that is so many records behind and may have left
    some out.
    """
    values = [MARKER if what == "marker" else at for at, what in enumerate(offsets)]
    copied = [at for at, what in enumerate(offsets) if what == "copied"]
    copied = copied[: max(len(copied) - behind, 0)]
    source, target = log(*values, read=read), log(*copied, read=read)
    found = find_gap(source, target, ANCHOR)
    if found is None:
        whole = read > len(offsets) and copied and "left out" not in offsets
        assert not (whole and "marker" in offsets[: copied[-1]]), "nothing hides it"
        return
    left = [at for at, value in enumerate(values) if value is not MARKER and at >= found.point.source]
    assert [*copied, *left] == [value for value in values if value is not MARKER], "none is counted over"
    assert found.lost == 0
    assert found.without_record == found.point.source - found.point.target
