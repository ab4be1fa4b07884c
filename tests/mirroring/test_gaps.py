"""Offsets of the source without a copy: found where the records prove it, and told apart from records that were
lost.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Record
from hadash.mirroring.gaps import Gap, Read, find_gap
from hadash.mirroring.offsets import Corresponding

ANCHOR = Corresponding(0, 0)
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
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(6, 5), without_record=1)


def test_markers_before_records_that_are_still_to_be_copied() -> None:
    source = log(*numbers(0, 20), MARKER, *numbers(20, 40), MARKER, *numbers(40, 60))
    assert find_gap(source, log(*numbers(0, 50)), ANCHOR) == Gap(Corresponding(52, 50), without_record=2)


def test_what_is_still_to_be_copied_is_no_gap() -> None:
    assert find_gap(log(*numbers(0, 60)), log(*numbers(0, 50)), ANCHOR) is None
    assert find_gap(log(*numbers(0, 60)), log(), ANCHOR) is None


def test_records_that_look_the_same_prove_nothing_unless_connect_has_copied_them_all() -> None:
    source, target = log(*["beat"] * 40, MARKER), log(*["beat"] * 40)
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(41, 40), 1), "the only place that fits"
    source = log(*["beat"] * 43, MARKER)
    assert find_gap(source, target, ANCHOR, copied=39) is None, "three are still to come"
    source = log(*["beat"] * 20, MARKER, MARKER, MARKER, *["beat"] * 20)
    assert find_gap(source, target, ANCHOR, copied=42) == Gap(Corresponding(43, 40), 3)


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
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(100, 70), 0, 30, 80, 50)


def test_deleted_records_and_markers_are_told_apart() -> None:
    source = log(*numbers(80, 100), MARKER, MARKER, *numbers(100, 110), start=80)
    target = log(*numbers(0, 50), *numbers(80, 110))
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(112, 80), 2, 30, 80, 50)


def test_where_not_everything_was_read_a_loss_has_no_place() -> None:
    source, target = log(*numbers(80, 200), start=80, read=30), log(*numbers(0, 50), *numbers(80, 200))
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(200, 170), 0, 30)


def test_a_source_that_has_deleted_everything() -> None:
    assert find_gap(log(start=100), log(*numbers(0, 50)), ANCHOR) == Gap(
        Corresponding(100, 50), 0, 50, 100, 50
    )


def test_retention_that_takes_only_what_was_copied_is_no_loss() -> None:
    source, target = log(*numbers(30, 50), MARKER, start=30), log(*numbers(0, 50))
    assert find_gap(source, target, ANCHOR) == Gap(Corresponding(51, 50), 1)


@pytest.mark.parametrize("known", [Corresponding(0, 0), Corresponding(21, 20)])
def test_whatever_was_known_before_the_end_is_the_same(known: Corresponding) -> None:
    source, target = log(*numbers(0, 20), MARKER, *numbers(20, 40), MARKER), log(*numbers(0, 40))
    found = find_gap(source, target, known)
    assert found is not None
    assert found.point == Corresponding(42, 40)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 20))
def test_the_point_is_where_the_next_record_of_both_sides_is_the_same(
    markers: list[bool], behind: int
) -> None:
    """A log in which some offsets are markers, and a mirror that is so many records behind."""
    values = [MARKER if marker else at for at, marker in enumerate(markers)]
    copied = [value for value in values if value is not MARKER]
    copied = copied[: max(len(copied) - behind, 0)]
    source, target = log(*values), log(*copied)
    found = find_gap(source, target, ANCHOR)
    if found is None:
        return
    left = [record.checksum for record in source.records if record.offset >= found.point.source]
    assert [str(value) for value in copied] + left == [record.checksum for record in source.records]
    assert found.lost == 0
    assert found.without_record == found.point.source - found.point.target
