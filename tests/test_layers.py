"""Every folder of hadash, and every module of switching, has its place among the layers that import-linter holds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

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


def test_every_module_of_switching_has_a_layer() -> None:
    within = ROOT / "hadash" / "switching"
    modules = {path.stem for path in within.glob("*.py")} | {
        path.parent.name for path in within.glob("*/__init__.py")
    }
    assert modules - {"__init__", "apps", "management", "migrations"} <= placed("Inside of switching")
