"""Lists as people type and paste them, and the waves that come of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.switching.batches.waves import Line, in_waves, read_list


def test_one_name_a_line_with_or_without_its_wave() -> None:
    lines, faults = read_list("orders; 2\n\n  returns\na,b；1\r\norders;2\n")
    assert lines == [Line("orders", 2), Line("returns"), Line("a,b", 1)]
    assert faults == []


@pytest.mark.parametrize("line", ["orders;", "orders; two", "; 2", "orders; 0", "orders; -1", "a; 1234567"])
def test_what_cannot_be_understood_is_told_with_its_line(line: str) -> None:
    lines, faults = read_list(f"good\n{line}")
    assert lines == [Line("good")]
    assert [str(fault) for fault in faults] == [
        "Line 2: write a name, or a name; and the number of its wave."
    ]


def test_two_waves_for_one_name() -> None:
    _, faults = read_list("orders; 1\norders; 2")
    assert [str(fault) for fault in faults] == ["Line 2: orders stands in another wave above."]


@given(
    st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=30),
    st.integers(1, 7),
    st.one_of(st.none(), st.integers(1, 3)),
)
def test_waves_are_as_large_as_said_and_what_was_said_stays(
    said: list[int | None], size: int, first: int | None
) -> None:
    waves = in_waves(said, size, first)
    assert [wave for wave, number in zip(waves, said, strict=True) if number is not None] == [
        number for number in said if number is not None
    ]
    own = [wave for wave, number in zip(waves, said, strict=True) if number is None]
    assert own == sorted(own)
    after = max((number for number in said if number is not None), default=0)
    counts = [own.count(wave) for wave in sorted(set(own))]
    assert sorted(set(own)) == list(range(after + 1, after + 1 + len(counts)))
    if counts:
        assert counts[0] <= (size if first is None else first)
        assert all(count == size for count in counts[1:-1])
        assert len(counts) == 1 or counts[0] == (first or size)
