"""The report of a benchmark: goals and tables, printed, and written as JSON to compare runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from hadash_sandbox.bench.machine import Machine


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed (nearest rank).

    >>> quantile([5, 1, 4, 2, 3], 0.5), quantile(range(1, 21), 0.95), quantile([7], 0.95)
    (3, 19, 7)
    """
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered) - 1e-9) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle.

    >>> median([4, 1, 3, 2])
    2.5
    """
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


@dataclass
class Report:
    """The results of one run: goals, each met or missed, and tables.

    :param machine: what it runs on; ``None``: not measured.
    """

    goals: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    machine: Machine | None = None

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
        """Add the goal that ``measured`` is at most ``goal``.

        :param measured: ``None`` when nothing was measured: then the goal is missed.
        :param samples: the number of measurements behind ``measured``, if it is not a single count. With fewer than
            ``needed``, the goal is missed in any case.
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
        """Add the goal that ``measured`` is at least ``goal``; see :meth:`at_most`."""
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
        """0 only when there are goals, and each was measured and met. Every trial and benchmark ends with it."""
        return 0 if self.goals and all(goal["met"] for goal in self.goals) else 1

    def row(self, table: str, **values: Any) -> None:
        """Add a row to a table, and print it."""
        self.tables.setdefault(table, []).append(values)
        print("  " + "  ".join(f"{name} {value}" for name, value in values.items()), flush=True)

    def write(self, path: Path, more: Mapping[str, Any] | None = None) -> None:
        """Write goals and tables as JSON.

        :param more: further values for the file.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        described = self.machine.described() if self.machine else None
        whole = {"goals": self.goals, "machine": described, **self.tables, **(more or {})}
        path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    def print(self) -> None:
        """Print all tables, and then the goals."""
        for title, rows in self.tables.items():
            print(f"\n{title}")
            columns = list(dict.fromkeys(name for row in rows for name in row))
            cells = [columns] + [[str(row.get(name, "")) for name in columns] for row in rows]
            widths = [max(len(line[n]) for line in cells) for n in range(len(columns))]
            for line in cells:
                print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
        self.print_goals()

    def print_goals(self) -> None:
        """Print a line for each goal: met or MISSED."""
        print()
        for goal in self.goals:
            mark = "met   " if goal["met"] else "MISSED"
            measured = "nothing" if goal["measured"] is None else goal["measured"]
            of = f" (samples {goal['samples']}, needed {goal['needed']})" if "samples" in goal else ""
            print(f"{mark} {goal['name']:58} goal {goal['goal']:>7} {goal['unit']:9} measured {measured}{of}")
        if not self.goals:
            print("MISSED everything: nothing was measured.")
        if self.machine:
            told = self.machine.described()
            stolen = "not known" if told["stolen_percent"] is None else f"{told['stolen_percent']} %"
            print(
                f"\nOn {told['cores']} cores ({told['system']}); one adds ten million times in Python within "
                f"{told['ten_million_additions_seconds']} s; taken by other guests of the host meanwhile: {stolen}."
            )

    def conclude(self, path: Path) -> int:
        """Write and print the report at the end of a benchmark; return the exit code."""
        self.write(path)
        self.print()
        print(f"\nWritten to {path}.")
        return self.exit_code


def begin(path: Path) -> Report:
    """A new report for a run that begins now, on this machine.

    The file of an earlier run is deleted, so that it is not taken for the result of this run if it fails.
    """
    path.unlink(missing_ok=True)
    return Report(machine=Machine.measured())
