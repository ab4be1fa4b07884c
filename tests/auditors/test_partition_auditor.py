"""One partition, as its records come in from both sides."""

from __future__ import annotations

from hadash.auditing.aligning import SEARCHED
from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print
from hadash.auditors.partition_auditor import PartitionAuditor, Which
from hadash.auditors.places import Place

SOURCE, TARGET = Which.SOURCE, Which.TARGET


def records(begin: int, end: int) -> list[Print]:
    return [Print(1, number, 0, 1000 * number) for number in range(begin, end)]


def fed(
    auditor: PartitionAuditor, which: Which, begin: int, end: int, now: float = 0.0, shift: int = 0
) -> None:
    auditor.feed(which, [n + shift for n in range(begin, end)], records(begin, end), now)
    auditor.compare()


def test_what_both_sides_hold_is_compared_at_once() -> None:
    auditor = PartitionAuditor(Place(100, 40, is_begin=True))
    fed(auditor, SOURCE, 100, 200)
    fed(auditor, TARGET, 100, 180, shift=-60)
    assert (auditor.source_next, auditor.target_next, auditor.equal) == (180, 120, 80)
    assert auditor.record_ms == 179_000 and not auditor.found


def test_records_that_the_target_does_not_have_yet_are_late_not_missing() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 10, now=5.0)
    fed(auditor, SOURCE, 10, 20, now=9.0)
    assert auditor.waiting_since == 5.0 and not auditor.found
    fed(auditor, TARGET, 0, 12)
    assert auditor.waiting_since == 9.0, "those that came first are there"
    fed(auditor, TARGET, 12, 20)
    assert auditor.waiting_since is None and auditor.equal == 20


def test_one_that_is_left_out_is_found_as_soon_as_others_follow() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 30)
    auditor.feed(TARGET, list(range(29)), records(0, 10) + records(11, 30), 0.0)
    auditor.compare()
    assert auditor.found == (Finding(Kind.MISSING, 10, 10),) and auditor.different == 1
    auditor.forget_found(1)
    assert auditor.found == () and auditor.different == 1


def test_a_side_that_is_ahead_is_read_only_so_far() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 10)
    assert not auditor.wants(SOURCE, 10, may_search=True) and auditor.wants(TARGET, 10, may_search=True)
    fed(auditor, TARGET, 0, 5)
    assert auditor.wants(SOURCE, 10, may_search=True)


def test_both_sides_are_read_further_while_the_place_is_searched_at_which_they_agree() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 10)
    fed(auditor, TARGET, 50, 60, shift=-50)
    assert auditor.is_searching and auditor.wants(SOURCE, 10, may_search=True)
    assert not auditor.wants(SOURCE, 10, may_search=False), "others are searching: this one waits"


def test_a_search_is_not_begun_for_every_few_records_again() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 1000)
    fed(auditor, TARGET, 1000, 2000, shift=-1000)
    fed(auditor, SOURCE, 1000, 1100)
    assert auditor.is_searching, "both sides agree here, but more is to be read first"
    fed(auditor, SOURCE, 1100, 2000)
    assert not auditor.is_searching and auditor.equal == 1000
    assert [each.kind for each in auditor.found] == [Kind.MISSING] * 1000


def test_two_sides_that_never_agree_again_do_not_fill_the_memory() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    step = 10_000
    for begin in range(0, SEARCHED + 2 * step, step):
        for which, other in ((SOURCE, 0), (TARGET, 10_000_000)):
            if auditor.wants(which, 10, may_search=True):
                prints = records(begin + other, begin + other + step)
                auditor.feed(which, list(range(begin, begin + step)), prints, 0.0)
        auditor.compare()
        assert auditor.held <= 2 * (SEARCHED + step)
    assert auditor.different >= SEARCHED


def test_the_last_offsets_may_hold_no_record() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 5)
    auditor.reached(SOURCE, 7)
    auditor.reached(SOURCE, 6)
    assert auditor.fetched[SOURCE] == 7


def test_windows_sum_up_what_both_sides_hold() -> None:
    auditor = PartitionAuditor(Place(0, 0, is_begin=True))
    fed(auditor, SOURCE, 0, 1500)
    fed(auditor, TARGET, 0, 1500)
    first, second, third = auditor.newest_windows()
    assert [first[0], second[0], third[0]] == [0, 600, 1200]
    assert first[1:3] == first[3:5] and (first[1], third[1]) == (600, 300)
