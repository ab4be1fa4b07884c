"""Anchors, without a database: which one does not fit, which one is missing, and who has signed them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from typing import Any

import pytest

from hadash.audit import anchors as anchors_module
from hadash.audit.anchors import Anchor, drop_anchor, first_broken, first_missing, first_unanchored, parsed
from hadash.audit.models import Entry


def anchor(number: int, digest: str, previous: Anchor | None = None) -> Anchor:
    return Anchor(number, digest, "2026-11-24T10:00:00+00:00", previous=previous.name if previous else "")


def entry(number: int, digest: str, at: str = "2026-11-24T09:59:00+00:00") -> dict[str, Any]:
    return {"number": number, "digest": digest, "at": at}


@pytest.mark.parametrize("there", ["a", "b"])
def test_of_two_anchors_with_the_same_number_both_count(there: str) -> None:
    first, second = anchor(1, "a"), anchor(1, "b")
    broken = first_broken([first, second], [entry(1, there)])
    assert broken == (second if there == "a" else first)


def test_an_anchor_that_a_later_one_follows_is_missed() -> None:
    first = anchor(1, "a")
    second = anchor(2, "b", first)
    third = anchor(3, "c", second)
    assert first_missing([first, second, third]) is None
    assert first_missing([first, third]) == second.name
    assert first_missing([second, third]) == first.name


def test_the_newest_anchor_is_missed_when_entries_have_waited_for_it() -> None:
    log = [entry(1, "a"), entry(2, "b")]
    late, early = (datetime.fromisoformat(f"2026-11-24T{hour}:00:00+00:00") for hour in ("10", "09"))
    assert first_unanchored([anchor(1, "a")], log, late) == log[1]
    assert first_unanchored([anchor(1, "a")], log, early) is None
    assert first_unanchored([anchor(1, "a"), anchor(2, "b")], log, late) is None
    assert first_unanchored([], log, late) == log[0]


class Folder:
    """A store in memory."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def files(self, folder: str) -> dict[str, int]:
        return dict.fromkeys(sorted(self.held), 1)

    def exists(self, name: str) -> bool:
        return name in self.held

    def write_json(self, name: str, value: Any) -> None:
        self.held[name] = value


def test_each_anchor_names_the_one_before_it_and_signs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = Folder()
    monkeypatch.setattr(anchors_module, "note_anchored", lambda entry: None)
    for number, digest in ((1, "a"), (2, "b")):
        monkeypatch.setattr(anchors_module, "head", lambda n=number, d=digest: Entry(number=n, digest=d))
        drop_anchor(store)
    first, second = store.held.values()
    assert (first["previous"], second["previous"]) == ("", parsed(first).name)  # type: ignore[union-attr]
    assert parsed(second | {"previous": ""}) is None
    assert parsed(second | {"previous": None, "at": f"{second['at']} {second['previous']}"}) is None


def test_an_anchor_that_names_none_before_it_is_none() -> None:
    made = Anchor(7, "c", "2026-11-01T10:00:00+00:00")
    said = {"number": 7, "digest": "c", "at": made.at, "signature": made.signer.signature(made.signed)}
    assert parsed(said | {"previous": ""}) is not None
    assert parsed(said) is None


def test_an_anchor_of_an_earlier_key_holds_while_that_key_is_known(settings: Any) -> None:
    made = Anchor(7, "c", "2026-11-01T10:00:00+00:00", previous="")
    said = {
        "number": 7,
        "digest": "c",
        "at": made.at,
        "previous": "",
        "signature": made.signer.signature(made.signed),
    }
    settings.SECRET_KEY, earlier = "another", settings.SECRET_KEY
    assert parsed(said) is None
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert parsed(said) is not None


def test_earlier_keys_come_from_the_environment() -> None:
    asked = "from hadash import settings; print(settings.SECRET_KEY_FALLBACKS)"
    environment = {**os.environ, "HADASH_SECRET_KEY_FALLBACKS": "old, older"}
    said = subprocess.run(
        [sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout == "['old', 'older']\n"
