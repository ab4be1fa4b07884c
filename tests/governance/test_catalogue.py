"""The catalogue of rules: complete, and made of sentences that can be shown."""

from __future__ import annotations

import re

import pytest

from hadash.governance.catalogue import CATALOGUE, Code, Entry

PLACE = re.compile(r"%\((\w+)\)s")


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=str)
def test_an_entry_says_what_is_found_when_and_what_to_do(entry: Entry) -> None:
    assert CATALOGUE[entry.code] is entry
    for sentence in (entry.title, entry.remedy):
        assert not PLACE.search(sentence.text), "it is shown without values"
    assert not PLACE.search(str(entry.holds)), "the figures that decide stand in it"
    assert PLACE.search(entry.evidence.text), "it says what was found"
    assert not entry.title.text.endswith(".")
    for sentence in (entry.holds, entry.remedy):
        assert str(sentence).endswith((".", ".)"))
    assert entry.source


def test_codes_are_words_for_addresses() -> None:
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.value) for code in Code)
