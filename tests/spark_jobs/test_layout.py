"""The map of the fleet: which things are drawn, where on their island, and where the islands lie."""

from __future__ import annotations

from itertools import combinations
from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from spark.transform import layout
from spark.transform.layout import Drawn, drawn_of, neighbours_of
from spark.transform.packing import BETWEEN, MOST_ISLANDS, Circle, packed, radius_of


def edges_of(count: int, *pairs: tuple[int, int]) -> csr_array:
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    return csr_array((np.ones(len(pairs), np.int32), (rows, columns)), shape=(count, count))


def drawn(edges: csr_array, labels: list[int]) -> list[Drawn]:
    return list(drawn_of(edges, np.array(labels), neighbours_of(edges), {}))


#: Two hubs, 0 and 4, with three things each that follow from them.
TWO_STARS = edges_of(8, (0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (4, 7))


class TestWithinAnIsland:
    def test_all_lie_within_the_circle_and_nobody_behind_somebody(self) -> None:
        found = drawn(TWO_STARS, [0] * 4 + [1] * 4)
        assert sorted(each.number for each in found) == list(range(8))
        assert all(hypot(each.x, each.y) < 1 for each in found)
        for island in (range(4), range(4, 8)):
            places = [(each.x, each.y) for each in found if each.number in island]
            assert all(hypot(a[0] - b[0], a[1] - b[1]) > 0.1 for a, b in combinations(places, 2))

    def test_lines_lead_to_what_follows(self) -> None:
        lines = {each.number: each.lines for each in drawn(TWO_STARS, [0] * 4 + [1] * 4)}
        assert lines[0] == [1, 2, 3] and lines[4] == [5, 6, 7] and lines[1] == []

    def test_a_thing_alone_lies_in_the_middle(self) -> None:
        assert drawn(edges_of(1), [0]) == [Drawn(0, 0.0, 0.0, [])]

    def test_it_is_the_same_each_time(self) -> None:
        assert drawn(TWO_STARS, [0] * 8) == drawn(TWO_STARS, [0] * 8)

    def test_what_was_there_stays_where_it_was(self) -> None:
        """One thing more: the others have not moved, and it lies with what it hangs together with."""
        first = drawn(TWO_STARS, [0] * 8)
        more = edges_of(
            9, *zip(*(each.tolist() for each in TWO_STARS.nonzero()), strict=True), (0, 4), (0, 8)
        )
        were = {each.number: (each.x, each.y) for each in first}
        again = list(drawn_of(more, np.zeros(9, int), neighbours_of(more), were))
        assert {each.number: (each.x, each.y) for each in again if each.number in were} == were
        assert hypot(again[8].x, again[8].y) < 1

    def test_what_has_become_another_island_is_laid_out_anew(self) -> None:
        were = {0: (0.1, 0.1), 1: (0.1, 0.1)}
        found = {d.number: d for d in drawn_of(TWO_STARS, np.zeros(8, int), neighbours_of(TWO_STARS), were)}
        assert (found[0].x, found[0].y) != (found[1].x, found[1].y)

    def test_of_a_large_island_those_with_most_neighbours_are_drawn(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(layout, "MOST_OF_ISLAND", 3)
        found = drawn(TWO_STARS, [0] * 8)
        assert sorted(each.number for each in found) == [0, 1, 4]
        assert {each.number: each.lines for each in found}[0] == [1], "no line leads to what is not drawn"

    def test_of_many_islands_the_largest_are_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layout, "MOST_DRAWN", 5)
        found = drawn(edges_of(8, (2, 3), (4, 5)), [0, 1, 2, 2, 3, 3, 3, 4])
        assert {each.number for each in found} == {4, 5, 6, 2, 3}


class TestPacking:
    @given(st.lists(st.integers(1, 5000), min_size=1, max_size=30))
    def test_no_island_touches_another(self, sizes: list[int]) -> None:
        found = packed(enumerate(sorted(sizes, reverse=True)), {})
        assert len(found) == len(sizes)
        for a, b in combinations(found.values(), 2):
            assert hypot(a.x - b.x, a.y - b.y) > a.r + b.r + BETWEEN / 2

    def test_the_area_says_how_many_things(self) -> None:
        found = packed([(1, 400), (2, 100)], {})
        assert found[1].r / found[2].r == 2

    def test_only_the_largest_get_a_place(self) -> None:
        assert set(packed(((n, 1) for n in range(MOST_ISLANDS + 50)), {})) == set(range(MOST_ISLANDS))

    def test_what_was_there_stays_where_it_was(self) -> None:
        before = packed([(1, 50), (2, 20), (3, 10)], {})
        after = packed([(1, 50), (9, 30), (2, 21), (3, 10)], before)
        assert {n: (after[n].x, after[n].y) for n in (1, 2, 3)} == {
            n: (before[n].x, before[n].y) for n in (1, 2, 3)
        }

    def test_a_place_that_a_larger_one_needs_is_given_up(self) -> None:
        before = {1: Circle(0.0, 0.0, radius_of(4)), 2: Circle(3.0, 0.0, 1.0)}
        after = packed([(1, 100), (2, 1)], before)
        assert (after[1].x, after[1].y) == (0.0, 0.0)
        assert hypot(after[2].x, after[2].y) > 11
