"""``make fault``: runs every fault in every stage under load, and writes ``var/bench/fault.json``."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from hadash_sandbox.bench.records import explain, judge_records
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.demo import ROOT
from hadash_sandbox.ending import finish
from hadash_sandbox.fault.cell import Cells
from hadash_sandbox.fault.faults import FAULTS
from hadash_sandbox.fault.fleet import Fleet
from hadash_sandbox.fault.outcome import Outcome, Row, matrix
from hadash_sandbox.fault.points import WITHIN
from hadash_sandbox.trial import Trial

#: The stages of a switch that succeeds.
STAGES = tuple(WITHIN)

_log = partial(print, flush=True)

Cell = tuple[str, str]


def fault_table(faults: Sequence[str] = (), stages: Sequence[str] = ()) -> int:
    """Run every fault (or ``faults``) in every stage (or ``stages``); return 0 only if every goal is met."""
    todo = [(fault, stage) for fault in faults or FAULTS for stage in stages or STAGES]
    planned = len(todo)
    path = ROOT / "var" / "bench" / "fault.json"
    begin(path)
    began = time.monotonic()
    rows: list[Row] = []
    verdicts: list[dict[str, Any]] = []
    while todo:
        todo = _on_one_fleet(todo, planned, rows, verdicts, path)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{len(rows)} cells in {minutes:.0f} min.")
    return judge_cells(rows, verdicts, planned).conclude(path)


def _on_one_fleet(
    todo: list[Cell], planned: int, rows: list[Row], verdicts: list[dict[str, Any]], path: Path
) -> list[Cell]:
    """Run cells on a new fleet until one leaves it unusable; return the cells that are left."""
    with _fleet() as fleet:
        trial = Trial(fleet, _log)
        trial.await_traffic()
        cells = Cells(fleet, trial, _log)
        left = list(todo)
        own: list[Row] = []
        while left:
            fault, stage = left.pop(0)
            row = cells.run(FAULTS[fault], stage)
            own.append(row)
            _log(f"[{len(rows) + len(own)}] " + ", ".join(f"{k} {v}" for k, v in row.values().items()))
            judge_cells([*rows, *own], verdicts, planned).write(path)
            if not row.clean:
                _keep_logs(fleet.data_dir, fault, stage)
            if (row.manual and row.outcome is not Outcome.PERSON) or row.outcome is Outcome.NEVER:
                _log("A new fleet for what follows.")
                break
        verdicts.append({"cells": len(own), **finish(trial)})
        for row in own:
            cells.count(row)
        rows += own
        _log("Over all of this fleet: " + _short(verdicts[-1]))
        for line in explain(verdicts[-1]):
            _log(line)
        return left


@contextmanager
def _fleet() -> Iterator[Fleet]:
    # Not a TemporaryDirectory: for root, PostgreSQL runs as another user, and deleting its files may fail.
    folder = Path(tempfile.mkdtemp(prefix="hadash-fault-"))
    try:
        with Fleet(folder, _log) as fleet:
            yield fleet
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_logs(folder: Path, fault: str, stage: str) -> None:
    """Keep the logs of all processes, so that the reason can be found."""
    kept = ROOT / "var" / "fault-logs" / f"{fault}-{stage}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / "logs", kept)


def judge_cells(rows: Sequence[Row], verdicts: Sequence[dict[str, Any]], planned: int) -> Report:
    """The report with the goals for the cells, and for all records of each fleet.

    :param planned: the number of cells that there should be.
    """
    report = Report()

    def none(name: str, found: int, unit: str) -> None:
        report.at_most(name, 0, found, unit, samples=len(rows), needed=planned)

    none("cells whose stage was not reached", sum(r.outcome is Outcome.NOT_REACHED for r in rows), "cells")
    none("cells whose switch never ended", sum(r.outcome is Outcome.NEVER for r in rows), "cells")
    none("cells that needed a person", sum(row.person for row in rows), "cells")
    none("writes with an old token", sum(len(row.late_writes) for row in rows), "writes")
    none("processes of hadash that ended unhit", sum(len(row.ended) for row in rows), "processes")
    none("in cells: records lost", sum(row.lost for row in rows), "records")
    none("in cells: records duplicated", sum(row.duplicated for row in rows), "records")
    none(
        "in cells: records out of order, or perhaps",
        sum(r.out_of_order + r.ambiguous for r in rows),
        "records",
    )
    judge_records(report, verdicts, "over all: ")
    report.tables["cells"] = [row.values() for row in rows]
    report.tables["fault × stage"] = matrix(rows)
    report.tables["over all of each fleet"] = [
        {k: v for k, v in verdict.items() if k not in ("groups", "logs")} for verdict in verdicts
    ]
    return report


def _short(verdict: dict[str, Any]) -> str:
    wanted = (
        "records_sent",
        "lost",
        "duplicated",
        "out_of_order",
        "ambiguous",
        "damaged",
        "delivery_failures",
        "clients_restarted",
    )
    return ", ".join(f"{name} {verdict[name]}" for name in wanted)
