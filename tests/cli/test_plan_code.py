"""The exit code of ``plan``, on answers that are made up."""

from __future__ import annotations

import argparse
import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hadash.cli import __main__ as cli


@pytest.mark.parametrize(
    ("checks", "blockers", "held_by", "code"),
    [
        ("hold", [], None, 0),
        ("failed", ["No mirror."], None, 1),
        ("not made", ["It is bound to west."], None, 1),
        ("unknown", ["Connect does not answer."], None, 3),
        ("unknown", ["Connect does not answer."], {"key": "x"}, 1),
        ("hold", [], {"key": "x"}, 1),
    ],
)
def test_refused_and_unknown_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, checks: str, blockers: list[str], held_by: Any, code: int
) -> None:
    monkeypatch.setattr(cli, "_asked", lambda options: {})
    monkeypatch.setattr(cli.show, "plan", lambda draft: "")
    draft = {"checks": checks, "blockers": blockers, "held_by": held_by}
    api: Any = SimpleNamespace(post=lambda path, body: draft)
    assert cli._plan(api, argparse.Namespace(), Console(file=io.StringIO())) == code
