"""Runs the parts of ``make bench-coordinator``."""

from __future__ import annotations

from collections.abc import Sequence

from hadash_sandbox.bench.coordinator import assigning, rebalances
from hadash_sandbox.bench.report import begin
from hadash_sandbox.demo import ROOT

PARTS = {"strategies": assigning.measure, "rebalances": rebalances.measure}


def bench_coordinator(parts: Sequence[str] = ()) -> int:
    """Measure, print, and write ``var/bench/coordinator.json``; return the exit code, 1 when a goal is missed.

    :param parts: of :data:`PARTS`; the default is all.
    """
    path = (
        ROOT / "var" / "bench" / ("coordinator.json" if not parts else f"coordinator-{'-'.join(parts)}.json")
    )
    report = begin(path)
    for name in parts or PARTS:
        PARTS[name](report)
    return report.conclude(path)
