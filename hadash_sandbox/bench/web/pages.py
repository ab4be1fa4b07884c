"""Part ``pages``: measures the server's time, the bytes, and the database queries of each page and list."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import httpx

from hadash_sandbox.bench.report import Report, median, quantile
from hadash_sandbox.bench.web.addresses import PREVIEW
from hadash_sandbox.bench.web.rest import await_rest
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person

#: Users: one who may see most pages, and one who may see the people.
VIEWER, ADMINISTRATOR = "olga", "ada"
#: How often each page is requested, besides a first time that is not counted.
TURNS = 40
#: Goals at the largest size.
GOAL_MS, GOAL_KIB = 200.0, 300.0
#: The time goal of pages that build a plan, as a preview does.
GOAL_PREVIEW_MS = 1000.0
#: Queries by which a page may differ between fleets: some follow only if a table is not empty.
GOAL_QUERIES = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One page: milliseconds, KiB as they go over the network, and database queries."""

    p50: float
    p95: float
    kib: float
    queries: int


def addresses(demo: Demo) -> dict[str, dict[str, Any]]:
    """All addresses of a demo, see :mod:`hadash_sandbox.bench.web.addresses`.

    :raises SandboxError: they could not be found.
    """
    done = subprocess.run(
        [sys.executable, "-m", "hadash_sandbox.bench.web.addresses", VIEWER, ADMINISTRATOR],
        env={**demo.environment()},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SandboxError(f"The addresses could not be found: {done.stderr[-1500:]}")
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def measure(demo: Demo, report: Report, appids: int) -> dict[str, Measured]:
    """Measure every page of a running demo, once the machine has come to rest; return the figures by page.

    :raises SandboxError: a page answers with an error.
    """
    found: dict[str, Measured] = {}
    people = {name: Person(demo.url, name, demo.password) for name in (VIEWER, ADMINISTRATOR)}
    every = addresses(demo)
    report.row(f"before the pages at {appids:,} AppIDs", waited_for_rest_s=round(await_rest()))
    for name, known in every.items():
        person = people[known["who"]]
        took: list[float] = []
        size = 0
        for turn in range(TURNS + 1):
            began = time.perf_counter()
            answer = person.get(known["path"])
            if turn:
                took.append(1000 * (time.perf_counter() - began))
            if not answer.is_success:
                raise SandboxError(f"{known['path']} answers {answer.status_code}: {_text(answer)}")
            size = max(size, answer.num_bytes_downloaded)
        page = Measured(median(took), quantile(took, 0.95), size / 1024, known["queries"])
        found[name] = page
        report.row(
            f"pages at {appids:,} AppIDs",
            page=name,
            p50_ms=round(page.p50),
            p95_ms=round(page.p95),
            kib=round(page.kib),
            queries=page.queries,
            **({"slowest": known["slowest"]} if page.p95 > GOAL_MS else {}),
        )
    return found


def judge(report: Report, measured: dict[int, dict[str, Measured]]) -> None:
    """Add the goals: times and bytes at the largest size, and queries, which must not grow with the size."""
    largest = measured[max(measured)]
    size = f"at {max(measured):,} AppIDs"
    pages = {name: page for name, page in largest.items() if not name.startswith(f"{PREVIEW} for")}
    slowest = max(pages.values(), key=lambda page: page.p95)
    asking = max((page.p95 for name, page in largest.items() if name not in pages), default=None)
    biggest = max(largest.values(), key=lambda page: page.kib)
    samples = len(largest) * TURNS
    report.at_most(f"slowest page {size}, p95", GOAL_MS, slowest.p95, "ms", samples=samples, needed=TURNS)
    report.at_most(f"page that draws up a plan {size}, p95", GOAL_PREVIEW_MS, asking, "ms")
    report.at_most(f"largest page {size}", GOAL_KIB, biggest.kib, "KiB")
    if len(measured) > 1:
        smallest = measured[min(measured)]
        grown = max(
            page.queries - smallest[name].queries for name, page in largest.items() if name in smallest
        )
        report.at_most(f"questions more than at {min(measured):,} AppIDs", GOAL_QUERIES, grown, "queries")


def _text(answer: httpx.Response) -> str:
    return answer.text[:300]
