"""The chain shows every change: of a value, of the order, of the number of entries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.audit.chain import BEGINNING, FIELDS, Verdict, digest_of, verify

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def chained(details: list[Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    previous = BEGINNING
    for number, each in enumerate(details, 1):
        entry = {
            "number": number,
            "at": f"2026-11-21T10:00:{number:02}+00:00",
            "actor": "olga",
            "verb": "request",
            "subject": "switch 1",
            "address": "127.0.0.1",
            "details": each,
            "previous": previous,
        }
        previous = entry["digest"] = digest_of(entry)
        entries.append(entry)
    return entries


logs = st.lists(values, min_size=1, max_size=6).map(chained)


@given(logs)
def test_a_log_as_it_was_written_is_whole(log: list[dict[str, Any]]) -> None:
    again = [json.loads(json.dumps(entry, ensure_ascii=False)) for entry in log]
    assert verify(again) == Verdict(len(log), log[-1]["digest"])


def test_an_empty_log_is_whole() -> None:
    assert verify([]) == Verdict(0, BEGINNING)


@given(logs, st.data(), st.sampled_from([*FIELDS, "digest"]))
def test_a_changed_entry_is_found(log: list[dict[str, Any]], data: st.DataObject, field: str) -> None:
    index = data.draw(st.integers(0, len(log) - 1))
    log[index] = {**log[index], field: "something else"}
    found = verify(log)
    assert found.fault
    assert found.entries == index


@given(logs, st.data())
def test_so_is_one_whose_own_digest_was_made_anew(log: list[dict[str, Any]], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(log) - 1))
    changed = {**log[index], "actor": "nobody"}
    changed["digest"] = digest_of(changed)
    noted = log[-1]["digest"]
    log[index] = changed
    assert verify(log, expected=noted).fault


@given(logs, st.data())
def test_a_missing_entry_is_found(log: list[dict[str, Any]], data: st.DataObject) -> None:
    noted = log[-1]["digest"]
    del log[data.draw(st.integers(0, len(log) - 1))]
    assert verify(log, expected=noted).fault


@given(logs)
def test_an_entry_too_many_is_found(log: list[dict[str, Any]]) -> None:
    assert verify([*log, log[-1]]).fault
    assert verify([log[0], *log]).fault


@pytest.mark.parametrize(
    ("cut", "fault"),
    [
        (slice(0, 2), "No entry has the digest"),
        (slice(1, 3), "After entry 0 comes entry 2: one is missing, or one too many."),
        (slice(0, 0), "No entry has the digest"),
    ],
    ids=["the end", "the beginning", "everything"],
)
def test_what_was_noted_elsewhere_shows_a_log_that_was_shortened(cut: slice, fault: str) -> None:
    log = chained([1, 2, 3])
    assert fault in verify(log[cut], expected=log[2]["digest"]).fault
