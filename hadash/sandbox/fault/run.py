"""``make fault``: every fault in every stage, on the real stack under numbered load; writes ``var/bench/fault.json``."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from hadash.bindings.errors import BindingError
from hadash.kafka.errors import ConnectError
from hadash.sandbox.bench.report import Report
from hadash.sandbox.demo import ROOT
from hadash.sandbox.errors import SandboxError
from hadash.sandbox.fault.cell import Cells
from hadash.sandbox.fault.estate import Estate
from hadash.sandbox.fault.faults import FAULTS
from hadash.sandbox.fault.outcome import Outcome, Row, matrix
from hadash.sandbox.fault.points import WITHIN
from hadash.sandbox.trial import Trial

#: The stages of a switch that goes well.
STAGES = tuple(WITHIN)

#: How often a cell is begun whose switch ended before its stage: the Gateway that was killed in the cell before lets its clients come
#: back for half a minute, and a switch gives up after ten seconds of that.
ATTEMPTS = 5

_log = partial(print, flush=True)

Cell = tuple[str, str]


def fault_table(faults: Sequence[str] = (), stages: Sequence[str] = ()) -> int:
    """Every fault (or ``faults``) in every stage (or ``stages``). 0 only if every goal is met."""
    todo = [(fault, stage) for fault in faults or FAULTS for stage in stages or STAGES]
    path = ROOT / "var" / "bench" / "fault.json"
    began = time.monotonic()
    rows: list[Row] = []
    verdicts: list[dict[str, Any]] = []
    while todo:
        todo = _on_one_estate(todo, rows, verdicts, path)
    report = _report(rows, verdicts)
    report.write(path)
    report.print()
    print(
        f"\n{len(rows)} cells in {(time.monotonic() - began) / 60:.0f} min. Written to {path.relative_to(ROOT)}."
    )
    return 0 if all(goal["met"] for goal in report.goals) else 1


def _on_one_estate(
    todo: list[Cell], rows: list[Row], verdicts: list[dict[str, Any]], path: Path
) -> list[Cell]:
    """Run cells until one spoils the estate for those that follow; what is left to do."""
    with _estate() as estate:
        trial = Trial(estate, _log)
        trial.await_traffic()
        cells = Cells(estate, trial, _log)
        left = list(todo)
        while left:
            fault, stage = left.pop(0)
            row = _cell(cells, fault, stage)
            rows.append(row)
            _log(f"[{len(rows)}] " + ", ".join(f"{k} {v}" for k, v in row.values().items()))
            _report(rows, verdicts).write(path)
            if not row.clean:
                _keep_logs(estate.data_dir, fault, stage)
            if (row.manual and row.outcome is not Outcome.PERSON) or row.outcome is Outcome.NEVER:
                _log("A new estate for what follows.")
                break
        verdicts.append({"cells": len(todo) - len(left), **trial.finish()})
        _log("Over all of this estate: " + _short(verdicts[-1]))
        return left


def _cell(cells: Cells, fault: str, stage: str) -> Row:
    for _ in range(ATTEMPTS):
        try:
            row = cells.run(FAULTS[fault], stage)
        except (SandboxError, BindingError, ConnectError, httpx.HTTPError) as error:
            return Row(fault, stage, Outcome.NEVER, manual=f"{type(error).__name__}: {error}")
        if row.outcome is not Outcome.NOT_REACHED or row.manual:
            break
    return row


@contextmanager
def _estate() -> Iterator[Estate]:
    # Not made by tempfile's own context: root's PostgreSQL runs as another user, whose files it would meet.
    folder = Path(tempfile.mkdtemp(prefix="hadash-fault-"))
    try:
        with Estate(folder, _log) as estate:
            yield estate
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_logs(folder: Path, fault: str, stage: str) -> None:
    """The words of every process, for whoever looks for the reason."""
    kept = ROOT / "var" / "fault-logs" / f"{fault}-{stage}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / "logs", kept)


def _report(rows: Sequence[Row], verdicts: Iterable[dict[str, Any]]) -> Report:
    report = Report()
    report.at_most("records lost", 0, sum(row.lost for row in rows), "records")
    report.at_most("records duplicated", 0, sum(row.duplicated for row in rows), "records")
    report.at_most("cells that needed a person", 0, sum(row.person for row in rows), "cells")
    report.at_most(
        "cells whose switch never ended", 0, sum(row.outcome is Outcome.NEVER for row in rows), "cells"
    )
    report.at_most(
        "cells whose stage was not reached",
        0,
        sum(row.outcome is Outcome.NOT_REACHED for row in rows),
        "cells",
    )
    report.at_most(
        "processes of hadash that ended unhit", 0, sum(len(row.ended) for row in rows), "processes"
    )
    report.tables["cells"] = [row.values() for row in rows]
    report.tables["fault × stage"] = matrix(rows)
    report.tables["over all of each estate"] = [
        {k: v for k, v in verdict.items() if k != "groups"} for verdict in verdicts
    ]
    return report


def _short(verdict: dict[str, Any]) -> str:
    wanted = ("records_sent", "lost", "duplicated", "out_of_order", "delivery_failures", "clients_restarted")
    return ", ".join(f"{name} {verdict[name]}" for name in wanted)
