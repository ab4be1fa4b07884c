"""``docs/settings.md`` lists every variable, and says of each what it is for."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from django.conf import settings

from tests.docs_scripts import load

#: Variables that no operator sets: a Gateway's parent sets them for its processes.
INTERNAL = {"HADASH_GATEWAY_WORKER", "HADASH_GATEWAY_READY_FD"}


@pytest.fixture(scope="module")
def listing() -> ModuleType:
    return load("list_settings")


def test_the_page_is_up_to_date(listing: ModuleType) -> None:
    found = listing.PAGE.read_text(encoding="utf-8")
    assert found == listing.page(), "run: .venv/bin/python docs/list_settings.py"


def test_every_variable_in_the_code_is_listed(listing: ModuleType) -> None:
    page = listing.page()
    missing = {
        name
        for folder in ("hadash", "spark", "tasks")
        for file in (settings.BASE_DIR / folder).rglob("*.py")
        for name in re.findall(r"HADASH_[A-Z_0-9]*[A-Z0-9]\b", file.read_text(encoding="utf-8"))
        if f"`{name.removesuffix('_FILE')}`" not in page and f"`{name}`" not in page
    }
    assert missing == INTERNAL


def test_every_variable_is_explained_once(listing: ModuleType) -> None:
    entries = [entry for _, found in listing.sections() for entry in found]
    unexplained = [each.name for entry in entries for each in entry.settings if not entry.text]
    assert unexplained == []
    names = [each.name for entry in entries for each in entry.settings]
    assert len(names) == len(set(names))
