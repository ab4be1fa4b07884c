"""Runs every cell, prints them, and writes ``var/bench/fault-auditors.json``."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command

from hadash.coordinator.states import State
from hadash_sandbox.auditor_faults.whats import WHATS
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.demo import ROOT
from hadash_sandbox.java import find_java
from hadash_sandbox.ports import allocate
from hadash_sandbox.secrets import passwords
from hadash_sandbox.stack import CLUSTERS, Stack
from hadash_sandbox.striking import HOWS
from hadash_sandbox.zookeeper import ZooKeeper

if TYPE_CHECKING:
    from hadash_sandbox.auditor_faults.cell import Row

STATES = tuple(State)
PAIR = "main"


def fault_auditors(whats: Sequence[str] = (), states: Sequence[str] = ()) -> int:
    """Run what is named, or all; return 0 only if all was compared once, and what was planted was found alone."""
    cells = list(product(whats or WHATS, HOWS, [State(each) for each in states] or STATES))
    path = ROOT / "var" / "bench" / "fault-auditors.json"
    report = begin(path)
    folder = Path(tempfile.mkdtemp(prefix="hadash-fault-auditors-"))
    try:
        with Stack(folder / "stack", clusters=CLUSTERS, with_connect=False) as stack:
            # A ZooKeeper of hadash's own: Kafka's must not die with it.
            port = allocate(["zookeeper"], folder / "ports.json")["zookeeper"]
            words = passwords(["zookeeper", "secret-key"], folder / "secrets.json")
            zookeeper = ZooKeeper(folder, port, find_java(), words["zookeeper"])
            zookeeper.start(print)
            try:
                rows = _run(cells, report, path, folder, stack, zookeeper, words["secret-key"])
            finally:
                zookeeper.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    counted = {"samples": len(rows), "needed": len(cells)}
    for name, values in {
        "records not compared": [row.left for row in rows],
        "records compared twice": [abs(row.twice) for row in rows],
        "planted differences not found": [row.missed for row in rows],
        "differences found that are not there": [row.invented for row in rows],
    }.items():
        report.at_most(name, 0, sum(values), "", **counted)
    return report.conclude(path)


def _run(
    cells: Sequence[tuple[str, str, State]],
    report: Report,
    path: Path,
    folder: Path,
    stack: Stack,
    zookeeper: ZooKeeper,
    secret_key: str,
) -> list[Row]:
    environment = {
        **stack.environment(),
        **zookeeper.environment(),
        "HADASH_SECRET_KEY": secret_key,
        "HADASH_AUDITOR_PAIR": PAIR,
        "HADASH_COORDINATOR_CONSUMER_FILE": str(_credentials(folder, stack)),
    }
    os.environ.update(environment)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    # (These have models, which need Django to be set up.)
    from hadash_sandbox import seeding
    from hadash_sandbox.auditor_faults.cell import Cell

    call_command("migrate", interactive=False, verbosity=0)
    pair = seeding.register(PAIR, [each.describe() for each in stack.kafka.values()])
    rows: list[Row] = []
    for number, (what, how, state) in enumerate(cells):
        cell = Cell(folder, stack, zookeeper, pair, environment, number)
        try:
            rows.append(cell.run(what, how, state))
        except BaseException:
            cell.pool.show_logs()
            report.write(path)
            raise
        finally:
            cell.end()
        report.row("what dies in which state", **asdict(rows[-1]))
    return rows


def _credentials(folder: Path, stack: Stack) -> Path:
    """A file with what the coordinator needs to ask a cluster how many partitions a Topic has."""
    config = stack.kafka[CLUSTERS[0]].client_config()
    path = folder / "coordinator-consumer.json"
    path.write_text(
        json.dumps({name: value for name, value in config.items() if name != "bootstrap.servers"})
    )
    return path
