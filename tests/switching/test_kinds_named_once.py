"""What differs between the kinds of switch stands in their rows (:data:`KINDS`, :data:`RUNS`): nothing else asks for
a kind by its name, so that a new kind is a row and its stages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hadash.switching.machines.switches import Kind

ROOT = Path(__file__).parent.parent.parent

#: The rows of the kinds.
ROWS = ("hadash/switching/machines/switches.py", "hadash/switching/stages/ways.py")

#: What makes something of one kind only: the plan of a read split, and requests to go back.
MAKERS = (
    "hadash/switching/planning/readers.py",
    "hadash/cli/__main__.py",
    "hadash/dashboard/views/switches.py",
)

#: A planned switch is what is meant where nothing is said: as a default, and for the tag that it does not have.
NAMED = re.compile(rf"\bKind\.({'|'.join(kind.name for kind in Kind if kind is not Kind.PLANNED)})\b")


@pytest.mark.parametrize("folder", ["hadash", "tasks", "spark"])
def test_no_module_names_a_kind(folder: str) -> None:
    files = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / folder).rglob("*.py")}
    assert files
    assert [name for name, text in files.items() if NAMED.search(text) and name not in (*ROWS, *MAKERS)] == []


@pytest.mark.parametrize("name", [*ROWS, *MAKERS])
def test_those_that_may_do(name: str) -> None:
    assert NAMED.search((ROOT / name).read_text())


@pytest.mark.parametrize("which", ["templates/**/*.html", "static/*.js"])
def test_no_page_names_a_kind(which: str) -> None:
    values = "|".join(kind.value for kind in Kind)
    compares = re.compile(rf"\bkind\s*[!=]==?\s*[\"']({values})[\"']")
    files = sorted(ROOT.glob(which))
    assert files
    assert [path.name for path in files if compares.search(path.read_text())] == []
