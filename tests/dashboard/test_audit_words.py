"""Everything that is recorded has a word on the audit page: what has none would stand there in English, also
in Chinese.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from hadash.presentation.labels import VERBS
from hadash.switching.models.switches import StageRecord

HADASH = Path(__file__).resolve().parents[2] / "hadash"


def recorded() -> Iterator[tuple[str, str]]:
    """Verb and place of each ``record(actor, "verb", …)``; of one that depends on something, both."""
    for path in sorted(HADASH.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "record":
                said = node.args[1] if len(node.args) > 1 else None
                either = [said.body, said.orelse] if isinstance(said, ast.IfExp) else [said]
                for each in either:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value, f"{path.relative_to(HADASH)}:{node.lineno}"


def test_each_verb_has_a_word() -> None:
    found = list(recorded())
    assert len(found) > 50
    assert [f"{verb} ({where})" for verb, where in found if verb not in VERBS] == []


def test_so_has_each_end_of_a_stage() -> None:
    ended = set(StageRecord.Result) - {StageRecord.Result.RUNNING}
    assert {f"stage {result.value}" for result in ended} <= set(VERBS)
