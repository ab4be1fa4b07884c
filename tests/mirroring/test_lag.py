"""Mirror lag, in records and in seconds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Partition
from hadash.mirroring.lag import Lag, measure, seconds_behind
from hadash.mirroring.offsets import OffsetSync

ORDERS, CARTS, NEW = Partition("orders", 0), Partition("carts", 0), Partition("new", 0)
ANCHORS = {ORDERS: OffsetSync(100, 0), CARTS: OffsetSync(7, 3)}


# -- in records ----------------------------------------------------------------------------------------------------


def test_lag_by_partition_and_in_sum() -> None:
    lag = measure(ANCHORS, {ORDERS: 140, CARTS: 9}, {ORDERS: 38, CARTS: 4})
    assert lag.partitions == {ORDERS: 2, CARTS: 1}
    assert lag.records == 3
    assert lag.excess == {}


def test_a_partition_without_an_anchor_is_left_out() -> None:
    """It was added to the Topic after the mirror was made: nobody knows where both sides correspond."""
    assert measure(ANCHORS, {ORDERS: 140, NEW: 9}, {ORDERS: 38, NEW: 0}).partitions == {ORDERS: 2}


def test_records_too_many_are_an_excess_and_no_lag() -> None:
    lag = measure(ANCHORS, {ORDERS: 140, CARTS: 12}, {ORDERS: 45, CARTS: 4})
    assert lag.partitions == {ORDERS: -5, CARTS: 4}
    assert lag.excess == {ORDERS: 5}
    assert lag.records == 4  # the excess of one partition does not pay for the lag of another


@given(st.dictionaries(st.builds(Partition, st.sampled_from("abc"), st.integers(0, 3)), st.integers(-99, 99)))
def test_lag_and_excess_never_meet(partitions: dict[Partition, int]) -> None:
    lag = Lag(partitions)
    assert lag.records - sum(lag.excess.values()) == sum(partitions.values())
    assert lag.records >= 0
    assert all(count > 0 for count in lag.excess.values())


# -- in seconds ----------------------------------------------------------------------------------------------------

HISTORY = [(7.0, 90), (8.0, 120), (9.0, 150)]


@pytest.mark.parametrize(
    ("mirrored", "seconds", "why"),
    [
        (150, 0.0, "nothing is missing"),
        (151, 0.0, "more was copied since the last look"),
        (149, 1.0, "the last record came between 8 and 9"),
        (120, 1.0, "everything of 8 is there"),
        (119, 2.0, "a record that was there at 8 is missing"),
        (90, 2.0, "everything of 7 is there"),
        (89, None, "it was missing before the first look already"),
    ],
)
def test_since_when_a_record_is_missing(mirrored: int, seconds: float | None, why: str) -> None:
    assert seconds_behind(10.0, mirrored, HISTORY) == seconds, why


def test_without_a_history_nothing_is_known_to_be_missing() -> None:
    assert seconds_behind(10.0, 100, []) == 0.0


def test_a_source_that_stands_still_gets_later_and_later() -> None:
    history = [(0.0, 100), (1.0, 105)] + [(float(at), 105) for at in range(2, 60)]
    assert seconds_behind(60.0, 100, history) == 59.0


def test_a_gap_in_the_history() -> None:
    """While nobody looked the record may have come at any time: it is missing since the first look after it."""
    assert seconds_behind(1000.0, 100, [(0.0, 100), (990.0, 500)]) == 10.0


histories = st.lists(st.tuples(st.floats(0.1, 100), st.integers(0, 50)), max_size=12).map(
    lambda steps: list(
        zip(
            itertools.accumulate(seconds for seconds, _ in steps),
            itertools.accumulate(records for _, records in steps),
            strict=True,
        )
    )
)


@given(histories, st.integers(0, 700))
def test_the_seconds_point_at_the_first_look_that_saw_the_record(
    history: list[tuple[float, int]], mirrored: int
) -> None:
    now = history[-1][0] + 1.0 if history else 1.0
    found = seconds_behind(now, mirrored, history)
    missing_at = [at for at, records in history if records > mirrored]
    if not missing_at:
        assert found == 0.0
    elif missing_at[0] == history[0][0]:
        assert found is None
    else:
        assert found == now - missing_at[0]


@given(histories, st.integers(0, 600), st.integers(0, 100))
def test_a_mirror_that_has_copied_more_is_never_later(
    history: list[tuple[float, int]], mirrored: int, more: int
) -> None:
    now = history[-1][0] + 1.0 if history else 1.0
    before, after = seconds_behind(now, mirrored, history), seconds_behind(now, mirrored + more, history)
    if before is not None:
        assert after is not None
        assert after <= before


def test_each_partition_has_a_history_of_its_own() -> None:
    """Orders lacks five records since second 1; carts takes a hundred a second and is level. In the sum of both the
    stuck one would be hidden: a hundred records are newer than it every second."""
    orders = [(0.0, 100)] + [(float(at), 105) for at in range(1, 60)]
    carts = [(float(at), 100 * at) for at in range(60)]
    assert seconds_behind(60.0, 100, orders) == 59.0
    assert seconds_behind(60.0, 5900, carts) == 0.0
    both = [(at, one + other) for (at, one), (_, other) in zip(orders, carts, strict=True)]
    assert seconds_behind(60.0, 100 + 5900, both) == 1.0
