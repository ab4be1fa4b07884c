"""Strategies: all partitions, each to one of the members that are there; balanced, and with few moves."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from hadash.coordinator.strategies import STRATEGIES, TOLERANCE, weighted


def moves(before: Mapping[int, str], after: Mapping[int, str]) -> list[int]:
    return [partition for partition, who in before.items() if who and after[partition] != who]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_partition_goes_to_a_member_that_is_there(name: str) -> None:
    chance = random.Random(name)
    for _ in range(100):
        members = chance.sample("abcdefg", chance.randint(1, 7))
        numbers = chance.sample(range(60), chance.randint(1, 40))
        weights = {number: chance.choice([0.0, 1.0, 1e9, chance.random()]) for number in numbers}
        held = {number: chance.choice(["", "gone", *members]) for number in numbers}
        wanted = STRATEGIES[name](weights)(members, held)
        assert wanted.keys() == held.keys() and set(wanted.values()) <= set(members)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_is_assigned_stays(name: str) -> None:
    """Otherwise a Topic would never be Stable."""
    chance = random.Random(name)
    for _ in range(100):
        members = chance.sample("abcdefg", chance.randint(1, 7))
        strategy = STRATEGIES[name]({number: chance.expovariate(1) for number in range(20)})
        wanted = strategy(members, dict.fromkeys(range(chance.randint(1, 40)), ""))
        assert strategy(members, wanted) == wanted


def test_range_gives_the_first_members_one_more_and_sticky_keeps() -> None:
    seven = dict.fromkeys(range(7), "")
    assert "".join(STRATEGIES["range"]({})("abc", seven).values()) == "aaabbcc"
    held = dict(enumerate("aabbccc"))
    assert moves(held, STRATEGIES["range"]({})("abc", held)) == [2, 4]
    assert moves(held, STRATEGIES["sticky"]({})("abc", held)) == []


def test_a_topic_of_which_only_some_partitions_are_read() -> None:
    assert STRATEGIES["range"]({})("ab", {3: "", 45: "", 46: ""}) == {3: "a", 45: "a", 46: "b"}


class TestWeighted:
    def test_the_heaviest_stands_alone(self) -> None:
        weights = {0: 90.0, 1: 30.0, 2: 30.0, 3: 30.0}
        wanted = weighted(weights)("ab", dict.fromkeys(weights, ""))
        assert Counter(wanted.values()) == {"a": 1, "b": 3}

    def test_what_brings_both_nearest_to_each_other_moves_first(self) -> None:
        weights = dict.fromkeys(range(8), 1.0) | {8: 4.0}
        held = dict.fromkeys(range(9), "a")
        found = moves(held, weighted(weights)("ab", held))
        assert 8 in found and len(found) == 3, "the heavy one and two others: six each"

    def test_partitions_without_traffic_are_dealt_out_too_and_a_new_member_gets_some(self) -> None:
        idle = dict.fromkeys(range(6), 0.0)
        wanted = weighted(idle)("ab", dict.fromkeys(idle, ""))
        assert Counter(wanted.values()) == {"a": 3, "b": 3}
        assert Counter(weighted(idle)("abc", wanted).values()) == {"a": 2, "b": 2, "c": 2}

    def test_one_partition_that_is_too_heavy_to_share_does_not_keep_others_from_it(self) -> None:
        weights = {0: 100.0} | dict.fromkeys(range(1, 11), 1.0)
        wanted = weighted(weights)("abc", {0: "a"} | dict.fromkeys(range(1, 11), "b"))
        assert Counter(wanted.values()) == {"a": 1, "b": 6, "c": 4}, "within the tolerance"

    def test_a_small_difference_moves_nothing(self) -> None:
        held = dict.fromkeys(range(50), "a") | dict.fromkeys(range(50, 100), "b")
        uneven = dict.fromkeys(range(100), 1.0) | {0: 1.0 + 50 * TOLERANCE / 2}
        assert moves(held, weighted(uneven)("ab", held)) == []

    def test_of_a_partition_without_a_weight_the_mean_is_taken(self) -> None:
        wanted = weighted({0: 1.0, 1: 3.0})("ab", {0: "", 1: "", 2: ""})
        assert wanted[1] != wanted[2] == wanted[0]

    def test_they_are_even_or_no_move_would_make_them_more_even(self) -> None:
        chance = random.Random(4)
        for _ in range(200):
            members = chance.sample("abcdefg", chance.randint(2, 7))
            weights = {number: chance.expovariate(1) for number in range(chance.randint(1, 60))}
            held = {number: chance.choice([*members, ""]) for number in weights}
            wanted = weighted(weights)(members, held)
            loads = dict.fromkeys(members, 0.0)
            for partition, member in wanted.items():
                loads[member] += weights[partition]
            busiest, idlest = max(loads, key=loads.__getitem__), min(loads, key=loads.__getitem__)
            gap = loads[busiest] - loads[idlest]
            of_busiest = [weights[p] for p, member in wanted.items() if member == busiest]
            even = gap <= TOLERANCE * sum(loads.values()) / len(loads) + 1e-9
            assert even or all(abs(gap - 2 * weight) >= gap - 1e-9 for weight in of_busiest)
