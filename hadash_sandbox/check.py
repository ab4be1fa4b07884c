"""``make demo-check`` and ``make bench-switch``: real switches without a person, with their results as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hadash_sandbox.bench.records import explain, judge_records
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.bench.tools import await_calm
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.ending import finish
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.traffic.verdict import percentile
from hadash_sandbox.trial import Measured, Trial

#: Goals, in seconds: the median and the 99th percentile of a write pause, and the 99th percentile of a consume pause
#: beyond the broker's join delay.
GOAL_WRITE_P50 = 0.3
GOAL_WRITE_P99 = 1.0
GOAL_CONSUME_BEYOND_JOIN = 1.0
#: Goal in seconds, from the last approval until the first stage begins, because somebody watches. (If no worker was
#: told of the switch, beat finds it only after its lease has run out, 5 s later.)
GOAL_START_DELAY = 0.3
#: The same goal for the slowest switch of a check. A check makes the first switches after a start, when everything is
#: done for the first time.
GOAL_NO_PICK_UP = 1.0

#: The two moves that are made there and back: one InstanceID of a shared AppID, and one whole AppID.
MOVES: tuple[tuple[str, str | None], ...] = (("shop", "shop-carts"), ("billing", None))
#: Switches of all moves, there and back.
THERE_AND_BACK = 2 * len(MOVES)

_log = partial(print, file=sys.stderr, flush=True)


def _run(
    rounds: int | None, keep: Path | None, switches: int = 0, *, calm: bool = False
) -> tuple[list[Measured], dict[str, Any]]:
    """Make ``switches`` moves in turn (or ``rounds`` of all moves, there and back) under load.

    :param calm: begin only when the servers have compiled their hot code, as long-running servers have.
    :return: the measurements, and the verdict over all records. A switch that cannot be made ends the moves and is
        among the verdict's faults.
    """
    switches = switches or THERE_AND_BACK * (rounds or 1)
    faults = []
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-check-"))
    measured: list[Measured] = []
    try:
        with Demo(folder, log=_log) as demo:
            trial = Trial(demo, _log)
            trial.await_traffic()
            if calm:
                _log("Waiting until the servers have warmed up ...")
                await_calm()
            for number in range(switches):
                appid, instance = MOVES[number % len(MOVES)]
                target = "west" if number // len(MOVES) % 2 == 0 else "east"
                try:
                    measured.append(trial.switch(appid, instance, target))
                except SandboxError as error:
                    faults.append(f"no more switches after {number} of {switches}: {error}")
                    break
            verdict = finish(trial)
            verdict["faults"] += faults
            for line in explain(verdict):
                _log(line)
            if faults:
                show_logs(folder)
            return measured, verdict
    except BaseException:
        show_logs(folder)
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def show_logs(folder: Path, lines: int = 25) -> None:
    """Print the last ``lines`` of each log of a demo, so that a failure leaves them in the output."""
    for path in sorted((folder / "logs").glob("*.log")):
        tail = path.read_text(errors="replace").splitlines()[-lines:]
        if tail:
            _log(f"--- {path.name}", *tail, sep="\n")


def demo_check(keep: Path | None = None) -> int:
    """Switch one InstanceID and one whole AppID from east to west and back; return the exit code.

    It is 0 only if no record was lost, duplicated or out of order, every switch succeeded and began at once, and no
    client was restarted.
    """
    measured, verdict = _run(1, keep)
    report = Report()
    judge_check(report, measured, verdict)
    print(
        json.dumps(
            {
                "ok": report.exit_code == 0,
                "goals": report.goals,
                "switches": [m.summary() for m in measured],
                **verdict,
            },
            indent=2,
            ensure_ascii=False,
        )
    )
    return report.exit_code


def judge_check(report: Report, measured: Sequence[Measured], verdict: dict[str, Any]) -> None:
    """Add the goals of a check to ``report``.

    Pauses are not judged: that takes more switches than these. Whether a switch had to wait for beat is judged.
    """
    _judge_switches(report, THERE_AND_BACK, measured)
    slowest = max((m.start_delay for m in measured), default=None)
    report.at_most(
        "approval to first stage, slowest",
        GOAL_NO_PICK_UP,
        slowest,
        "s",
        samples=len(measured),
        needed=THERE_AND_BACK,
    )
    judge_records(report, [verdict])


def _judge_start(report: Report, asked: int, measured: Sequence[Measured]) -> None:
    _judge_seconds(
        report,
        asked,
        "approval to first stage, p95",
        GOAL_START_DELAY,
        [[m.start_delay] for m in measured],
        0.95,
    )


def _judge_seconds(
    report: Report, asked: int, name: str, goal: float, of_each: list[list[float]], share: float
) -> None:
    """:param of_each: the measurements of each switch, in seconds."""
    values = [value for given in of_each for value in given]
    found = percentile(values, share) if values else None
    report.at_most(name, goal, found, "s", samples=sum(map(bool, of_each)), needed=asked)


def _judge_switches(report: Report, asked: int, measured: Sequence[Measured]) -> None:
    """A switch that could not be made counts as one that did not succeed."""
    failed = asked - sum(m.status == "succeeded" for m in measured)
    report.at_most(
        "switches that did not succeed", 0, failed, "switches", samples=len(measured), needed=asked
    )


def bench_switch(count: int, keep: Path | None = None) -> int:
    """Make ``count`` switches back and forth, write ``var/bench/switch.json``, print a table; return the exit code.

    :raises SandboxError: ``count`` is less than 1.
    """
    if count < 1:
        raise SandboxError(
            f"{count} switches measure nothing. Say at least one, as in make bench-switch N=20."
        )
    path = ROOT / "var" / "bench" / "switch.json"
    report = begin(path)
    began = time.monotonic()
    measured, verdict = _run(None, keep, switches=count, calm=True)
    judge_bench(report, count, measured, verdict)
    distributions = _distributions(measured)
    more: dict[str, Any] = {
        "switches": count,
        "seconds": round(time.monotonic() - began, 1),
        "verdict": verdict,
        "distributions": {name: _distribution(values) for name, values in distributions.items() if values},
        "where the time goes": _where(measured),
        "each": [m.summary() for m in measured],
    }
    report.write(path, more)
    _print_table(more["distributions"])
    report.print_goals()
    print(f"\nWritten to {path.relative_to(ROOT)}.")
    return report.exit_code


def judge_bench(report: Report, asked: int, measured: Sequence[Measured], verdict: dict[str, Any]) -> None:
    """Add the goals of many switches to ``report``.

    Each of the ``asked`` switches has to give at least one measurement of each kind. The number of measurements alone
    would not show that: a switch has as many pauses as it moves clients.
    """
    _judge_switches(report, asked, measured)
    judge_records(report, [verdict])
    writes = [list(m.write_pauses.values()) for m in measured]
    beyond = [list(m.consume_beyond_join.values()) for m in measured]
    _judge_seconds(report, asked, "write pause p50", GOAL_WRITE_P50, writes, 0.5)
    _judge_seconds(report, asked, "write pause p99", GOAL_WRITE_P99, writes, 0.99)
    _judge_seconds(
        report, asked, "consume pause beyond join delay, p99", GOAL_CONSUME_BEYOND_JOIN, beyond, 0.99
    )
    _judge_start(report, asked, measured)


def _distributions(measured: Sequence[Measured]) -> dict[str, list[float]]:
    """The measurements by name, in seconds.

    Pauses are as clients saw them, so they include the ordinary spacing of records, which is listed beside them.
    """

    def spacing(of_writers: bool) -> list[float]:
        return [
            s for m in measured for name, s in m.spacing.items() if (name in m.write_pauses) is of_writers
        ]

    return {
        "write pause": [pause for m in measured for pause in m.write_pauses.values()],
        "spacing of writes before a switch": spacing(of_writers=True),
        "consume pause": [pause for m in measured for pause in m.consume_pauses.values()],
        "spacing of reads before a switch": spacing(of_writers=False),
        "consume pause beyond join delay": [p for m in measured for p in m.consume_beyond_join.values()],
        "RTO (block to forward in effect)": [m.rto for m in measured if m.rto is not None],
        "approval to first stage": [m.start_delay for m in measured],
        **{
            f"stage {stage}": [m.stages[stage] for m in measured if stage in m.stages]
            for stage in dict.fromkeys(stage for m in measured for stage in m.stages)
        },
    }


def _distribution(values: list[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 4),
        "p50": round(percentile(values, 0.5), 4),
        "p90": round(percentile(values, 0.9), 4),
        "p95": round(percentile(values, 0.95), 4),
        "p99": round(percentile(values, 0.99), 4),
        "max": round(max(values), 4),
        "samples": len(values),
    }


def _where(measured: list[Measured]) -> dict[str, dict[str, float]]:
    """By stage and command, the median of the seconds that the command took in all within that stage."""
    found: dict[str, dict[str, list[float]]] = {}
    for m in measured:
        for stage, timings in m.timings.items():
            for command, (_, seconds) in timings.items():
                found.setdefault(stage, {}).setdefault(command, []).append(seconds)
    return {
        stage: {command: round(percentile(values, 0.5), 4) for command, values in commands.items()}
        for stage, commands in found.items()
    }


def _print_table(distributions: dict[str, dict[str, float]]) -> None:
    columns = ("min", "p50", "p90", "p95", "p99", "max")
    print(f"{'':38}" + "".join(f"{name:>9}" for name in columns) + f"{'samples':>9}   (seconds)")
    for name, d in distributions.items():
        print(f"{name:38}" + "".join(f"{d[k]:9.3f}" for k in columns) + f"{d['samples']:9}")
