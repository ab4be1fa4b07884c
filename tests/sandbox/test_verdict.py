"""The witness of every trial: it must see each lost, repeated and late record, or "0 lost" means nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash_sandbox.traffic.journal import GAP_SECONDS, Follower, Journal, Run, Writer, load
from hadash_sandbox.traffic.verdict import (
    damages,
    journal_faults,
    judge,
    longest_gap,
    merge,
    percentile,
    spacing_before,
)


def produced(*runs: tuple[str, int, int], at: float = 0.0) -> Journal:
    return Journal("writer", acked=[Run(key, first, last, at, at + 1) for key, first, last in runs])


def consumed(*runs: tuple[str, int, int, float]) -> Journal:
    """(key, first, last, when it began)."""
    return Journal("reader", read=[Run(key, first, last, at, at + 0.5) for key, first, last, at in runs])


def counts(*consumers: Journal, producers: tuple[Journal, ...] = ()) -> tuple[int, int, int]:
    """(lost, duplicated, out of order) of ten records of key ``a``."""
    verdict = judge("g", producers or (produced(("a", 0, 9)),), consumers)
    assert verdict.ambiguous == 0
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


class TestTwoMembersAtTheSameTime:
    """A run says when its first and its last record were read, and that the others were read in between."""

    @staticmethod
    def order(*members: list[Run]) -> tuple[int, int, int]:
        """(duplicated, out of order, of unknown order) of what each member read."""
        readers = [Journal(f"reader-{n}", read=runs) for n, runs in enumerate(members)]
        verdict = judge("g", [produced(("a", 0, 9))], readers)
        assert verdict.clean is (verdict.duplicated == verdict.out_of_order == verdict.ambiguous == 0)
        return verdict.duplicated, verdict.out_of_order, verdict.ambiguous

    def test_the_lower_numbers_after_the_higher_ones_are_late_however_short_the_time(self) -> None:
        """0.3 s lie between both; a journal is written every 0.5 s."""
        first, second = [Run("a", 5, 9, 0.0, 0.4)], [Run("a", 0, 4, 0.1, 0.5)]
        assert self.order(first, second) == (0, 5, 0)

    def test_what_lies_between_two_known_times_may_be_late_or_not(self) -> None:
        """4 was read at 0.5, after 5 at 0.3; 0 was read at 0.1, before it; of 1 to 3 nobody knows."""
        first, second = [Run("a", 5, 9, 0.3, 0.6)], [Run("a", 0, 4, 0.1, 0.5)]
        assert self.order(first, second) == (0, 1, 3)

    def test_the_same_moment_is_no_order(self) -> None:
        """All but 0, which was read at 0.1, may have been read in the moment in which 5 was."""
        assert self.order([Run("a", 0, 4, 0.1, 0.5)], [Run("a", 5, 9, 0.5, 0.9)]) == (0, 0, 4)

    def test_a_hand_over_is_in_order_when_the_one_ends_before_the_other_begins(self) -> None:
        assert self.order([Run("a", 0, 4, 0.1, 0.5)], [Run("a", 5, 9, 0.51, 0.9)]) == (0, 0, 0)

    def test_what_both_read_is_consumed_twice_and_a_hand_over_is_no_excuse(self) -> None:
        assert self.order([Run("a", 0, 6, 0.1, 0.5)], [Run("a", 5, 9, 0.6, 0.9)]) == (2, 0, 0)
        assert self.order([Run("a", 0, 9, 0.1, 0.5)], [Run("a", 0, 9, 0.1, 0.5)])[0] == 10

    def test_the_journal_of_one_member_is_in_order_whatever_its_clock_says(self) -> None:
        """It was set back by a second in between."""
        assert self.order([Run("a", 0, 4, 5.0, 5.5), Run("a", 5, 9, 4.6, 5.0)]) == (0, 0, 0)
        assert self.order([Run("a", 5, 9, 5.0, 5.5), Run("a", 0, 4, 4.6, 5.0)]) == (0, 5, 0)

    def test_the_examples_name_the_records_and_the_members(self) -> None:
        readers = [Journal("one", read=[Run("a", 0, 9, 1, 2)]), Journal("two", read=[Run("a", 3, 5, 7, 8)])]
        assert judge("g", [produced(("a", 0, 9))], readers).examples == [
            "consumed twice, by one and two, a 3-5"
        ]


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

    def test_where_nothing_is_written_down_nothing_is_said(self) -> None:
        assert longest_gap(self.journal, 20, 40) is None
        assert longest_gap(self.journal, 200, 300) is None

    def test_the_ordinary_spacing_is_the_longest_gap_of_the_seconds_before(self) -> None:
        assert spacing_before(self.journal, 11) == 0.5
        assert spacing_before(self.journal, 60) == 2
        assert spacing_before(self.journal, 50) is None, "the last gap before is too long ago"


def test_of_no_values_there_is_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.99)


def test_what_a_client_writes_down_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "w.jsonl", [100.0]
    monkeypatch.setattr("hadash_sandbox.traffic.journal.time.time", lambda: now[0])
    writer = Writer(path, "acked", {"pid": 7})
    for number in (0, 1, 2, 5):  # 3 and 4 were given up
        now[0] += 0.01 * (number + 1)
        writer.progress("键", number)
    writer.flush()
    now[0] += GAP_SECONDS * 2
    writer.progress("键", 6)
    writer.failed("键", 3, "timed out")
    writer.unknown("键", 4, "no answer")
    writer.unfinished("killed")
    writer.note("all brokers are down")
    writer.close()

    journal = load(path)
    assert [(run.key, run.first, run.last) for run in journal.acked] == [
        ("键", 0, 2),
        ("键", 5, 5),
        ("键", 6, 6),
    ]
    # The longest of the ordinary ones before the flush, and each that is longer than usual.
    assert [round(ended - began, 2) for began, ended in journal.gaps] == [0.06, 0.16]
    assert journal.failed == [("键", 3, "timed out")]
    assert (journal.unknown, journal.unfinished) == ([("键", 4, "no answer")], ["killed"])
    assert (journal.notes, journal.clients) == (["all brokers are down"], [{"pid": 7}])


class TestWhatCannotBeRead:
    START = '{"client": {"pid": 1}}\n{"read": ["a", 0, 4, 1.0, 2.0]}\n'

    @pytest.mark.parametrize(
        "line",
        ["", "{", '{"read": ["a", 5]}', '{"read": ["a", "five", 9, 3.0, 4.0]}', '{"raed": []}', "7", "\x00"],
    )
    def test_a_line_within_a_journal_is_a_fault(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "reader.jsonl"
        path.write_text(f'{self.START}{line}\n{{"read": ["a", 5, 9, 3.0, 4.0]}}\n')
        journal = load(path)
        assert [run.last for run in journal.read] == [4, 9]
        expected = ["the journal of reader cannot be read at line 3"]
        assert journal_faults(journal) == journal_faults(journal, killed=True) == expected

    def test_a_last_line_that_is_cut_off_is_a_fault_unless_its_process_was_killed_on_purpose(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "reader.jsonl"
        path.write_text(self.START + '{"read": ["a", 5')
        journal = load(path)
        (fault,) = journal_faults(journal)
        assert fault.startswith("the journal of reader is cut off at line 3")
        assert journal_faults(journal, killed=True) == []
        assert journal.cut_off == [3]

    def test_the_next_process_begins_a_line_of_its_own(self, tmp_path: Path) -> None:
        """Else its first line would be lost with the one that was cut off."""
        path = tmp_path / "reader.jsonl"
        path.write_text(self.START + '{"read": ["a", 5')
        second = Writer(path, "read", {"pid": 2})
        second.progress("a", 5)
        second.close()
        journal = load(path)
        assert [client["pid"] for client in journal.clients] == [1, 2]
        assert [run.last for run in journal.read] == [4, 5]
        assert (journal.cut_off, journal.corrupt) == ([3], [])

    def test_a_client_that_did_not_finish_is_a_fault(self, tmp_path: Path) -> None:
        path = tmp_path / "writer.jsonl"
        path.write_text('{"unfinished": "the tool was killed"}\n')
        assert journal_faults(load(path)) == ["writer did not finish: the tool was killed"]


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


def test_strangers_are_named_and_are_no_fault() -> None:
    """Somebody tries the Topic with a console producer: nothing of ours is lost by it."""
    reader = consumed(("a", 0, 9, 1))
    reader.strangers += [("carts", 0, offset, "hello") for offset in range(5)]
    verdict = judge("g", [produced(("a", 0, 9))], [reader])
    assert (verdict.clean, verdict.examples, verdict.strangers) == (True, [], 5)
    assert verdict.stranger_examples[0] == "carts-0 at 0: hello"
    assert len(verdict.stranger_examples) == 3


def test_a_record_that_was_not_read_as_it_was_written_is_said(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "reader.jsonl", "read", {"role": "consume"})
    writer.progress("a", 7)
    writer.damaged("a", 7, "header None")
    writer.close()
    assert damages(load(tmp_path / "reader.jsonl")) == ["reader read damaged: a 7 (header None)"]
