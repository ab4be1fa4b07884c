"""``make clients-check``: moves each library there and back, and prints the results as a table.

Each moves with equal and with shifted offsets, as a whole AppID and as one InstanceID.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path

from confluent_kafka import KafkaException

from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.clients import installing
from hadash_sandbox.clients.groups import await_committed
from hadash_sandbox.clients.judging import PARTITIONS, Cell, judge, unread
from hadash_sandbox.clients.libraries import LIBRARY_NAMES, PHASES, Phase
from hadash_sandbox.clients.reading import read_log
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.ending import CATCH_UP_SECONDS, END_SECONDS, SETTLE_SECONDS
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import RequestRefused
from hadash_sandbox.processes import describe_exit
from hadash_sandbox.traffic.log_reader import Sides, groups_behind
from hadash_sandbox.traffic.verdict import journal_faults
from hadash_sandbox.trial import LOOK_SECONDS, Trial
from hadash_sandbox.waiting import came_about
from hadash_sandbox.world import ClientSpec

_log = partial(print, file=sys.stderr, flush=True)

#: The cluster on which all Topics begin and end, and the other one.
HOME, AWAY = "east", "west"

#: Columns of the table: name, and attribute of a cell.
_COLUMNS = (
    ("acked", "acked"),
    ("lost", "lost"),
    ("doubled", "doubled"),
    ("order", "out_of_order"),
    ("damaged", "damaged"),
    ("twice", "consumed_twice"),
    ("skipped", "skipped"),
    ("failed", "failed"),
    ("unknown", "unknown"),
    ("restarts", "restarts"),
    ("write pause", "write_pause"),
    ("read pause", "read_pause"),
)


def clients_check(
    libraries: Sequence[str] = LIBRARY_NAMES,
    phases: Sequence[Phase] = PHASES,
    keep: Path | None = None,
) -> int:
    """Run the check, write ``var/bench/clients.json`` and print a table; return 0 only if every goal is met.

    :raises SandboxError: see :func:`measure`.
    """
    path = ROOT / "var" / "bench" / "clients.json"
    report = begin(path)
    began = time.monotonic()
    cells = measure(libraries, phases, keep)
    judge_cells(report, cells)
    seconds = time.monotonic() - began
    report.write(path, {"seconds": round(seconds, 1), "cells": [cell.described() for cell in cells]})
    print(table(cells))
    report.print_goals()
    print(f"\n{seconds:.0f} s. Written to {path.relative_to(ROOT)}.")
    return report.exit_code


def judge_cells(report: Report, cells: Sequence[Cell]) -> None:
    """Add a goal for each cell: nothing is wrong with it, or it was refused where hadash has to refuse it."""
    for cell in cells:
        name = f"{cell.library}, {cell.offsets} offsets, by {cell.scope}"
        if cell.to_be_refused:
            report.at_least(f"{name}: refused when asked for", 1, int(cell.refused_rightly), "refusals")
        else:
            report.at_most(f"{name}: wrong records and restarts", 0, cell.wrong, "faults")


def measure(libraries: Sequence[str], phases: Sequence[Phase], keep: Path | None = None) -> list[Cell]:
    """Move ``libraries`` in each of the ``phases``, one phase after the other on one demo.

    :param keep: a data folder to use and keep; the default is a temporary one.
    :raises SandboxError: Go or Node is missing, or the demo does not come up.
    """
    installing.install(libraries, _log)
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-clients-"))
    try:
        with Demo(folder, world=f"libraries:{','.join(libraries)}", clients=False, log=_log) as demo:
            return [cell for phase in phases for cell in _phase(demo, phase, libraries)]
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _phase(demo: Demo, phase: Phase, libraries: Sequence[str]) -> list[Cell]:
    """Run one phase: the libraries that move together, and each one that moves alone."""
    _log(f"--- {phase.offsets} offsets, moved by {phase.scope}")
    scopes: dict[tuple[str, str | None], list[str]] = {}
    for library in libraries:
        scopes.setdefault(phase.what_moves(library), []).append(library)
    return [cell for moved, together in scopes.items() for cell in _scope(demo, phase, together, *moved)]


def _scope(
    demo: Demo, phase: Phase, libraries: Sequence[str], appid: str, instance: str | None
) -> list[Cell]:
    """Move the libraries of one AppID or InstanceID; their clients run only meanwhile."""
    cells = {library: Cell(library, phase.offsets, phase.scope) for library in libraries}
    specs = phase.clients(libraries)
    sides = Sides({name: demo.admin_config(name) for name in (HOME, AWAY)})
    groups = {spec.group: spec.topics for spec in specs if spec.group}
    #: Faults by the name of the group or client.
    faults: dict[str, list[str]] = defaultdict(list)
    ended: set[str] = set()
    for spec in specs:
        demo.start_client(spec)
    try:
        trial = Trial(demo, _log, specs, tolerant=True)
        trial.await_traffic()
        for target, behind in there_and_back(trial, cells, appid, instance, sides, groups):
            for group, fault in behind.items():
                faults[group].append(f"After the switch to {target} {fault}.")
        ended |= {spec.name for spec in specs if not demo.clients[spec.name].alive}
        demo.stop_clients("produce", END_SECONDS, specs)
        _catch_up(trial, specs)
        # (Looks twice, so that a group that goes back to read again shows it.)
        for group, fault in groups_behind(sides, groups, CATCH_UP_SECONDS, SETTLE_SECONDS).items():
            faults[group].append(f"In the end {fault}.")
        for spec in specs:
            if spec.name in trial.stalled:
                cells[spec.library].fault = trial.stalled[spec.name]
        ended |= {s.name for s in specs if s.role == "consume" and not demo.clients[s.name].alive}
    except SandboxError as error:
        for cell in cells.values():
            cell.fault = str(error)
    finally:
        demo.stop_clients(seconds=END_SECONDS, among=specs)
    for cell in cells.values():
        if not (cell.fault or cell.refused):
            writer, reader = own = [spec for spec in specs if spec.library == cell.library]
            cell.restarts += len(ended & {spec.name for spec in own})
            codes = {spec.name: demo.clients[spec.name].exit_code for spec in own}
            _judge(demo, sides, trial, cell, writer, reader, [*faults[reader.group], *exit_faults(codes)])
    return list(cells.values())


def exit_faults(codes: Mapping[str, int | None]) -> list[str]:
    """A sentence for each client that did not end with 0.

    :param codes: exit codes by client.
    """
    return [
        f"Client {name} ended with {describe_exit(code)}: what it had under way is not in its journal."
        for name, code in codes.items()
        if code != 0
    ]


def there_and_back(
    trial: Trial,
    cells: dict[str, Cell],
    appid: str,
    instance: str | None,
    sides: Sides,
    groups: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, dict[str, str]]]:
    """Switch there and back, and note pauses, refusals and faults in ``cells``.

    :return: after each switch its target, and by group a sentence for what is wrong with it there.
    :raises SandboxError: clients make no progress, or the way back is refused.
    """
    for target in (AWAY, HOME):
        try:
            measured = trial.switch(appid, instance, target, trial.clients)
        except RequestRefused as refusal:
            if target != AWAY or refusal.code != HTTPStatus.CONFLICT:
                raise
            for cell in cells.values():
                cell.refused = str(refusal)
            return
        if (
            measured.status != "succeeded"
        ):  # a switch that its precheck has ended is a fault too: it had been accepted
            for cell in cells.values():
                cell.fault = f"The switch to {target} {measured.status}: {measured.outcome}"
            return
        for name, pauses in (("write_pause", measured.write_pauses), ("read_pause", measured.consume_pauses)):
            for spec in trial.clients:
                if spec.name in pauses:
                    cell = cells[spec.library]
                    setattr(cell, name, max(getattr(cell, name) or 0.0, pauses[spec.name]))
        yield target, await_committed(sides, target, groups, CATCH_UP_SECONDS)


def _catch_up(trial: Trial, specs: Sequence[ClientSpec]) -> None:
    """Wait until consumers have read all acknowledged records, or their time is over: the rest is counted later."""

    def have_read() -> bool:
        journals = {spec.name: trial.journal(spec) for spec in specs}
        pairs = zip(specs[::2], specs[1::2], strict=True)
        return not any(unread(journals[writer.name], journals[reader.name]) for writer, reader in pairs)

    came_about(have_read, CATCH_UP_SECONDS, every=LOOK_SECONDS)


def _judge(
    demo: Demo,
    sides: Sides,
    trial: Trial,
    cell: Cell,
    writer: ClientSpec,
    reader: ClientSpec,
    faults: Sequence[str],
) -> None:
    """Fill in ``cell`` from the journals of its clients and the logs of both clusters.

    :param faults: known faults of its group and its clients, as sentences.
    """
    topic, journals = writer.topics[0], (trial.journal(writer), trial.journal(reader))
    faults = [*faults, *(fault for journal in journals for fault in journal_faults(journal))]
    try:
        sides.await_same_size([topic], CATCH_UP_SECONDS)
        logs = [read_log(demo.admin_config(name), topic, writer.library, PARTITIONS) for name in (HOME, AWAY)]
    except (SandboxError, KafkaException) as error:
        cell.fault = " ".join([*faults, str(error)])
        return
    judge(cell, *journals, *logs)
    cell.fault = " ".join(faults)


def table(cells: Sequence[Cell]) -> str:
    """The cells as text, one line each; refused cells with the reason, bad ones with examples."""
    lines = [f"{'library':16}{'offsets':9}{'moved by':10}" + "".join(f"{name:>12}" for name, _ in _COLUMNS)]
    for cell in cells:
        head = f"{cell.library:16}{cell.offsets:9}{cell.scope:10}"
        if cell.refused or cell.fault:
            what = "FAULT" if cell.fault else "refused" if cell.clean else "REFUSED"
            lines.append(f"{head}  {what}: {cell.fault or cell.refused}")
            continue
        if cell.to_be_refused:
            lines.append(f"{head}  MOVED, and hadash says that it refuses to: … {cell.to_be_refused} …")
            continue
        values = [getattr(cell, attribute) for _, attribute in _COLUMNS]
        shown = ["-" if v is None else f"{v:.2f} s" if isinstance(v, float) else str(v) for v in values]
        lines.append(head + "".join(f"{value:>12}" for value in shown) + ("" if cell.clean else "  BAD"))
        lines += [f"{'':16}{example}" for example in cell.examples]
        if not cell.clean:
            lines += [f"{'':16}said {times} times by {what}" for what, times in cell.said.items()]
    bad = sum(not cell.clean for cell in cells)
    return "\n".join([*lines, "", f"{len(cells)} cells, {bad} bad."])
