"""Mirrors that have copied records twice: they are counted again only where it is proved that nothing else has
happened.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Record
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.recount import PROOF, recount

#: The source's first record of these tests, and where the mirror has it.
FIRST, THERE = 1000, 400
ANCHOR = OffsetSync(FIRST, THERE)


def log(numbers: Iterable[int | str], first: int) -> list[Record]:
    return [Record(first + at, str(number)) for at, number in enumerate(numbers)]


def found(
    written: Iterable[int | str], mirrored: Iterable[int | str], kept: int = 10_000
) -> OffsetSync | None:
    return recount(log(written, FIRST)[-kept:], log(mirrored, THERE)[-kept:], ANCHOR)


def test_what_was_copied_twice_and_goes_on() -> None:
    """100 records, of which the last 5 were copied again when 60 were there."""
    mirrored = [*range(60), *range(55, 100)]
    assert found(range(100), mirrored) == OffsetSync(FIRST + 100, THERE + 105)


def test_a_mirror_that_has_not_copied_the_newest_yet() -> None:
    mirrored = [*range(60), *range(55, 90)]
    assert found(range(100), mirrored) == OffsetSync(FIRST + 90, THERE + 95)


def test_twice_in_a_row() -> None:
    mirrored = [*range(60), *range(55, 80), *range(78, 100)]
    assert found(range(100), mirrored) == OffsetSync(FIRST + 100, THERE + 107)


def test_only_a_window_of_it_is_read() -> None:
    mirrored = [*range(600), *range(590, 700)]
    assert found(range(700), mirrored, kept=300) == OffsetSync(FIRST + 700, THERE + 710)
    assert found(range(700), mirrored, kept=50) is None, "the first copy is not in it"


@pytest.mark.parametrize(
    "mirrored",
    [
        [*range(60), "stranger", *range(60, 100)],
        [*range(60), *range(55, 60), "stranger", *range(60, 100)],
        [*range(60), *range(56, 58), *range(60, 100)],
        [*range(50), *range(52, 60), *range(55, 100)],
    ],
    ids=["one of somebody else", "both", "copies that break off", "one is missing as well"],
)
def test_what_is_no_second_copy_is_for_a_person(mirrored: list[int | str]) -> None:
    assert found(range(100), mirrored) is None


def test_records_that_cannot_be_told_apart_prove_nothing() -> None:
    assert found(["beat"] * 100, ["beat"] * 105) is None


def test_the_second_copy_has_to_go_on_for_a_while() -> None:
    mirrored = [*range(60), *range(55, 60)]
    assert len(mirrored) - 60 < PROOF
    assert found(range(60), mirrored) is None


def test_nothing_is_found_where_nothing_is() -> None:
    assert found([], []) is None
    assert found(range(100), range(100)) is None, "no distance is a new one"


@given(
    copies=st.lists(st.tuples(st.integers(1, 12), st.integers(PROOF + 1, 60)), min_size=1, max_size=4),
    behind=st.integers(0, 10),
)
def test_whatever_was_copied_again_the_next_record_is_found(
    copies: list[tuple[int, int]], behind: int
) -> None:
    """:param copies: how many records were copied again, and how many were copied then until the next time."""
    mirrored, next_one = list(range(40)), 40
    for again, further in copies:
        mirrored += range(next_one - again, next_one + further)
        next_one += further
    place = found(range(next_one + behind), mirrored)
    assert place == OffsetSync(FIRST + next_one, THERE + len(mirrored))
