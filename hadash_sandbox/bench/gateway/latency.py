"""What the Gateway adds to the latency of PRODUCE: with one client, and beside another one's large METADATA."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from hadash_sandbox.bench.gateway.fixture import TURNS, Bench
from hadash_sandbox.bench.gateway.pacing import paced
from hadash_sandbox.bench.raw import RawConnection, metadata_request, produce_request
from hadash_sandbox.bench.report import Report, median, quantile

GOAL_ADDED_P99_MS = 1.0

REQUESTS_A_SECOND = 1000
LATENCY_SECONDS = 3.0
#: METADATA answers during which latencies have to be measured, at least.
LEAST_ANSWERS = 5
#: Topics, and partitions of each, for the METADATA answer.
LARGE = (10, 1000)


def _milliseconds(values: Sequence[float]) -> dict[str, float]:
    return {
        name: round(1000 * quantile(values, share), 3)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
    }


async def latency(bench: Bench, report: Report) -> None:
    """Measure the latency of PRODUCE (acks=1, 100 bytes) at a fixed pace, in turns."""
    bench.start()
    topic = bench.topic("bench-latency", 1)
    data = produce_request(topic, b"x" * 100)
    direct, through = await bench.connected(bench.direct), await bench.connected(bench.through)
    found: dict[str, list[float]] = {"direct": [], "gateway": []}
    await paced(direct, data, 1.0, REQUESTS_A_SECOND)
    await paced(through, data, 1.0, REQUESTS_A_SECOND)
    for turn in range(2 * TURNS):
        ways = [("direct", direct), ("gateway", through)]
        for name, connection in ways if turn % 2 else reversed(ways):
            found[name] += await paced(connection, data, LATENCY_SECONDS / 2, REQUESTS_A_SECOND)
    table = f"latency of PRODUCE at {REQUESTS_A_SECOND} requests a second (ms)"
    for name, values in found.items():
        report.row(table, way=name, requests=len(values), **_milliseconds(values))
    added = {
        name: round(value - _milliseconds(found["direct"])[name], 3)
        for name, value in _milliseconds(found["gateway"]).items()
    }
    report.row(table, way="added", requests="", **added)
    # Each request has one record. (The Gateway has also seen those of the first second, which is a warm-up.)
    seen = bench.relayed("produce", topic) - REQUESTS_A_SECOND
    wanted = 2 * TURNS * int(LATENCY_SECONDS / 2 * REQUESTS_A_SECOND)
    report.at_most("added latency, p99", GOAL_ADDED_P99_MS, added["p99"], "ms", samples=seen, needed=wanted)


async def large_metadata(bench: Bench, report: Report) -> None:
    """Measure the latency of one client while another one fetches METADATA of ten thousand partitions."""
    topics, partitions = LARGE
    for number in range(topics):
        bench.topic(f"large-{number}", partitions)
    bench.start()
    data = produce_request(bench.topic("bench-beside", 1), b"x" * 100)
    table = f"latency of PRODUCE beside METADATA of {topics * partitions:,} partitions (ms)"
    for way, address in (("direct", bench.direct), ("gateway", bench.through)):
        writer, asker = await bench.connected(address), await bench.connected(address)
        await paced(writer, data, 1.0, REQUESTS_A_SECOND)
        alone = await paced(writer, data, LATENCY_SECONDS, REQUESTS_A_SECOND)
        stop = asyncio.Event()
        answers: list[tuple[float, int]] = []

        async def ask(
            asker: RawConnection = asker, stop: asyncio.Event = stop, answers: Any = answers
        ) -> None:
            while not stop.is_set():
                began = time.perf_counter()
                answer = await asker.send(metadata_request())
                answers.append((time.perf_counter() - began, len(answer)))
                await asyncio.sleep(0.5)

        asking = asyncio.create_task(ask())
        beside = await paced(writer, data, 2 * LATENCY_SECONDS, REQUESTS_A_SECOND)
        stop.set()
        await asking
        took = round(1000 * median([seconds for seconds, _ in answers]), 1)
        report.row(table, way=way, beside="nothing", **_milliseconds(alone), max=round(1000 * max(alone), 2))
        report.row(
            table,
            way=way,
            beside=f"{len(answers)} answers of {answers[0][1]:,} bytes, {took} ms each",
            **_milliseconds(beside),
            max=round(1000 * max(beside), 2),
        )
        report.at_least(f"answers of METADATA beside PRODUCE, {way}", LEAST_ANSWERS, len(answers), "answers")
