"""Runs every cell, prints them, and writes ``var/bench/fault-pool.json``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

from hadash.coordinator.states import State
from hadash_sandbox.bench.report import begin
from hadash_sandbox.demo import ROOT
from hadash_sandbox.java import find_java
from hadash_sandbox.pool_faults.cell import STATES, WHATS, Cell, Row
from hadash_sandbox.ports import allocate
from hadash_sandbox.secrets import passwords
from hadash_sandbox.stack import Stack
from hadash_sandbox.striking import HOWS
from hadash_sandbox.zookeeper import ZooKeeper


def fault_pool(whats: Sequence[str] = (), states: Sequence[str] = ()) -> int:
    """Run what is named, or all; return 0 only if nothing was lost, and nothing doubled that may not be."""
    cells = list(product(whats or WHATS, HOWS, [State(each) for each in states] or STATES))
    path = ROOT / "var" / "bench" / "fault-pool.json"
    report = begin(path)
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="hadash-fault-pool-"))
    try:
        with Stack(folder / "stack", clusters=("east",), with_connect=False) as stack:
            # A ZooKeeper of hadash's own: Kafka's must not die with it.
            port = allocate(["zookeeper"], folder / "ports.json")["zookeeper"]
            password = passwords(["zookeeper"], folder / "secrets.json")["zookeeper"]
            zookeeper = ZooKeeper(folder, port, find_java(), password)
            zookeeper.start(print)
            try:
                for number, (what, how, state) in enumerate(cells):
                    cell = Cell(folder, zookeeper, stack.kafka["east"], number)
                    try:
                        rows.append(cell.run(what, how, state))
                    except BaseException:
                        cell.pool.show_logs()
                        raise
                    finally:
                        cell.end()
                    report.row("what dies in which state", **asdict(rows[-1]))
            finally:
                zookeeper.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    counted = len(rows)
    report.at_most(
        "records lost", 0, sum(row.lost for row in rows), "records", samples=counted, needed=len(cells)
    )
    report.at_most(
        "records doubled where no member died",
        0,
        sum(row.by_others for row in rows),
        "records",
        samples=counted,
        needed=len(cells),
    )
    return report.conclude(path)
