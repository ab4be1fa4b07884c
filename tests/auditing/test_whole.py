"""A whole partition is compared from the first record that both sides hold, wherever that stands on either side."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.auditing import aligning, whole
from hadash.auditing.aligning import Which
from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print
from hadash.auditing.whole import Compared, WholePartition, as_json, from_json

from .test_aligning import log

Records = list[tuple[int, Print]]


def held(records: list[Print], first: int = 0, shift: int = 0) -> Records:
    """The records from the first one on, as a side holds them, each with its offset."""
    return [(number + shift, each) for number, each in enumerate(records)][first:]


def compared(source: Records, target: Records, *, pieces: int = 5, noted: int = 100) -> Compared:
    """Compare, fed as Spark does: what both sides hold at the same place comes together."""
    partition = WholePartition(noted)
    # The last records correspond: so many before them are at the same place.
    length = max(len(source), len(target))
    for piece in range(pieces):
        begin, end = length * piece // pieces, length * (piece + 1) // pieces
        for which, side in ((Which.SOURCE, source), (Which.TARGET, target)):
            ahead = length - len(side)
            part = side[max(0, begin - ahead) : max(0, end - ahead)]
            partition.feed(which, [offset for offset, _ in part], [each for _, each in part])
        partition.compare()
    return partition.end()


def test_both_sides_hold_the_same() -> None:
    records = log(1000)
    found = compared(held(records), held(records, shift=100))
    assert found == Compared((0, 1000), (100, 1100), equal=1000)
    assert found.different == 0


@pytest.mark.parametrize("pieces", [1, 7, 100])
def test_what_only_one_side_still_holds_is_not_compared(pieces: int) -> None:
    records = log(1000)
    younger = compared(held(records), held(records, first=300, shift=100), pieces=pieces)
    assert younger == Compared((300, 1000), (400, 1100), equal=700, older=(300, 0))
    older = compared(held(records, first=300), held(records, shift=100), pieces=pieces)
    assert older == Compared((300, 1000), (400, 1100), equal=700, older=(0, 300))


def test_the_first_record_of_both_is_altered() -> None:
    """Nobody takes it for an older one: both sides hold as many records before the first that agree."""
    records = log(50)
    altered = [records[0]._replace(value=7), *records[1:]]
    found = compared(held(records), held(altered))
    assert found.found == [Finding(Kind.DIFFERENT, 0, 0, ("value",))]
    assert (found.equal, found.older) == (49, (0, 0))


def test_the_target_may_be_late() -> None:
    records = log(100)
    found = compared(held(records), held(records[:90]), pieces=1)
    assert (found.equal, found.late, found.different) == (90, 10, 0)
    assert found.source == (0, 90)


def test_what_the_target_has_more_at_its_end_is_too_much() -> None:
    records = log(100)
    found = compared(held(records[:90]), held(records), pieces=1)
    assert (found.equal, found.late) == (90, 0)
    assert found.kinds == {Kind.EXTRA: 10}


def test_gaps_of_offsets_are_counted_and_are_no_records_fault() -> None:
    """A transaction leaves an offset without a record on the source, and none on the target."""
    records = log(30)
    source = [(offset + offset // 10, each) for offset, each in held(records)]
    found = compared(source, held(records))
    assert (found.equal, found.different, found.found) == (30, 0, [])
    assert found.kinds == {Kind.OFFSETS: 2}


def test_a_side_that_holds_nothing() -> None:
    records = log(20)
    assert compared(held(records), []) == Compared(older=(20, 0))
    assert compared([], held(records)) == Compared(older=(0, 20))
    assert compared([], []) == Compared()


def test_nothing_agrees() -> None:
    records = log(20)
    others = [each._replace(key=each.key + 1000, value=0, time=0) for each in records]
    found = compared(held(records), held(others))
    assert (found.equal, found.different, found.older) == (0, 20, (0, 0))


def test_where_both_sides_cannot_be_put_beside_each_other_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They may agree further on: the target's records begin 200 places later than it was thought."""
    monkeypatch.setattr(whole, "SEARCHED", 50)
    monkeypatch.setattr(aligning, "SEARCHED", 50)
    records = log(1000)
    found = compared(held(records), held([*log(1200)[200:], *log(200)]), pieces=100)
    assert found == Compared(has_no_place=True)


def test_few_differences_are_told_and_all_are_counted() -> None:
    records = log(200)
    altered = [each._replace(headers=1) if number % 10 == 5 else each for number, each in enumerate(records)]
    found = compared(held(records), held(altered), noted=3)
    assert [each.source for each in found.found] == [5, 15, 25]
    assert found.kinds == {Kind.HEADERS: 20}


def test_a_side_that_is_far_longer_is_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "SEARCHED", 50)
    monkeypatch.setattr(aligning, "SEARCHED", 50)
    records = log(1000)
    partition = WholePartition(10)
    for begin in range(0, 900, 30):
        partition.feed(Which.SOURCE, range(begin, begin + 30), records[begin : begin + 30])
        partition.compare()
        assert len(partition._leading[Which.SOURCE]) <= 50
    for begin in range(900, 1000, 20):
        for which in Which:
            partition.feed(which, range(begin, begin + 20), records[begin : begin + 20])
        partition.compare()
    found = partition.end()
    assert (found.equal, found.older, found.different) == (100, (900, 0), 0)


@given(
    first=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    at=st.integers(90, 180),
    how=st.sampled_from(["missing", "extra", "value", "headers", "time"]),
    pieces=st.integers(1, 40),
)
def test_one_difference_is_found_and_no_other(first: tuple[int, int], at: int, how: str, pieces: int) -> None:
    records = log(200)
    target = list(records)
    if how == "missing":
        del target[at]
    elif how == "extra":
        target.insert(at, Print(1, 2, 3, 4))
    else:
        target[at] = target[at]._replace(**{how: 77})
    found = compared(held(records, first[0]), held(target, first[1]), pieces=pieces)
    kind = Kind.DIFFERENT if how == "value" else Kind(how)
    assert found.kinds.get(kind) == 1
    assert found.different == 1
    assert found.found[0].source == at
    begin = max(first)
    assert found.older == (begin - first[0], begin - first[1])
    assert found.equal == 200 - begin - (how != "extra")


def test_it_comes_back_from_json_as_it_was() -> None:
    records = log(40)
    found = compared(held(records), held(records[:20] + records[21:]))
    assert from_json(json.loads(json.dumps(as_json(3, found)))) == found
    for other in (Compared(older=(1, 2)), Compared(has_no_place=True)):
        assert from_json(json.loads(json.dumps(as_json(0, other)))) == other
