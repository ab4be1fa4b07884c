"""The whole run, or some of its parts."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop

from hadash_sandbox.bench.gateway.connections import block, connections
from hadash_sandbox.bench.gateway.fixture import ROOT, Bench
from hadash_sandbox.bench.gateway.latency import large_metadata, latency
from hadash_sandbox.bench.gateway.purgatory import bench_purgatory
from hadash_sandbox.bench.gateway.stranger import bench_stranger
from hadash_sandbox.bench.gateway.throughput import throughput
from hadash_sandbox.bench.report import begin
from hadash_sandbox.stack import Stack

PARTS: dict[str, Any] = {
    "purgatory": lambda bench, report: bench_purgatory(report),
    "latency": latency,
    "connections": connections,
    "block": block,
    "throughput": throughput,
    "metadata": large_metadata,
    "stranger": bench_stranger,
}


def bench_gateway(parts: Sequence[str] = ()) -> int:
    """Run the named parts, or all; return 0 only if every goal was measured and met."""
    path = ROOT / "var" / "bench" / ("gateway.json" if not parts else f"gateway-{'-'.join(parts)}.json")
    report = begin(path)
    folder = Path(tempfile.mkdtemp(prefix="hadash-bench-"))
    bench = None
    try:
        with Stack(folder, with_connect=False) as stack:
            bench = Bench(folder, stack)
            try:
                for name, part in PARTS.items():
                    if parts and name not in parts:
                        continue
                    print(f"\n{name} ...", flush=True)
                    running = part(bench, report)
                    if asyncio.iscoroutine(running):
                        uvloop.run(running)
            finally:
                bench.stop()
                bench.zookeeper.stop()
                bench.zookeeper.close()
    except BaseException:
        log = folder / "gateway.log"
        if log.exists():
            print(f"--- {log}\n{log.read_text()[-4000:]}", file=sys.stderr)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.conclude(path)
