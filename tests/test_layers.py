"""Every folder of hadash, and all there is in the Gateway and in switching, has its place among the layers that
import-linter holds.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONTRACTS: dict[str, Any] = {
    contract["name"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}

#: What has none: settings name everything, and translations nothing.
OUTSIDE = {"settings", "locale"}


def placed(name: str) -> set[str]:
    return {part for layer in CONTRACTS[name]["layers"] for part in re.split(r" *[|:] *", layer)}


def test_every_folder_has_a_layer() -> None:
    folders = {path.parent.name for path in ROOT.glob("hadash/*/__init__.py")}
    assert {f"hadash.{name}" for name in folders - OUTSIDE} <= placed("Layers")


@pytest.mark.parametrize(
    ("folder", "contract", "without"),
    [
        ("switching", "Inside of switching", {"__init__", "apps", "management", "migrations"}),
        ("gateway", "Inside of the Gateway", {"__init__"}),
    ],
)
def test_every_module_has_a_layer(folder: str, contract: str, without: set[str]) -> None:
    within = ROOT / "hadash" / folder
    modules = {path.stem for path in within.glob("*.py")} | {
        path.parent.name for path in within.glob("*/__init__.py")
    }
    assert modules - without <= placed(contract)
