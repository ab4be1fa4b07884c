"""Runs the parts, size after size: each on a demo of its own with a generated estate of that size."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hadash.sandbox.bench.report import Report, begin
from hadash.sandbox.bench.web import browser, pages, plans, viewers
from hadash.sandbox.check import show_logs
from hadash.sandbox.demo import ROOT, Demo
from hadash.sandbox.errors import SandboxError
from hadash.sandbox.person import Person
from hadash.sandbox.trial import Trial

PARTS = ("pages", "browser", "viewers", "plans")
SIZES = (1_000, 10_000, 100_000)

#: Jobs that a demo which was just started runs, and seconds until they have.
AT_FIRST = ("facts", "topology", "coverage", "risk", "lag", "advice")
REST_SECONDS = 600.0
#: Seconds between two looks at them.
LOOK_SECONDS = 2.0

#: Pages that are opened in a browser.
OPENED = ("overview", "island map", "largest island", "focus of the graph", "AppID that shares", "risks")

_log = partial(print, flush=True)


def bench_web(parts: Sequence[str] = (), sizes: Sequence[int] = (), keep: Path | None = None) -> int:
    """Measure, print, write ``var/bench/web.json``; the exit code: 1 when a goal is missed.

    :param keep: where the demos' data stay; a generated estate that is there already is not generated again.
    """
    wanted, chosen = parts or PARTS, sorted(sizes or SIZES)
    path = (
        ROOT / "var" / "bench" / ("web.json" if not parts and not sizes else f"web-{'-'.join(wanted)}.json")
    )
    report = begin(path)
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-web-"))
    try:
        if {"pages", "browser"} & set(wanted):
            _look_at_pages(report, wanted, chosen, folder)
        if {"viewers", "plans"} & set(wanted):
            _ask(report, wanted, chosen[-1], folder)
    except BaseException:
        for place in sorted(folder.iterdir()):
            show_logs(place)
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return report.conclude(path)


def _look_at_pages(report: Report, parts: Sequence[str], sizes: Sequence[int], folder: Path) -> None:
    """Nothing else runs beside: no clients, no jobs."""
    measured = {}
    for size in sizes:
        _log(f"An estate of {size:,} AppIDs ...")
        place = folder / f"pages-{size}"
        with Demo(place, clients=False, fleet=size, fleet_looked_at=(7, 0), log=_log) as demo:
            if "pages" in parts:
                measured[size] = pages.measure(demo, report, size)
            if "browser" in parts:
                known = pages.addresses(demo)
                browser.measure(demo, report, size, {name: str(known[name]["path"]) for name in OPENED})
    if measured:
        pages.judge(report, measured)


def _await_rest(demo: Demo) -> None:
    """A demo that has just been started runs all jobs, on all processors: until each has published once, and none is under way.

    :raises SandboxError: they do not end.
    """
    operator = Person(demo.url, "olga", demo.password)
    deadline = time.monotonic() + REST_SECONDS
    while True:
        jobs = {job["job"]: job for job in operator.call("GET", "jobs/")}
        have_run = all(jobs[name]["published"] for name in AT_FIRST)
        if have_run and not any(job["under_way"] for job in jobs.values()):
            return
        if time.monotonic() > deadline:
            raise SandboxError("The jobs of the demo have not come to rest.")
        time.sleep(LOOK_SECONDS)  # (the API tells of no event)


def _ask(report: Report, parts: Sequence[str], size: int, folder: Path) -> None:
    """Beside the demo's clients, whose switches are real."""
    with Demo(folder / f"ask-{size}", log=_log) as demo:
        Trial(demo, _log).await_traffic()
        _await_rest(demo)
        if "viewers" in parts:
            viewers.measure(demo, report)
        if "plans" in parts:
            _log(f"Filling the pair with {size:,} AppIDs ...")
            plans.fill(demo, size)
            plans.measure(demo, report, size)
