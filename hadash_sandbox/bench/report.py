"""Goals and tables: what a benchmark prints, and writes for whoever compares runs."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of the values are not above (the nearest rank).

    >>> quantile([5, 1, 4, 2, 3], 0.5), quantile(range(1, 21), 0.95), quantile([7], 0.95)
    (3, 19, 7)
    """
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered) - 1e-9) - 1)]


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
    """What one run has found, and whether that is good enough."""

    goals: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def at_most(
        self,
        name: str,
        goal: float,
        measured: float | None,
        unit: str,
        *,
        samples: int | None = None,
        needed: int = 1,
    ) -> None:
        """
        :param measured: ``None`` when nothing was measured: then the goal is missed.
        :param samples: how many measurements ``measured`` was made of, where that is more than one count. With fewer
            than ``needed`` the goal is missed, whatever they say.
        """
        self._goal(name, goal, measured, unit, measured is not None and measured <= goal, samples, needed)

    def at_least(
        self,
        name: str,
        goal: float,
        measured: float | None,
        unit: str,
        *,
        samples: int | None = None,
        needed: int = 1,
    ) -> None:
        """As :meth:`at_most`, the other way round."""
        self._goal(name, goal, measured, unit, measured is not None and measured >= goal, samples, needed)

    def _goal(
        self,
        name: str,
        goal: float,
        measured: float | None,
        unit: str,
        met: bool,
        samples: int | None,
        needed: int,
    ) -> None:
        found: dict[str, Any] = {"name": name, "goal": goal, "unit": unit, "met": met}
        found["measured"] = None if measured is None else round(measured, 4)
        if samples is not None:
            found |= {"samples": samples, "needed": needed, "met": met and samples >= needed}
        self.goals.append(found)

    @property
    def exit_code(self) -> int:
        """0 only when there are goals and each was measured and met: every trial and benchmark ends with it."""
        return 0 if self.goals and all(goal["met"] for goal in self.goals) else 1

    def row(self, table: str, **values: Any) -> None:
        self.tables.setdefault(table, []).append(values)
        print("  " + "  ".join(f"{name} {value}" for name, value in values.items()), flush=True)

    def write(self, path: Path, more: Mapping[str, Any] | None = None) -> None:
        """
        :param more: what the file has beside goals and tables.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        machine = f"{platform.machine()}, {platform.system()} {platform.release()}"
        whole = {"goals": self.goals, "machine": machine, **self.tables, **(more or {})}
        path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    def print(self) -> None:
        for title, rows in self.tables.items():
            print(f"\n{title}")
            columns = list(dict.fromkeys(name for row in rows for name in row))
            cells = [columns] + [[str(row.get(name, "")) for name in columns] for row in rows]
            widths = [max(len(line[n]) for line in cells) for n in range(len(columns))]
            for line in cells:
                print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
        self.print_goals()

    def print_goals(self) -> None:
        print()
        for goal in self.goals:
            mark = "met   " if goal["met"] else "MISSED"
            measured = "nothing" if goal["measured"] is None else goal["measured"]
            of = f" (samples {goal['samples']}, needed {goal['needed']})" if "samples" in goal else ""
            print(f"{mark} {goal['name']:58} goal {goal['goal']:>7} {goal['unit']:9} measured {measured}{of}")
        if not self.goals:
            print("MISSED everything: nothing was measured.")

    def conclude(self, path: Path) -> int:
        """Write and print it: how a benchmark ends; its exit code."""
        self.write(path)
        self.print()
        print(f"\nWritten to {path}.")
        return self.exit_code


def begin(path: Path) -> Report:
    """The report of a run that begins now.

    What an earlier run wrote is removed: if this one fails, it must not be taken for its result.
    """
    path.unlink(missing_ok=True)
    return Report()
