"""What documents name is there: pages that they link to, files, modules, targets of make and commands of
hadash-manage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Where the short paths of documents begin.
PLACES = (
    ROOT,
    *(ROOT / folder for folder in ("hadash", "hadash_sandbox", "tests", "spark")),
    *sorted(path for path in (ROOT / "hadash").iterdir() if path.is_dir()),
)
#: Commands of Django that documents name, and what stands for "any".
OF_DJANGO = {"migrate", "check", "clearsessions"}

LINK = re.compile(r"\]\(([^)#\s]+)?(?:#([^)\s]+))?\)")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+/[\w.-]+\.(?:py|sh|html|js|css|yml|yaml|toml|conf|service|timer)(?!\w)")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def codes(document: Path) -> Iterator[str]:
    text = document.read_text()
    yield from CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()


def anchors(document: Path) -> set[str]:
    """Those of its headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
class TestOfEach:
    def test_links_lead_somewhere(self, document: Path) -> None:
        for target, anchor in LINK.findall(document.read_text()):
            if "://" in target or target.startswith("mailto:"):
                continue
            page = (document.parent / target).resolve() if target else document
            assert page.exists(), f"{target} is not there"
            if anchor and page.suffix == ".md":
                assert anchor in anchors(page), f"{target}#{anchor} is not there"

    def test_files_are_there(self, document: Path) -> None:
        missing = [
            name
            for code in codes(document)
            for name in FILE.findall(code)
            if not name.startswith(("/", "var/", "etc/", ".venv", "http"))
            and "…" not in code
            and not any((place / name).exists() for place in PLACES)
        ]
        assert missing == []

    def test_commands_are_there(self, document: Path) -> None:
        ours = set(get_commands()) | OF_DJANGO
        for code in codes(document):
            for target in re.findall(r"(?:^|[\s`])make ([a-z][a-z-]+)", code):
                assert target in TARGETS, f"there is no make {target}"
            for command in re.findall(r"hadash-manage ([a-z_]+)", code):
                assert command in ours, f"there is no hadash-manage {command}"
