"""``make bench-fresh``: how soon all jobs of a new demo have published, and how long it takes to run all of them again.

It runs on a demo of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hadash_sandbox.bench.report import Report, begin, median
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import DEMO_RATE, ROOT, Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person
from hadash_sandbox.traffic.client import Pace

#: Goals, in seconds on a machine with two cores: from "Everything is up" until every job has published for the first
#: time, and for a later run of all jobs.
GOAL_FRESH, GOAL_WARM = 90.0, 20.0
#: How often all jobs are run again.
TIMES = 3
#: Seconds between two looks, and seconds after which the jobs count as stuck.
LOOK_SECONDS, LIMIT_SECONDS = 0.25, 600.0

RESULT = ROOT / "var" / "bench" / "fresh.json"


def bench_fresh() -> int:
    """Measure, print, and write ``var/bench/fresh.json``; return the exit code, 1 when a goal is missed."""
    report = begin(RESULT)
    with tempfile.TemporaryDirectory(prefix="hadash-bench-fresh-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        try:
            with Demo(place, rate=DEMO_RATE, pace=Pace.RATE, pipeline=True) as demo:
                up = time.time()
                _fresh(Person(demo.url, "olga", demo.password), report, up)
                _warm(Person(demo.url, "olga", demo.password), report)
        except BaseException:
            show_logs(place)
            raise
    return report.conclude(RESULT)


def _fresh(person: Person, report: Report, up: float) -> None:
    """Measure the first run of every job, which its schedule starts.

    :param up: the time at which the demo was up, in seconds since 1970.
    """
    published = _await_published(person, {})
    after = {job: _moment(run["ended_at"]) - up for job, run in published.items()}
    for job, seconds in after.items():
        report.row("a new demo", job=job, published_after_s=round(seconds, 1))
    report.at_most(
        "every table of a new demo after", GOAL_FRESH, max(after.values(), default=None), "s",
        samples=len(after), needed=len(after),
    )  # fmt: skip


def _warm(person: Person, report: Report) -> None:
    """Measure all jobs when a user asks for them at once. Runs that are already under way are waited for first."""
    took = []
    for number in range(1, TIMES + 1):
        before = _await_rest(person)
        began = time.time()
        for job in before:
            person.call("POST", f"jobs/{job}/run/")
        published = _await_published(person, {job: run["id"] for job, run in before.items()})
        took.append(max(_moment(run["ended_at"]) for run in published.values()) - began)
        in_steps = {
            job: round(_moment(run["ended_at"]) - _moment(run["began_at"]), 1)
            for job, run in published.items()
        }
        report.row("all of it again", time=number, seconds=round(took[-1], 1), **in_steps)
    report.row("all of it again", time="median", seconds=round(median(took), 1))
    report.at_most(
        "all tables again, the slowest", GOAL_WARM, max(took), "s", samples=len(took), needed=TIMES
    )


def _await_published(person: Person, known: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Wait until every job has published a newer run than the known one; return the new runs by job.

    :param known: by job, the number of its last known run.
    :raises SandboxError: a run failed, or takes too long.
    """
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        jobs = person.call("GET", "jobs/")
        if failed := [f"{job['job']}: {job['alarm']}" for job in jobs if job["alarm"]]:
            raise SandboxError(f"Something is wrong: {'; '.join(failed)}")
        found = {job["job"]: job["published"] for job in jobs if job["published"]}
        missing = [
            job["job"] for job in jobs if found.get(job["job"], {"id": 0})["id"] <= known.get(job["job"], 0)
        ]
        if not missing:
            return found
        if time.monotonic() > deadline:
            raise SandboxError(f"Not published after {LIMIT_SECONDS:.0f} s: {', '.join(missing)}.")
        time.sleep(LOOK_SECONDS)


def _await_rest(person: Person) -> dict[str, dict[str, Any]]:
    """Wait until no run is under way; return the last published run by job."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        jobs = person.call("GET", "jobs/")
        if not any(job["under_way"] for job in jobs):
            return {job["job"]: job["published"] for job in jobs}
        if time.monotonic() > deadline:
            raise SandboxError("The jobs of the demo do not come to rest.")
        time.sleep(LOOK_SECONDS)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
