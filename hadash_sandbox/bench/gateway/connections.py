"""How fast clients sign in, the memory of an idle connection, and how soon a block is in effect on many of them."""

from __future__ import annotations

import asyncio
import time

from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash_sandbox.bench.gateway import presence
from hadash_sandbox.bench.gateway.fixture import TURNS, WORKERS, Bench
from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.kafka import ADMIN

GOAL_IDLE_KIB = 40.0
GOAL_BLOCK_MS = 100.0

IDLE_CONNECTIONS = 4000
SIGN_INS = 1000
BLOCK_CONNECTIONS = 10_000
BLOCKS = 5
MIB = 1 << 20


async def connections(bench: Bench, report: Report) -> None:
    """Measure how fast clients sign in, and the memory of an idle connection."""
    bench.start()
    ways = {"direct": bench.direct, "gateway": bench.through}
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        rates: dict[str, list[float]] = {"direct": [], "gateway": []}
        for turn in range(TURNS):
            for way in sorted(ways, reverse=bool(turn % 2)):
                began = time.perf_counter()
                opened = await bench.many(ways[way], SIGN_INS, mechanism)
                if turn:  # the first turn is a warm-up
                    rates[way].append(SIGN_INS / (time.perf_counter() - began))
                for connection in opened:
                    connection.close()
                await asyncio.sleep(0.5)  # keeps the closing out of the next measurement
        report.row(
            "connections signed in a second (medians)",
            mechanism=mechanism,
            **{way: round(median(found)) for way, found in rates.items()},
            ratio=round(median(rates["gateway"]) / median(rates["direct"]), 2),
        )
    bench.start()
    warm = await bench.many(bench.through, 200)
    before = bench.memory()
    opened = await bench.many(bench.through, IDLE_CONNECTIONS)
    await asyncio.sleep(1.0)  # until the memory of signing in is freed
    kib = (bench.memory() - before) / IDLE_CONNECTIONS / 1024
    there = presence.connections(bench.admin_ports) - len(warm)
    report.row(
        "memory of the Gateway",
        idle_connections=IDLE_CONNECTIONS,
        KiB_each=round(kib, 1),
        MiB_per_1000=round(kib * 1000 / 1024, 1),
        base_MiB=round(before / MIB),
    )
    # (If the processes need less memory than before, nothing is known about a connection.)
    report.at_most(
        "memory of an idle connection",
        GOAL_IDLE_KIB,
        kib if kib > 0 else None,
        "KiB",
        samples=there,
        needed=IDLE_CONNECTIONS,
    )
    for connection in (*warm, *opened):
        connection.close()


async def block(bench: Bench, report: Report) -> None:
    """Measure a block, from the ZooKeeper write until every process reports that nothing is in flight any longer."""
    bench.start(WORKERS)
    opened = await bench.many(bench.through, BLOCK_CONNECTIONS)
    identity = Identity(ADMIN)
    await asyncio.to_thread(bench.store.take_over, "bench", "block", 1)

    def write(state: BindingState) -> tuple[int, float]:
        binding = Binding("east", state, switch="bench", stage=state.value)
        epoch = bench.store.change([Edit(identity, binding)], Journal("bench", state.value, 1))
        return epoch, time.perf_counter()

    def in_effect(epoch: int) -> float:
        return presence.await_effect(bench.zookeeper, epoch, WORKERS)

    def once() -> float:
        epoch, written = write(BindingState.BLOCK)
        seconds = in_effect(epoch) - written
        in_effect(write(BindingState.FORWARD)[0])
        return seconds

    await asyncio.to_thread(once)  # a warm-up
    took = [1000 * await asyncio.to_thread(once) for _ in range(BLOCKS)]
    alive = min(sum(not connection.lost for connection in opened), presence.connections(bench.admin_ports))
    report.row(
        f"block in effect after the ZooKeeper write (ms), {WORKERS} processes",
        connections=alive,
        median=round(median(took), 1),
        max=round(max(took), 1),
        each=" ".join(f"{ms:.0f}" for ms in took),
    )
    name = f"block in effect, slowest of {len(took)}, on so many connections"
    report.at_most(name, GOAL_BLOCK_MS, max(took), "ms", samples=alive, needed=BLOCK_CONNECTIONS)
    for connection in opened:
        connection.close()
