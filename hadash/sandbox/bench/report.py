"""Goals and tables: what a benchmark prints, and writes for whoever compares runs."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie.

    >>> quantile([5, 1, 4, 2, 3], 0.5)
    3
    """
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle.

    >>> median([4, 1, 3, 2])
    2.5
    """
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


@dataclass
class Report:
    """What one run has found."""

    goals: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def at_most(self, name: str, goal: float, measured: float, unit: str) -> None:
        self._goal(name, goal, measured, unit, measured <= goal)

    def at_least(self, name: str, goal: float, measured: float, unit: str) -> None:
        self._goal(name, goal, measured, unit, measured >= goal)

    def _goal(self, name: str, goal: float, measured: float, unit: str, met: bool) -> None:
        self.goals.append(
            {"name": name, "goal": goal, "measured": round(measured, 4), "unit": unit, "met": met}
        )

    def row(self, table: str, **values: Any) -> None:
        self.tables.setdefault(table, []).append(values)
        print("  " + "  ".join(f"{name} {value}" for name, value in values.items()), flush=True)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        machine = f"{platform.machine()}, {platform.system()} {platform.release()}"
        text = json.dumps(
            {"goals": self.goals, "machine": machine, **self.tables}, indent=2, ensure_ascii=False
        )
        path.write_text(text + "\n")

    def print(self) -> None:
        for title, rows in self.tables.items():
            print(f"\n{title}")
            columns = list(dict.fromkeys(name for row in rows for name in row))
            cells = [columns] + [[str(row.get(name, "")) for name in columns] for row in rows]
            widths = [max(len(line[n]) for line in cells) for n in range(len(columns))]
            for line in cells:
                print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
        print()
        for goal in self.goals:
            mark = "met   " if goal["met"] else "MISSED"
            print(
                f"{mark} {goal['name']:58} goal {goal['goal']:>7} {goal['unit']:9} measured {goal['measured']}"
            )
