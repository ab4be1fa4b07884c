"""Which cluster knows a producer id or a member: remembered, but not for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.origins import MAX_ENTRIES, Origins


def test_what_was_never_seen_is_unknown() -> None:
    assert Origins().of(4000, 0) is None


def test_an_id_belongs_to_the_cluster_that_was_named_last() -> None:
    origins = Origins()
    origins.remember("east", 4000, 0)
    origins.remember("east", 4000, 1)
    origins.remember("west", 4000, 1)
    assert origins.of(4000, 0) == "east"
    assert origins.of(4000, 1) == "west"


def test_the_one_that_was_silent_longest_goes_first() -> None:
    origins = Origins(max_entries=2)
    origins.remember("east", "member-1")
    origins.remember("east", "member-2")
    assert origins.of("member-1") == "east"  # has been heard of again
    origins.remember("west", "member-3")
    assert [origins.of(f"member-{n}") for n in (1, 2, 3)] == ["east", None, "west"]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["east", "west"]))), st.integers(1, 5))
def test_it_never_holds_more_than_it_may(seen: list[tuple[int, str]], limit: int) -> None:
    origins = Origins(max_entries=limit)
    for number, cluster in seen:
        origins.remember(cluster, number, 0)
    known = [number for number in range(10) if origins.of(number, 0)]
    assert len(known) == min(limit, len({number for number, _ in seen}))
    if seen:
        assert origins.of(seen[-1][0], 0) == seen[-1][1]


def test_the_limit_holds_a_large_estate() -> None:
    assert MAX_ENTRIES >= 100_000
