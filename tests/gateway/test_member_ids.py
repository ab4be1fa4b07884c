"""Which cluster gave out a producer id or member id: remembered for all processes of a Gateway, and over restarts."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.clients import member_ids as module
from hadash.gateway.clients.member_ids import MemberIds

NUMBERS = {"east": 1, "west": 2}


def test_what_was_not_seen_has_no_origin() -> None:
    assert MemberIds(NUMBERS).of(4000, 0) is None


def test_each_key_has_the_origin_that_was_seen_last() -> None:
    origins = MemberIds(NUMBERS)
    origins.remember("east", 4000, 0, "orders", 1)
    origins.remember("west", 4000, 1, "orders", 1)
    origins.remember("east", "member-1")
    assert origins.of(4000, 0, "orders", 1) == "east"
    assert origins.of(4000, 1, "orders", 1) == "west"
    assert origins.of("member-1") == "east"
    origins.remember("west", "member-1")
    assert origins.of("member-1") == "west"


keys = st.tuples(st.integers(-1, 2**63), st.integers(0, 2**15), st.text(max_size=5), st.integers(0, 99))


@given(st.dictionaries(keys, st.sampled_from(["east", "west"]), max_size=50))
def test_keys_do_not_disturb_each_other(known: dict[tuple[int, int, str, int], str]) -> None:
    origins = MemberIds(NUMBERS)
    for key, cluster in known.items():
        origins.remember(cluster, *key)
    assert {key: origins.of(*key) for key in known} == known


def test_it_is_bounded_and_what_is_new_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOTS", 64)
    origins = MemberIds(NUMBERS)
    for number in range(1000):
        origins.remember("east", number)
        assert origins.of(number) == "east"
    assert sum(origins.of(number) is not None for number in range(1000)) <= 64


def _remember(path: Path) -> None:
    MemberIds(NUMBERS, path).remember("west", 4000, 7)


def test_another_process_sees_it_at_once_and_it_outlives_both(tmp_path: Path) -> None:
    path = tmp_path / "state" / "origins"
    mine = MemberIds(NUMBERS, path)
    mine.remember("east", "member-1")
    other = multiprocessing.get_context("spawn").Process(target=_remember, args=(path,))
    other.start()
    other.join()
    assert mine.of(4000, 7) == "west"
    mine.close()
    assert MemberIds(NUMBERS, path).of("member-1") == "east"


def test_a_file_of_another_size_is_made_to_fit(tmp_path: Path) -> None:
    path = tmp_path / "origins"
    path.write_bytes(b"")
    origins = MemberIds(NUMBERS, path)
    origins.remember("east", 1)
    assert origins.of(1) == "east"
