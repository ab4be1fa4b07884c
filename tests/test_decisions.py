"""``docs/adr/``: every decision has a status, and the list in its README has all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

FOLDER = settings.BASE_DIR / "docs" / "adr"
RECORDS = sorted(FOLDER.glob("0*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_the_list_has_its_number_title_and_status(record: Path) -> None:
    title, _, status, *_ = record.read_text(encoding="utf-8").splitlines()
    number, name = re.fullmatch(r"# (\d+)\. (.+)", title).groups()  # type: ignore[union-attr]
    (word, day) = re.fullmatch(r"\*\*Status\.\*\* (\w+).* on (\d{4}-\d\d-\d\d)\.", status).groups()  # type: ignore[union-attr]
    row = f"| [{number}]({record.name}) | {name} | {word.lower()}, {day} |"
    assert row in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    assert int(record.name[:4]) == int(number)


def test_numbers_have_no_gap() -> None:
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
