"""The size of every blast radius at once is what closing each node by itself gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hadash.radius import sizes as radius_sizing
from hadash.radius.closure import AccessGraph, Dimension
from hadash.radius.nodes import AccessEdge
from hadash.radius.sizes import islands, radius_sizes

NAMES = st.integers(0, 6)
USES = st.lists(
    st.builds(
        AccessEdge,
        NAMES.map("app-{}".format),
        st.integers(0, 2).map("client-{}".format),
        st.sampled_from(("produce", "consume", "group")),
        NAMES.map("node-{}".format),
    ),
    max_size=30,
)
INSTANCES = st.dictionaries(
    NAMES.map("app-{}".format), st.sets(st.integers(0, 2).map("client-{}".format)), max_size=5
)


@pytest.mark.parametrize("large", [1, 3, 64])
@given(USES, INSTANCES, st.sampled_from(Dimension), st.booleans())
def test_each_size_is_that_of_the_closure(
    large: int, uses: list[AccessEdge], instances: dict[str, set[str]], dimension: Dimension, widen: bool
) -> None:
    graph = AccessGraph(uses, {}, instances, dimension, widen=widen)
    edges, _ = graph.cut()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(radius_sizing, "LARGE", large)
        sizes = radius_sizes(edges)
    assert sizes.tolist() == [len(graph.close([node])) for node in graph.nodes]


def edges_of(count: int, *pairs: tuple[int, int]) -> csr_array:
    ones, others = zip(*pairs, strict=True)
    return csr_array((np.ones(len(pairs), np.int8), (ones, others)), shape=(count, count))


def test_what_two_large_ones_have_in_common_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radius_sizing, "LARGE", 2)
    # 0 leads to two rings (1 2) and (3 4), and both of these to 5.
    edges = edges_of(6, (0, 1), (0, 3), (1, 2), (2, 1), (3, 4), (4, 3), (2, 5), (4, 5))
    assert radius_sizes(edges).tolist() == [6, 3, 3, 3, 3, 1]


def test_more_large_ones_than_are_kept_are_passed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radius_sizing, "LARGE", 1)
    monkeypatch.setattr(radius_sizing, "MOST_LARGE", 1)
    edges = edges_of(4, (0, 1), (1, 2), (2, 3))
    assert radius_sizes(edges).tolist() == [4, 3, 2, 1]


def test_islands_hang_together_in_any_way() -> None:
    count, labels = islands(edges_of(4, (0, 1), (2, 1)))
    assert count == 2
    assert labels[0] == labels[1] == labels[2] != labels[3]


def test_an_empty_fleet() -> None:
    edges, _ = AccessGraph([], {}, {}).cut()
    assert radius_sizes(edges).tolist() == []


def test_what_does_not_count_is_passed_through() -> None:
    edges = edges_of(3, (0, 1), (1, 2))
    assert radius_sizes(edges, np.array([True, False, True])).tolist() == [2, 1, 1]
