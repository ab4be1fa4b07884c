"""No line of a template, script or stylesheet is too long to be read beside another; ruff holds Python to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: As ``max-line-length`` of ruff in ``pyproject.toml``.
LONGEST = 120


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
