"""``make demo-check`` and ``make bench-switch``: real switches without a person, and what they did, as JSON."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from hadash.sandbox.demo import ROOT, Demo
from hadash.sandbox.traffic.verdict import percentile
from hadash.sandbox.trial import Measured, Trial

#: What the issue of the first real switch asks for.
GOAL_WRITE_P50 = 0.3
GOAL_WRITE_P99 = 1.0
GOAL_CONSUME_BEYOND_JOIN = 1.0

#: The two moves that are made there and back: one InstanceID of a shared AppID, and one whole AppID.
MOVES: dict[str, tuple[tuple[str, str | None], ...]] = {
    "demo": (("shop", "shop-carts"), ("billing", None)),
    # Every library at once, as one AppID.
    "libraries": (("audit", None),),
}

_log = partial(print, file=sys.stderr, flush=True)


def _run(
    rounds: int | None, keep: Path | None, world: str = "demo", switches: int = 0
) -> tuple[list[Measured], dict[str, Any]]:
    """``switches`` moves in turn (or ``rounds`` there and back of all moves of ``world``) under load."""
    moves = MOVES[world]
    switches = switches or 2 * len(moves) * (rounds or 1)
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-check-"))
    measured: list[Measured] = []
    try:
        with Demo(folder, world=world, log=_log) as demo:
            trial = Trial(demo, _log)
            trial.await_traffic()
            for number in range(switches):
                appid, instance = moves[number % len(moves)]
                target = "west" if number // len(moves) % 2 == 0 else "east"
                measured.append(trial.switch(appid, instance, target))
            return measured, trial.finish()
    except BaseException:
        show_logs(folder)
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def show_logs(folder: Path, lines: int = 25) -> None:
    """A failure leaves its logs in the output."""
    for path in sorted((folder / "logs").glob("*.log")):
        tail = path.read_text(errors="replace").splitlines()[-lines:]
        if tail:
            _log(f"--- {path.name}", *tail, sep="\n")


def _clean(verdict: dict[str, Any]) -> bool:
    return (
        verdict["lost"] == verdict["duplicated"] == verdict["out_of_order"] == 0
        and verdict["delivery_failures"] == 0
        and not verdict["clients_restarted"]
    )


def demo_check(keep: Path | None = None, world: str = "demo") -> int:
    """One AppID + InstanceID and one whole AppID (or what else the world has), from east to west and back. 0 only if
    nothing was lost, duplicated or out of order, every switch succeeded, and no client was restarted."""
    measured, verdict = _run(1, keep, world)
    succeeded = all(m.status == "succeeded" for m in measured)
    ok = succeeded and _clean(verdict)
    print(
        json.dumps(
            {"ok": ok, "switches": [m.summary() for m in measured], **verdict}, indent=2, ensure_ascii=False
        )
    )
    return 0 if ok else 1


def bench_switch(count: int, keep: Path | None = None) -> int:
    """``count`` switches back and forth; writes ``var/bench/switch.json`` and prints a table."""
    began = time.monotonic()
    measured, verdict = _run(None, keep, switches=count)
    writes = [pause for m in measured for pause in m.write_pauses.values()]
    beyond = [pause for m in measured for pause in m.consume_beyond_join.values()]
    reads = [pause for m in measured for pause in m.consume_pauses.values()]
    failed = [m for m in measured if m.status != "succeeded"]

    def goal(name: str, wanted: float, found: float, unit: str) -> dict[str, Any]:
        return {
            "name": name,
            "goal": wanted,
            "measured": round(found, 4),
            "unit": unit,
            "met": found <= wanted,
        }

    goals = [
        goal("switches that did not succeed", 0, len(failed), "switches"),
        goal("records lost", 0, verdict["lost"], "records"),
        goal("records duplicated", 0, verdict["duplicated"], "records"),
        goal("records out of order", 0, verdict["out_of_order"], "records"),
        goal("write pause p50", GOAL_WRITE_P50, percentile(writes, 0.5), "s"),
        goal("write pause p99", GOAL_WRITE_P99, percentile(writes, 0.99), "s"),
        goal("consume pause beyond join delay, p99", GOAL_CONSUME_BEYOND_JOIN, percentile(beyond, 0.99), "s"),
    ]
    distributions = {
        "write pause": writes,
        "consume pause": reads,
        "consume pause beyond join delay": beyond,
        "RTO (block to forward in effect)": [m.rto for m in measured],
        **{
            f"stage {stage}": [m.stages[stage] for m in measured if stage in m.stages]
            for stage in dict.fromkeys(stage for m in measured for stage in m.stages)
        },
    }
    report = {
        "goals": goals,
        "switches": count,
        "seconds": round(time.monotonic() - began, 1),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "verdict": verdict,
        "distributions": {name: _distribution(values) for name, values in distributions.items() if values},
        "where the time goes": _where(measured),
        "each": [m.summary() for m in measured],
    }
    path = ROOT / "var" / "bench" / "switch.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    _print_table(report)
    print(f"\nWritten to {path.relative_to(ROOT)}.")
    return 0 if all(g["met"] for g in goals[:4]) else 1


def _distribution(values: list[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 4),
        "p50": round(percentile(values, 0.5), 4),
        "p90": round(percentile(values, 0.9), 4),
        "p99": round(percentile(values, 0.99), 4),
        "max": round(max(values), 4),
    }


def _where(measured: list[Measured]) -> dict[str, dict[str, float]]:
    """Median seconds that each command of a stage took in all, for the stages in which clients wait."""
    found: dict[str, dict[str, list[float]]] = {}
    for m in measured:
        for stage, timings in m.timings.items():
            for command, (_, seconds) in timings.items():
                found.setdefault(stage, {}).setdefault(command, []).append(seconds)
    return {
        stage: {command: round(percentile(values, 0.5), 4) for command, values in commands.items()}
        for stage, commands in found.items()
    }


def _print_table(report: dict[str, Any]) -> None:
    print(f"{'':38}{'min':>9}{'p50':>9}{'p90':>9}{'p99':>9}{'max':>9}   (seconds)")
    for name, d in report["distributions"].items():
        print(f"{name:38}" + "".join(f"{d[k]:9.3f}" for k in ("min", "p50", "p90", "p99", "max")))
    print()
    for g in report["goals"]:
        mark = "met   " if g["met"] else "MISSED"
        print(f"{mark} {g['name']:40} goal {g['goal']:>6} {g['unit']:8} measured {g['measured']}")
