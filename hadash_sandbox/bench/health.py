"""``make bench-health``: checks status and speed of every health page and ``/metrics`` while a server hangs.

It runs on a demo of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from hadash_sandbox.bench.report import Report, begin, quantile
from hadash_sandbox.demo import DEMO_RATE, Demo
from hadash_sandbox.processes import Process
from hadash_sandbox.traffic.client import Pace

#: Seconds within which a page has to answer: the default timeout of Kubernetes' probes.
GOAL_SECONDS = 1.0
#: Seconds within which a page has to show that a server hangs (clusters are checked every 15 s), how often each page is
#: then asked, and the seconds over which these requests are spread.
SETTLED_SECONDS, ASKED, BETWEEN_SECONDS = 90.0, 10, 0.5
#: Seconds that all processes may take to be well again.
WELL_SECONDS = 120.0
#: Opens a connection for each request, as probes and Prometheus may do.
_CLIENT = httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))
PATHS = ("/healthz", "/readyz", "/metrics")

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "var" / "bench" / "health.json"

#: By kind of process, the servers without which it is not ready; workers of every queue need PostgreSQL and Redis.
NEEDED = {
    "web": frozenset({"PostgreSQL"}),
    "beat": frozenset({"Redis"}),
    "gateway": frozenset[str](),
}

#: By server that hangs, its processes.
FAULTS: dict[str, Callable[[Demo], list[Process]]] = {
    "nothing": lambda demo: [],
    "PostgreSQL": lambda demo: list(demo.stack.postgres.processes),
    "Redis": lambda demo: list(demo.stack.redis.processes),
    "ZooKeeper": lambda demo: list(demo.stack.zookeeper.processes),
    "Kafka (east)": lambda demo: list(demo.stack.kafka["east"].processes),
}


def bench_health() -> int:
    """Measure, print, and write ``var/bench/health.json``; return the exit code, 1 when a goal is missed."""
    report = begin(RESULT)
    with (
        tempfile.TemporaryDirectory(prefix="hadash-bench-health-", ignore_cleanup_errors=True) as folder,
        Demo(Path(folder), rate=DEMO_RATE, pace=Pace.ONE_AT_A_TIME) as demo,
    ):
        _await(demo, WELL_SECONDS, all_well=True)
        slowest: dict[str, list[float]] = {}
        wrong: list[str] = []
        for fault, processes in FAULTS.items():
            hanging = processes(demo)
            for process in hanging:
                process.pause()
            try:
                if hanging:
                    _await(demo, SETTLED_SECONDS, all_well=False)
                _ask_all(demo, report, fault, slowest, wrong)
            finally:
                for process in hanging:
                    process.resume()
            _await(demo, WELL_SECONDS, all_well=True)
    for path, seconds in slowest.items():
        report.at_most(
            f"{path}, the slowest answer", GOAL_SECONDS, max(seconds), "s", samples=len(seconds), needed=ASKED
        )
    asked = sum(map(len, slowest.values()))
    report.at_most(
        "answers with another status than expected", 0, len(wrong), "answers", samples=asked, needed=ASKED
    )
    for each in wrong:
        report.row("another status than expected", what=each)
    return report.conclude(RESULT)


def expected(fault: str, process: str, path: str) -> int:
    """The HTTP status of a page while the server ``fault`` hangs.

    A process is "not ready" only without a server that it can do nothing without (docs/monitoring.md).

    >>> expected("Redis", "web", "/readyz"), expected("Redis", "worker", "/readyz")
    (200, 503)
    >>> expected("Redis", "worker", "/healthz")
    200
    """
    needed = next(
        (NEEDED[kind] for kind in NEEDED if process.startswith(kind)), frozenset({"PostgreSQL", "Redis"})
    )
    return 503 if path == "/readyz" and fault in needed else 200


def _ask_all(
    demo: Demo, report: Report, fault: str, slowest: dict[str, list[float]], wrong: list[str]
) -> None:
    """Ask every page of every process, and add the answers to the report.

    :param slowest: receives the seconds of each answer, by path.
    :param wrong: receives a sentence for each unexpected or missing answer.
    """
    for process, url in demo.health_pages.items():
        for path in PATHS:
            took, status, body = [], 0, ""
            for _ in range(ASKED):
                began = time.perf_counter()
                try:
                    response = _CLIENT.get(f"{url}{path}")
                    status, body = response.status_code, response.text
                except httpx.HTTPError as error:
                    status, body = 0, repr(error)
                took.append(time.perf_counter() - began)
                if status != expected(fault, process, path):
                    wrong.append(
                        f"{fault} hangs: {process}{path} answers {status or 'nothing'} {_short(path, body)}"
                    )
                time.sleep(BETWEEN_SECONDS / ASKED)
            slowest.setdefault(path, []).extend(took)
            report.row(
                "what is said",
                hangs=fault,
                process=process,
                page=path,
                status=status,
                median_ms=round(quantile(took, 0.5) * 1000),
                slowest_ms=round(max(took) * 1000),
                says=_short(path, body),
            )


def _short(path: str, body: str) -> str:
    if path == "/metrics":
        missing = [
            line.split('"')[1]
            for line in body.splitlines()
            if line.startswith("hadash_fleet_up") and line.endswith(" 0.0")
        ]
        return f"{len(body.splitlines())} lines" + (f", without {', '.join(missing)}" if missing else "")
    try:
        said: dict[str, Any] = httpx.Response(200, text=body).json()
    except ValueError:
        return body[:80]
    wrong = [f"{check['name']}: {check['says']}" for check in said.get("checks", ()) if not check["ok"]]
    return "; ".join([said["status"], *wrong, *said.get("faults", ())])[:160]


def _await(demo: Demo, seconds: float, *, all_well: bool) -> None:
    """Wait until every process is well, or until the web server's page says that it is not.

    :raises TimeoutError: that did not happen within ``seconds``.
    """
    until = time.monotonic() + seconds
    pages = demo.health_pages if all_well else {"web": demo.health_pages["web"]}
    while time.monotonic() < until:
        try:
            said = {_CLIENT.get(f"{url}/readyz").json()["status"] for url in pages.values()}
            if (said == {"ok"}) is all_well:
                return
        except (httpx.HTTPError, ValueError):
            pass
        time.sleep(1)
    raise TimeoutError(
        f"{' and '.join(pages)} did not say within {seconds:g} s that "
        f"{'all is well' if all_well else 'something hangs'}"
    )
