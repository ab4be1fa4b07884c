"""No line of a template, script, stylesheet or document is too long to be read beside another; ruff holds Python to the
same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: As ``max-line-length`` of ruff in ``pyproject.toml``.
LONGEST = 120


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("hadash_sandbox/*.md")]

WHICH = ["templates/**/*.html", "static/*.js", "static/*.css", "setup/*.sh", "Makefile", "*.toml"]


@pytest.mark.parametrize("which", WHICH)
def test_no_line_is_too_long(which: str) -> None:
    files = sorted(ROOT.glob(which))
    assert files
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > LONGEST
    ]
    assert too_long == []


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Markdown document that could be wrapped, with their numbers: not those of tables, of code, and of
    pictures. A command in a sentence counts as a word.
    """
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith(("|", "![")):
            yield number, COMMAND.sub("`command`", line)


#: A command within a sentence that is too long to stand beside anything.
COMMAND = re.compile(r"`[^`]{60,}`")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_line_of_a_document_is_too_long(path: Path) -> None:
    assert [number for number, line in prose(path.read_text()) if len(line) > LONGEST] == []
