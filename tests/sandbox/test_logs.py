"""What the logs of both clusters say in the end: it must see each record that is there twice, late, missing or
different."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from hadash_sandbox.traffic import log_reader
from hadash_sandbox.traffic.journal import Journal, Run
from hadash_sandbox.traffic.log_reader import Position, Sides, await_caught_up
from hadash_sandbox.traffic.logs import (
    Logged,
    LogsVerdict,
    fates,
    find_missing,
    held_numbers,
    judge_logs,
)

WHERE = ("shop.carts", 0)


def log(*numbers: int, key: str = "k", first: int = 0) -> list[Logged]:
    """A log of these numbers of one key, from the offset ``first`` on."""
    return [
        Logged(first + place, key, number, f"{key} {number}".encode(), (1000 + number, 1))
        for place, number in enumerate(numbers)
    ]


def judged(east: Iterable[Logged], west: Iterable[Logged]) -> tuple[LogsVerdict, dict[str, int]]:
    """The verdict, and its counts that are not 0."""
    verdict = judge_logs({"east": {WHERE: list(east)}, "west": {WHERE: list(west)}})
    names = ("written_twice", "out_of_order", "different", "strangers")
    return verdict, {name: getattr(verdict, name) for name in names if getattr(verdict, name)}


def test_the_same_on_both_sides_is_clean_whatever_the_offsets() -> None:
    verdict, counts = judged(log(0, 1, 2), log(0, 1, 2, first=50))
    assert (verdict.records, counts, verdict.examples) == (6, {}, [])


def test_a_number_at_two_offsets_is_written_twice() -> None:
    """Both sides hold it twice: comparing them would find nothing."""
    verdict, counts = judged(log(0, 1, 1, 2), log(0, 1, 1, 2))
    assert counts == {"written_twice": 2}
    assert verdict.examples[0] == "written twice: k 1, at offsets 1 and 2 of east shop.carts/0"


def test_a_number_behind_a_higher_one_is_out_of_order() -> None:
    verdict, counts = judged(log(0, 2, 1, 3), log(0, 2, 1, 3))
    assert counts == {"out_of_order": 2}
    assert "k 1, at offset 2 of east shop.carts/0 after 2" in verdict.examples[0]


def test_keys_have_orders_of_their_own() -> None:
    both = log(5, 6) + log(0, 1, key="other", first=2)
    assert judged(both, both)[1] == {}


class TestCopiedTwice:
    """What a Connect worker that has died leaves on the standby, and hadash has to know of."""

    EAST = log(0, 1, 2, 3)
    WEST = log(0, 1, 2, 1, 2, 3)

    def told(self, west: list[Logged], count: int) -> LogsVerdict:
        return judge_logs({"east": {WHERE: self.EAST}, "west": {WHERE: west}}, {("west", *WHERE): count})

    def test_as_many_as_hadash_says_are_set_aside(self) -> None:
        verdict = self.told(self.WEST, 2)
        assert (verdict.written_twice, verdict.different, verdict.copied_twice) == (0, 0, 2)
        assert (verdict.records, verdict.examples) == (10, [])

    @pytest.mark.parametrize("count", [1, 3])
    def test_another_number_is_a_fault_of_all_of_them(self, count: int) -> None:
        verdict = self.told(self.WEST, count)
        assert (verdict.written_twice, verdict.different, verdict.copied_twice) == (2, 2, 0)
        assert verdict.examples[0] == (
            f"hadash says that {count} records of west shop.carts/0 were copied twice; 2 are there twice"
        )

    def test_it_is_no_excuse_on_the_other_side(self) -> None:
        verdict = judge_logs({"east": {WHERE: self.WEST}, "west": {WHERE: self.EAST}}, {("west", *WHERE): 2})
        assert (verdict.written_twice, verdict.different) == (2, 2)

    def test_a_copy_that_differs_is_none(self) -> None:
        changed = list(self.WEST)
        changed[3] = changed[3]._replace(content=b"damaged")
        assert self.told(changed, 2).different > 0


def test_what_one_side_lacks_is_a_difference() -> None:
    verdict, counts = judged(log(0, 1, 2, 3), log(0, 2))
    assert counts == {"different": 2}
    assert verdict.examples == [
        "only on east, not (so) on west: k 1, at offset 1 of shop.carts/0",
        "only on east, not (so) on west: k 3, at offset 3 of shop.carts/0",
    ]


def test_a_partition_that_one_side_has_not_is_different() -> None:
    assert judge_logs({"east": {WHERE: log(0, 1)}, "west": {}}).different == 2


@pytest.mark.parametrize("change", [{"content": b"damaged"}, {"timestamp": (7, 1)}, {"timestamp": (1001, 2)}])
def test_another_content_or_timestamp_is_a_difference_of_both_sides(change: dict[str, Any]) -> None:
    changed = log(0, 1, 2)
    changed[1] = changed[1]._replace(**change)
    assert judged(log(0, 1, 2), changed)[1] == {"different": 2}


def test_the_same_records_in_another_order_are_different() -> None:
    a, b = log(0, key="a"), log(0, key="b")
    verdict, counts = judged(a + b, b + a)
    assert counts == {"different": 2}
    assert verdict.examples == ["in another order on west than on east: shop.carts/0"]


def test_a_record_of_a_stranger_is_compared_but_has_no_number() -> None:
    stranger = Logged(9, "who", None, b"hello", (5, 1))
    assert judged([*log(0), stranger], [*log(0), stranger])[1] == {"strangers": 2}
    assert judged([*log(0), stranger], log(0))[1] == {"strangers": 1, "different": 1}


def test_what_was_acknowledged_and_is_on_no_side_is_missing() -> None:
    sides = {"east": {WHERE: log(0, 1)}, "west": {WHERE: log(0, 3)}}
    held, verdict = held_numbers(sides, "librdkafka", ["shop.carts"]), LogsVerdict()
    find_missing(verdict, Journal("writer", acked=[Run("k", 0, 3, 1, 2)]), held)
    assert (verdict.missing, verdict.examples) == (1, ["acknowledged, and on no cluster: k 2"])


def test_libraries_number_the_records_of_a_topic() -> None:
    """Their journals have the number's key, and which one of that key's it is."""
    sides = {"east": {WHERE: log(0, 1, 13)}}
    assert held_numbers(sides, "java-3.9.1", ["shop.carts"]) == {
        ("shop.carts/0", 0),
        ("shop.carts/1", 0),
        ("shop.carts/1", 2),
    }
    assert held_numbers(sides, "aiokafka", ["another"]) == set()


def test_records_of_unknown_fate_are_looked_for() -> None:
    journal = Journal("writer", unknown=[("k", 1, "no answer"), ("k", 2, "no answer")])
    held = held_numbers({"east": {WHERE: log(0, 1)}}, "librdkafka", ["shop.carts"])
    assert fates(journal, held) == [
        "writer: k 1 (no answer) is on a cluster all the same",
        "writer: k 2 (no answer) is on no cluster",
    ]
    assert fates(journal, None)[0].endswith("could not be looked for on the clusters")


class TestPosition:
    """Where a group is, next to the ends of what it reads."""

    @pytest.mark.parametrize(
        ("committed", "ends", "caught_up"),
        [
            ({WHERE: 5}, {WHERE: 5}, True),
            ({WHERE: 4}, {WHERE: 5}, False),
            ({}, {WHERE: 5}, False),
            ({}, {WHERE: 0}, True),
            ({WHERE: 5}, {}, False),
        ],
        ids=["at the end", "one behind", "nothing committed", "nothing to read", "no partition known"],
    )
    def test_caught_up_is_every_end_committed(
        self, committed: dict[tuple[str, int], int], ends: dict[tuple[str, int], int], caught_up: bool
    ) -> None:
        assert Position("east", committed, ends).caught_up is caught_up

    def test_what_is_behind_is_named(self) -> None:
        position = Position("east", {WHERE: 4}, {WHERE: 5, ("shop.carts", 1): 3})
        assert position.behind() == "shop.carts/0 committed 4 of 5, shop.carts/1 committed nothing of 3"


class Scripted(Sides):
    """Both clusters, with what each look at the group finds."""

    def __init__(self, *found: Position | str) -> None:
        super().__init__({})
        self.found = list(found)

    def position(self, group: str, topics: Iterable[str]) -> Position | str:
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]


class TestTheEndOfReading:
    AT_END = Position("west", {WHERE: 5}, {WHERE: 5})
    BEHIND = Position("west", {WHERE: 4}, {WHERE: 5})
    GROUP: ClassVar = {"readers": ["shop.carts"]}

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_reader, "LOOK_SECONDS", 0)

    def test_it_is_where_two_looks_in_a_row_find_every_end_committed(self) -> None:
        sides = Scripted(self.BEHIND, self.AT_END, self.BEHIND, self.AT_END, self.AT_END, self.BEHIND)
        assert await_caught_up(sides, self.GROUP, seconds=60, settle_seconds=0) == []
        assert sides.found == [self.BEHIND], (
            "the one look at the end that was followed by another did not count"
        )

    @pytest.mark.parametrize(
        ("found", "sentence"),
        [
            (BEHIND, "group readers on west has not caught up: shop.carts/0 committed 4 of 5"),
            ("group readers has members on east and west", "group readers has members on east and west"),
        ],
    )
    def test_a_group_that_does_not_come_there_is_named(self, found: Position | str, sentence: str) -> None:
        assert await_caught_up(Scripted(found), self.GROUP, seconds=0, settle_seconds=0) == [sentence]
