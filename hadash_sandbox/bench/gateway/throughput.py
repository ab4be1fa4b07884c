"""Throughput through the Gateway and to the broker itself, by Kafka's own performance tools."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from hadash_sandbox.bench.gateway.fixture import TURNS, Bench
from hadash_sandbox.bench.report import Report, median

GOAL_THROUGHPUT = 0.95

#: By case: records, bytes of a record, settings of the producer. Each run takes about six seconds on two cores.
CASES: dict[str, tuple[int, int, dict[str, str]]] = {
    "100 B records, default batching": (3_000_000, 100, {}),
    "1 KiB batches": (400_000, 100, {"batch.size": "1024"}),
    "100 KiB batches": (700_000, 1024, {"batch.size": "102400", "linger.ms": "5"}),
}
#: A consumer reads the records of so many of a producer's runs: of fewer it is done before the machine's JVMs have
#: compiled what they do all the time.
RUNS_CONSUMED = 4


def throughput(bench: Bench, report: Report) -> None:
    """Measure throughput with Kafka's performance tools, in turns, and the Gateway's CPU time for each GiB."""
    bench.start()
    for case, (records, size, settings) in CASES.items():
        topic = bench.topic(f"bench-{len(report.tables)}-{size}-{settings.get('batch.size', 'default')}", 4)
        bench.tools.produce(
            bench.east.bootstrap_servers, topic, records // 4, size, settings
        )  # warms the broker up
        runs: dict[str, Callable[[str], float]] = {
            "produce": lambda to, t=topic, n=records, s=size, c=settings: bench.tools.produce(to, t, n, s, c),  # type: ignore[misc]
            "consume": lambda to, t=topic, n=records * RUNS_CONSUMED: bench.tools.consume(to, t, n),  # type: ignore[misc]
        }
        for what, run in runs.items():
            passing = records * (RUNS_CONSUMED if what == "consume" else 1)
            gib = passing * size / (1 << 30)
            direct, through, cpu = [], [], []
            seen = 0
            busy: dict[str, list[float]] = {"direct": [], "through": []}
            for turn in range(TURNS):
                # The second run finds warm caches, so the order alternates too.
                for way in ("direct", "through") if turn % 2 else ("through", "direct"):
                    psutil.cpu_percent()
                    if way == "direct":
                        direct.append(run(bench.east.bootstrap_servers))
                    else:
                        before, passed = bench.cpu_seconds(), bench.relayed(what, topic)
                        through.append(run(bench.bootstrap))
                        cpu.append((bench.cpu_seconds() - before) / gib)
                        seen += bench.relayed(what, topic) - passed >= passing
                    busy[way].append(psutil.cpu_percent())
            ratio = median([t / d for t, d in zip(through, direct, strict=True)])
            report.row(
                "throughput (MiB/s, medians)",
                case=f"{what}, {case}",
                direct=round(median(direct), 1),
                gateway=round(median(through), 1),
                ratio=round(ratio, 3),
                ratios=" ".join(f"{t / d:.2f}" for t, d in zip(through, direct, strict=True)),
                gateway_cpu_s_per_GiB=round(median(cpu), 2),
                machine_busy_percent=" ".join(f"{way} {median(shares):.0f}" for way, shares in busy.items()),
            )
            name = f"throughput of direct: {what}, {case}"
            report.at_least(name, GOAL_THROUGHPUT, ratio, "ratio", samples=seen, needed=TURNS)
