"""Both sides of a partition are compared as they are read: every planted difference is found, and no other."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.auditing.aligning import AGREE, Aligner
from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print, print_of

#: The distance of offsets in these tests.
SHIFT = 100


def log(count: int) -> list[Print]:
    """A partition with so many different records."""
    return [Print(number % 7, 1000 + number, 0, 5000 + number // 3) for number in range(count)]


def found(
    source: list[Print],
    target: list[Print],
    *,
    pieces: int = 1,
    source_offsets: list[int] | None = None,
    is_end: bool = True,
) -> tuple[list[Finding], Aligner]:
    """Compare, fed in so many pieces, in turn."""
    aligner = Aligner(0, SHIFT)
    ours = source_offsets or list(range(len(source)))
    theirs = list(range(SHIFT, SHIFT + len(target)))
    said: list[Finding] = []
    for piece in range(pieces):
        for side, offsets, prints in (
            (aligner.source, ours, source),
            (aligner.target, theirs, target),
        ):
            begin, end = len(prints) * piece // pieces, len(prints) * (piece + 1) // pieces
            aligner.feed(side, offsets[begin:end], prints[begin:end])
        said += aligner.compare()
    if is_end:
        said += aligner.compare(is_end=True)
    return said, aligner


def test_the_same_records_are_the_same() -> None:
    said, aligner = found(log(1000), log(1000), pieces=7)
    assert said == []
    assert (aligner.equal, aligner.source_next, aligner.target_next) == (1000, 1000, 1000 + SHIFT)


def test_a_record_that_the_target_does_not_hold() -> None:
    records = log(100)
    said, aligner = found(records, records[:40] + records[41:])
    assert said == [Finding(Kind.MISSING, 40, 40 + SHIFT)]
    assert aligner.equal == 99


def test_a_record_that_was_copied_twice() -> None:
    records = log(100)
    said, _ = found(records, records[:41] + records[40:])
    assert said == [Finding(Kind.EXTRA, 41, 41 + SHIFT)]


def test_a_record_of_somebody_else() -> None:
    records = log(100)
    said, _ = found(records, [*records[:40], Print(9, 9, 9, 9), *records[40:]])
    assert said == [Finding(Kind.EXTRA, 40, 40 + SHIFT)]


@pytest.mark.parametrize(
    ("altered", "kind", "parts"),
    [
        (Print(5, 1, 0, 5013), Kind.DIFFERENT, ("value",)),
        (Print(1, 1040, 0, 5013), Kind.DIFFERENT, ("key",)),
        (Print(5, 1040, 3, 5013), Kind.HEADERS, ("headers",)),
        (Print(5, 1040, 3, 1), Kind.HEADERS, ("headers", "time")),
        (Print(5, 1040, 0, 1), Kind.TIME, ("time",)),
    ],
)
def test_a_record_that_was_altered(altered: Print, kind: Kind, parts: tuple[str, ...]) -> None:
    records = log(100)
    assert records[40] == Print(5, 1040, 0, 5013)
    said, aligner = found(records, [*records[:40], altered, *records[41:]], pieces=5)
    assert said == [Finding(kind, 40, 40 + SHIFT, parts)]
    assert aligner.equal == 99


def test_records_that_were_swapped() -> None:
    records = log(100)
    said, aligner = found(records, [*records[:40], records[41], records[40], *records[42:]])
    assert [each.kind for each in said] == [Kind.REORDERED]
    assert said[0].source in (40, 41)
    assert aligner.equal == 99


def test_differences_that_are_near_each_other_are_told_apart() -> None:
    """One is missing, and one further on is altered: what lies between is the same, and not reordered."""
    records = log(100)
    altered = records[43]._replace(value=1)
    said, _ = found(records, [*records[:40], *records[41:43], altered, *records[44:]])
    assert said == [
        Finding(Kind.MISSING, 40, 40 + SHIFT),
        Finding(Kind.DIFFERENT, 43, 42 + SHIFT, ("value",)),
    ]


def test_headers_of_all_records_differ() -> None:
    """As a converter that changes them makes it: nothing agrees, and every record is named."""
    records = log(300)
    said, aligner = found(records, [each._replace(headers=1) for each in records])
    assert {each.kind for each in said} == {Kind.HEADERS}
    assert [each.source for each in said] == list(range(300))
    assert aligner.equal == 0


def test_what_is_late_is_not_missing() -> None:
    records = log(100)
    said, aligner = found(records, records[:60], is_end=False)
    assert said == []
    assert (aligner.source_next, len(aligner.source)) == (60, 40)
    aligner.feed(aligner.target, range(60 + SHIFT, 100 + SHIFT), records[60:])
    assert list(aligner.compare()) == []
    assert aligner.source_next == 100


def test_a_difference_is_told_when_what_follows_agrees() -> None:
    """Nobody can tell a record that is missing from one that is late, until the next ones are there."""
    records = log(100)
    target = records[:40] + records[41:]
    said, aligner = found(records, target[: 40 + AGREE - 1], is_end=False)
    assert said == []
    aligner.feed(aligner.target, [40 + AGREE - 1 + SHIFT], [target[40 + AGREE - 1]])
    assert list(aligner.compare()) == [Finding(Kind.MISSING, 40, 40 + SHIFT)]


def test_what_one_side_has_more_at_the_end() -> None:
    records = log(50)
    said, _ = found(records, records[:48])
    assert said == [Finding(Kind.MISSING, 48, 48 + SHIFT), Finding(Kind.MISSING, 49, 48 + SHIFT)]
    said, _ = found(records[:48], records)
    assert [each.kind for each in said] == [Kind.EXTRA, Kind.EXTRA]


def test_offsets_whose_distance_changes_without_a_reason() -> None:
    """As the end of a transaction, which takes an offset on the source and is not copied."""
    records = log(100)
    offsets = [*range(40), *range(41, 101)]
    said, aligner = found(records, records, source_offsets=offsets)
    assert said == [Finding(Kind.OFFSETS, 41, 40 + SHIFT)]
    assert aligner.equal == 100


def test_records_that_all_look_the_same() -> None:
    """Heartbeats: nobody can say which of them is missing, but how many are."""
    same = [Print(1, 1, 0, 0)] * 100
    said, aligner = found(same, same[:97])
    assert [each.kind for each in said] == [Kind.MISSING] * 3
    assert aligner.equal == 97


def test_a_part_of_the_log_that_is_not_there_at_all() -> None:
    records = log(2000)
    said, aligner = found(records, records[:300] + records[1300:], pieces=20)
    assert {each.kind for each in said} == {Kind.MISSING}
    assert [each.source for each in said] == list(range(300, 1300))
    assert aligner.equal == 1000


@st.composite
def planted(draw: st.DrawFn) -> tuple[list[Print], list[Print], dict[int, Kind]]:
    """A log, what its mirror holds, and what was planted where (by source offset). Plants are apart from each other."""
    count = draw(st.integers(1, 400))
    records = log(count)
    chance = random.Random(draw(st.integers(0, 2**32)))
    target: list[Print] = []
    plants: dict[int, Kind] = {}
    place = 0
    while place < count:
        each = records[place]
        kind = chance.choice([*Kind, None, None, None, None]) if chance.random() < 0.05 else None
        if kind is Kind.MISSING:
            plants[place] = kind
        elif kind is Kind.EXTRA:
            target += [each, each]
            plants[place + 1] = kind
        elif kind is Kind.DIFFERENT:
            target.append(each._replace(value=-5))
            plants[place] = kind
        elif kind is Kind.HEADERS:
            target.append(each._replace(headers=77))
            plants[place] = kind
        elif kind is Kind.TIME:
            target.append(each._replace(time=3))
            plants[place] = kind
        else:
            target.append(each)
            kind = None
        place += 1
        if kind is not None:
            apart = records[place : place + 2]
            target += apart
            place += len(apart)
    return records, target, plants


@given(planted(), st.integers(1, 9))
def test_all_that_is_planted_is_found_and_nothing_else(
    plan: tuple[list[Print], list[Print], dict[int, Kind]], pieces: int
) -> None:
    source, target, plants = plan
    said, aligner = found(source, target, pieces=pieces)
    # (Which of two copies is the one too much, nobody can say.)
    places = {
        each.source + (each.kind is Kind.EXTRA and each.source not in plants): each.kind for each in said
    }
    assert places == plants
    assert len(said) == len(plants)
    gone = {Kind.MISSING, Kind.DIFFERENT, Kind.HEADERS, Kind.TIME}
    assert aligner.equal == len(source) - sum(kind in gone for kind in plants.values())


def test_a_print_tells_every_part_apart() -> None:
    base = print_of(b"k", b"v", [("a", b"1")], 5)
    others = [
        print_of(None, b"v", [("a", b"1")], 5),
        print_of(b"k", None, [("a", b"1")], 5),
        print_of(b"k", b"v", [("a", None)], 5),
        print_of(b"k", b"v", [("a", b"")], 5),
        print_of(b"k", b"v", [("a1", b"")], 5),
        print_of(b"k", b"v", [("a", b"1"), ("a", b"1")], 5),
        print_of(b"k", b"v", None, 5),
        print_of(b"k", b"v", [("a", b"1")], 6),
    ]
    assert len({base, *others}) == len(others) + 1
    assert print_of(b"k", b"v", [("b", b"2"), ("a", b"1")], 5) != print_of(
        b"k", b"v", [("a", b"1"), ("b", b"2")], 5
    )


class TestTheTargetsEnd:
    """What both sides hold at the end of the target, when the source's end was read later."""

    def settled(self, source: list[Print], target: list[Print]) -> tuple[list[Finding], Aligner]:
        aligner = Aligner(0, SHIFT)
        aligner.feed(aligner.source, list(range(len(source))), source)
        aligner.feed(aligner.target, list(range(SHIFT, SHIFT + len(target))), target)
        return [*aligner.compare(), *aligner.settle()], aligner

    def test_what_the_source_has_more_may_come(self) -> None:
        said, aligner = self.settled(log(20), log(15))
        assert said == [] and aligner.source_next == 15

    def test_what_the_target_has_more_is_too_much(self) -> None:
        said, aligner = self.settled(log(10), log(12))
        assert said == [Finding(Kind.EXTRA, 10, 10 + SHIFT), Finding(Kind.EXTRA, 10, 11 + SHIFT)]
        assert (aligner.source_next, aligner.target_next) == (10, 12 + SHIFT)

    def test_what_has_come_since_waits_for_what_the_source_has_of_it(self) -> None:
        """Both sides are read in turn: the target may show a record before the source does."""
        aligner = Aligner(0, SHIFT)
        records = log(14)
        aligner.feed(aligner.source, list(range(10)), records[:10])
        stranger = Print(9, 9, 9, 9)
        aligner.feed(
            aligner.target, list(range(SHIFT, SHIFT + 13)), [*records[:10], stranger, *records[10:12]]
        )
        assert list(aligner.compare()) == []
        assert aligner.settle(SHIFT + 11) == [Finding(Kind.EXTRA, 10, 10 + SHIFT)]
        assert (aligner.target_next, len(aligner.target)) == (11 + SHIFT, 2)
        aligner.feed(aligner.source, list(range(10, 14)), records[10:])
        assert list(aligner.compare()) == [] and aligner.equal == 12

    def test_a_last_record_that_was_altered(self) -> None:
        records = log(12)
        altered = [*records[:9], records[9]._replace(value=7)]
        said, aligner = self.settled(records, altered)
        assert said == [Finding(Kind.DIFFERENT, 9, 9 + SHIFT, ("value",))]
        assert aligner.source_next == 10, "the two that may come are still awaited"

    def test_one_that_is_missing_before_the_last_ones(self) -> None:
        records = log(12)
        said, aligner = self.settled(records, records[:8] + records[9:11])
        assert said == [Finding(Kind.MISSING, 8, 8 + SHIFT)] and aligner.source_next == 11

    def test_a_record_of_somebody_else_while_others_may_come(self) -> None:
        stranger = Print(9, 9, 9, 9)
        said, aligner = self.settled(log(12), [*log(9), stranger])
        assert said == [Finding(Kind.EXTRA, 9, 9 + SHIFT)] and aligner.source_next == 9
        aligner.feed(aligner.target, [SHIFT + n for n in range(10, 13)], log(12)[9:])
        assert list(aligner.compare()) == [] and aligner.equal == 12
