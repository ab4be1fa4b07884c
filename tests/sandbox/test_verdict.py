"""The witness of every trial: it must see each lost, repeated and late record, or "0 lost" means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash.sandbox.traffic.journal import GAP_SECONDS, Follower, Journal, Run, Writer, load
from hadash.sandbox.traffic.verdict import judge, longest_gap, merge, percentile


def produced(*runs: tuple[str, int, int], at: float = 0.0) -> Journal:
    return Journal("writer", acked=[Run(key, first, last, at, at + 1) for key, first, last in runs])


def consumed(*runs: tuple[str, int, int, float]) -> Journal:
    """(key, first, last, when it began)."""
    return Journal("reader", read=[Run(key, first, last, at, at + 1) for key, first, last, at in runs])


def counts(*consumers: Journal, producers: tuple[Journal, ...] = ()) -> tuple[int, int, int]:
    """(lost, duplicated, out of order) of ten records of key ``a``."""
    verdict = judge("g", producers or (produced(("a", 0, 9)),), consumers)
    assert verdict.clean == (verdict.lost == verdict.duplicated == verdict.out_of_order == 0)
    assert bool(verdict.examples) is not verdict.clean
    return verdict.lost, verdict.duplicated, verdict.out_of_order


def test_all_read_once_and_in_order() -> None:
    assert counts(consumed(("a", 0, 9, 1))) == (0, 0, 0)


def test_by_several_members_one_after_the_other() -> None:
    assert counts(consumed(("a", 0, 4, 1)), consumed(("a", 5, 9, 2))) == (0, 0, 0)


@pytest.mark.parametrize(
    ("read", "lost"),
    [
        ([], 10),
        ([("a", 1, 9, 1)], 1),
        ([("a", 0, 8, 1)], 1),
        ([("a", 0, 3, 1), ("a", 6, 9, 2)], 2),
        ([("b", 0, 9, 1)], 10),
    ],
    ids=["nothing", "the first", "the last", "two in the middle", "another key"],
)
def test_what_was_acknowledged_and_never_read_is_lost(
    read: list[tuple[str, int, int, float]], lost: int
) -> None:
    assert counts(consumed(*read))[0] == lost


@pytest.mark.parametrize(
    ("read", "duplicated"),
    [
        ([("a", 0, 9, 1), ("a", 9, 9, 2)], 1),
        ([("a", 0, 9, 1), ("a", 0, 9, 2)], 10),
        ([("a", 0, 5, 1), ("a", 3, 9, 2)], 3),
    ],
    ids=["the last again", "all again", "an overlap"],
)
def test_what_was_read_again_is_duplicated(read: list[tuple[str, int, int, float]], duplicated: int) -> None:
    assert counts(consumed(*read)) == (0, duplicated, 0)


def test_what_another_member_read_again_is_too() -> None:
    assert counts(consumed(("a", 0, 9, 1)), consumed(("a", 7, 9, 2))) == (0, 3, 0)


def test_what_was_read_for_the_first_time_after_higher_numbers_is_out_of_order() -> None:
    assert counts(consumed(("a", 0, 3, 1), ("a", 6, 9, 2), ("a", 4, 5, 3))) == (0, 0, 2)


def test_what_was_read_but_not_acknowledged_is_no_fault() -> None:
    """Its producer ended before it heard of it."""
    assert counts(consumed(("a", 0, 12, 1))) == (0, 0, 0)


def test_keys_of_several_producers() -> None:
    writers = (produced(("a", 0, 9)), produced(("b", 0, 4)))
    assert counts(consumed(("a", 0, 9, 1), ("b", 0, 3, 1)), producers=writers) == (1, 0, 0)


class TestWindow:
    """Of one switch: what was written and read while it went on."""

    def test_only_what_was_written_in_it_can_be_lost_in_it(self) -> None:
        early, late = produced(("a", 0, 4), at=10), produced(("a", 5, 9), at=50)
        assert judge("g", [early, late], [], (0, 20)).lost == 5
        assert judge("g", [early, late], [], (0, 60)).lost == 10
        assert judge("g", [early, late], [], (20, 40)).lost == 0

    def test_it_is_not_lost_when_it_was_read_long_after(self) -> None:
        assert judge("g", [produced(("a", 0, 9), at=10)], [consumed(("a", 0, 9, 500))], (0, 20)).lost == 0

    def test_what_was_read_before_counts_as_a_repetition_of_what_is_read_in_it(self) -> None:
        reader = consumed(("a", 0, 9, 1), ("a", 8, 9, 50))
        assert judge("g", [produced(("a", 0, 9))], [reader], (40, 60)).duplicated == 2
        assert judge("g", [produced(("a", 0, 9))], [reader], (0, 40)).duplicated == 0


def test_intervals_are_merged() -> None:
    runs = [Run("a", 5, 9, 0, 0), Run("a", 0, 2, 0, 0), Run("a", 3, 4, 0, 0), Run("a", 20, 20, 0, 0)]
    assert merge(runs) == [(0, 9), (20, 20)]


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.99, 4.0), (1.0, 4.0)])
def test_percentiles_are_of_the_values_themselves(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


class TestGaps:
    journal = Journal("w", acked=[Run("a", 0, 9, 0, 100)], gaps=[(10, 10.5), (50, 52), (90, 91)])

    def test_the_longest_that_overlaps_a_time(self) -> None:
        assert longest_gap(self.journal, 9, 60) == 2
        assert longest_gap(self.journal, 10.2, 20) == 0.5
        assert longest_gap(self.journal, 20, 40) == 0.0

    def test_nothing_is_said_of_a_client_that_was_silent(self) -> None:
        assert longest_gap(self.journal, 200, 300) is None


def test_what_a_client_writes_down_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "w.jsonl", [100.0]
    monkeypatch.setattr("hadash.sandbox.traffic.journal.time.time", lambda: now[0])
    writer = Writer(path, "acked", {"pid": 7})
    for number in (0, 1, 2, 5):  # 3 and 4 were given up
        now[0] += 0.01
        writer.progress("键", number)
    now[0] += GAP_SECONDS * 2
    writer.progress("键", 6)
    writer.failed("键", 3, "timed out")
    writer.note("all brokers are down")
    writer.close()
    with path.open("a") as file:
        file.write('{"acked": ["cut')

    journal = load(path)
    assert [(run.key, run.first, run.last) for run in journal.acked] == [("键", 0, 2), ("键", 5, 6)]
    assert [round(ended - began, 2) for began, ended in journal.gaps] == [0.16]
    assert journal.failed == [("键", 3, "timed out")]
    assert (journal.notes, journal.clients) == (["all brokers are down"], [{"pid": 7}])


def test_a_journal_that_grows_is_read_on_and_a_line_that_is_being_written_is_left_for_later(
    tmp_path: Path,
) -> None:
    path = tmp_path / "writer.jsonl"
    follower = Follower(path)
    path.write_text('{"acked": ["k", 0, 4, 1.0, 2.0]}\n{"acked": ["k", 5')
    assert [run.last for run in follower.journal().acked] == [4]
    with path.open("a") as file:
        file.write(', 9, 3.0, 4.0]}\n{"gap": [2.0, 3.0]}\n')
    assert [run.last for run in follower.journal().acked] == [4, 9]
    assert follower.journal().gaps == [(2.0, 3.0)]
