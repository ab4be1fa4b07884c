"""``make bench-plan``: measures finding what moves together, and moving a thousand InstanceIDs (see ``batch.py``).

The closure is measured in fleets of a thousand to a hundred thousand AppIDs. The fleets are generated: a client mostly
uses Topics of its AppID, and sometimes shared ones, a few of them very often (Zipf). So a large part of all AppIDs is
connected, as in a trial with real shapes.
"""

from __future__ import annotations

import gc
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from hadash.identity.identity import Identity
from hadash.radius.closure import AccessGraph, Dimension
from hadash.radius.nodes import APPID, GROUP, INSTANCE, TOPIC, AccessEdge, Node, node_of, topic
from hadash_sandbox.bench.batch import INSTANCES, SWITCHES, bench_batch
from hadash_sandbox.bench.report import Report, begin, median, quantile
from hadash_sandbox.demo import ROOT

PARTS = ("closure", "batch")

SIZES = (1_000, 10_000, 100_000)
#: Edges and clients of each AppID.
EDGES, CLIENTS = 10, 3
#: Share of shared Topics among the uses of Topics, and the exponent of their popularity.
SHARED, ZIPF = 0.15, 1.1
#: Share of AppIDs that have registered InstanceIDs.
REGISTERED = 0.3
#: Questions for each size and dimension.
QUESTIONS = 200
GOAL_MS = 200.0


def fleet(appids: int, seed: int = 7) -> tuple[list[AccessEdge], dict[str, tuple[str, ...]]]:
    """A generated fleet: (uses, registered InstanceIDs by AppID). The same seed makes the same fleet."""
    chance = random.Random(seed)
    shared = max(10, appids // 5)
    weights = [1 / (rank + 1) ** ZIPF for rank in range(shared)]
    popular = iter(chance.choices(range(shared), weights, k=appids * EDGES))
    uses = list(_uses(appids, chance, popular))
    registered = {
        f"app-{number}": tuple(f"app-{number}-{client}" for client in range(CLIENTS))
        for number in range(appids)
        if chance.random() < REGISTERED
    }
    return uses, registered


def _uses(appids: int, chance: random.Random, popular: Iterator[int]) -> Iterator[AccessEdge]:
    for number in range(appids):
        appid = f"app-{number}"
        for edge in range(EDGES):
            client = f"{appid}-{chance.randrange(CLIENTS)}"
            if edge == EDGES - 1:
                yield AccessEdge(appid, client, "group", f"{appid}-readers")
            elif chance.random() < SHARED / (EDGES - 1) * 2:
                yield AccessEdge(appid, client, "consume", f"shared-{next(popular)}")
            else:
                yield AccessEdge(appid, client, chance.choice(("produce", "consume")), f"{appid}.{edge}")


def bench_plan(
    parts: Sequence[str] = (),
    instances: int = INSTANCES,
    switches: int = SWITCHES,
    keep: Path | None = None,
) -> int:
    """Run the named parts, or all; print and write the results. Return the exit code, 1 when a goal is missed."""
    path = ROOT / "var" / "bench" / ("plan.json" if not parts else f"plan-{'-'.join(parts)}.json")
    report = begin(path)
    if not parts or "closure" in parts:
        bench_closure(report)
    if not parts or "batch" in parts:
        bench_batch(report, instances, switches, keep)
    return report.conclude(path)


def bench_closure(report: Report) -> None:
    """Measure the closure at all sizes, each in a process of its own, so that its memory can be measured."""
    for size in SIZES:
        for dimension in Dimension:
            code = f"from hadash_sandbox.bench.plan import one; one({size}, {dimension.value!r})"
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            values = dict(part.split("=") for part in done.stdout.split())
            report.row("closure", appids=size, dimension=dimension.value, **values)
            if size == SIZES[-1]:
                name = f"closure at {size} AppIDs, {dimension.value}, p95"
                found = float(values["p95_ms"])
                report.at_most(name, GOAL_MS, found, "ms", samples=int(values["questions"]), needed=QUESTIONS)


def one(size: int, dimension: str) -> None:
    """Measure one size and dimension; print ``name=value`` for each figure."""
    uses, registered = fleet(size)
    gc.collect()
    began = time.perf_counter()
    graph = AccessGraph(uses, {}, registered, Dimension(dimension), widen=True)
    built = time.perf_counter() - began
    chance = random.Random(size)
    gc.freeze()
    took, members = [], []
    for _ in range(QUESTIONS):
        asked = _question(chance, size)
        began = time.perf_counter()
        found = graph.close([asked])
        names = found.named(TOPIC), found.named(GROUP), found.nodes(APPID, INSTANCE)
        took.append(1000 * (time.perf_counter() - began))
        members.append(sum(len(listed) for listed in names))
    figures = {
        "edges": len(uses),
        "questions": len(took),
        "build_s": round(built, 2),
        "p50_ms": round(median(took), 2),
        "p95_ms": round(quantile(took, 0.95), 2),
        "max_ms": round(max(took), 2),
        "largest": max(members),
        "median_members": round(median(members)),
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(" ".join(f"{name}={value}" for name, value in figures.items()))


def _question(chance: random.Random, size: int) -> Node:
    """A random Topic or AppID."""
    appid = f"app-{chance.randrange(size)}"
    return (
        topic(f"{appid}.{chance.randrange(EDGES - 1)}") if chance.random() < 0.5 else node_of(Identity(appid))
    )
