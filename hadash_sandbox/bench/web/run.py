"""Runs the parts of ``make bench-web``, for each size on a demo of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.bench.web import browser, live, pages, plans, viewers
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import DEMO_RATE, ROOT, Demo
from hadash_sandbox.traffic.client import Pace
from hadash_sandbox.trial import Trial

PARTS = ("pages", "browser", "live", "viewers", "plans")
SIZES = (1_000, 10_000, 100_000)

#: Pages that are opened in a browser.
OPENED = ("overview", "island map", "largest island", "focus of the graph", "AppID that shares", "risks")

_log = partial(print, flush=True)


def bench_web(parts: Sequence[str] = (), sizes: Sequence[int] = (), keep: Path | None = None) -> int:
    """Measure, print, and write ``var/bench/web.json``; return the exit code, 1 when a goal is missed.

    :param parts: of :data:`PARTS`; the default is all.
    :param sizes: AppIDs; the default is :data:`SIZES`.
    :param keep: a folder in which the demos' data stay; a fleet that is there already is not generated again.
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
        if {"live", "viewers", "plans"} & set(wanted):
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
    """Measure the parts ``pages`` and ``browser`` with generated fleets, without clients and jobs beside them."""
    measured = {}
    for size in sizes:
        _log(f"A fleet of {size:,} AppIDs ...")
        place = folder / f"pages-{size}"
        with Demo(place, clients=False, fleet=size, fleet_looked_at=(7, 0), log=_log) as demo:
            if "pages" in parts:
                measured[size] = pages.measure(demo, report, size)
            if "browser" in parts:
                known = pages.addresses(demo)
                browser.measure(demo, report, size, {name: str(known[name]["path"]) for name in OPENED})
    if measured:
        pages.judge(report, measured)


def _ask(report: Report, parts: Sequence[str], size: int, folder: Path) -> None:
    """Measure the parts with real switches, beside the demo's clients.

    The clients write at the rate of ``make demo``. At full speed they would need a core, which the web process needs.
    """
    with Demo(folder / f"ask-{size}", rate=DEMO_RATE, pace=Pace.RATE, log=_log) as demo:
        Trial(demo, _log).await_traffic()
        if "live" in parts:
            live.measure(demo, report)
        if "viewers" in parts:
            viewers.measure(demo, report)
        if "plans" in parts:
            _log(f"Filling the pair with {size:,} AppIDs ...")
            plans.fill(demo, size)
            plans.measure(demo, report, size)
