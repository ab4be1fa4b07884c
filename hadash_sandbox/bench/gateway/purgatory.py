"""Measures the purgatory with up to a million waiting operations, and the event loop's own timers."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterable
from functools import partial

from hadash.gateway.waiting.purgatory import DelayedOperation, Purgatory, Timer
from hadash.gateway.waiting.timing_wheel import Entry, TimingWheel
from hadash_sandbox.bench.report import Report

COUNTS = (1_000, 10_000, 100_000, 1_000_000)
#: Number of AppIDs under which the operations are watched.
KEYS = 1000
#: Seconds that an operation waits, at most (at least half a second), as parked requests do.
SECONDS = 20.0
#: Largest allowed growth of the cost of an operation, from ten thousand to a million. A constant cost grows a little
#: too: caches and allocators of a process of half a gigabyte are slower than those of a small one.
GOAL_GROWTH = 3.0


class _Operation(DelayedOperation):
    __slots__ = ()

    def can_complete(self) -> bool:
        return True

    def complete(self) -> None:
        pass

    def expire(self) -> None:
        pass


def _each(count: int, work: Callable[[], object]) -> float:
    """The time of ``work`` in microseconds for each of ``count`` operations."""
    gc.collect()
    began = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - began) / count


def _all(action: Callable[..., object], *arguments: Iterable[object]) -> None:
    for each in zip(*arguments, strict=True):
        action(*each)


def _nothing() -> None:
    pass


async def _measure(count: int) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    delays = [random.uniform(0.5, SECONDS) for _ in range(count)]
    found = {}

    def purgatory() -> tuple[Purgatory, list[_Operation]]:
        operations = [_Operation(f"app-{number % KEYS}", 100) for number in range(count)]
        return Purgatory(Timer(loop), count, 1000 * count), operations

    waiting, operations = purgatory()
    found["insert"] = _each(count, partial(_all, waiting.park, operations, delays))
    keys = [f"app-{key}" for key in range(KEYS)]
    found["complete"] = _each(count, partial(_all, waiting.check, keys))
    assert waiting.count == 0

    waiting, operations = purgatory()
    _all(waiting.park, operations, delays)
    found["cancel"] = _each(count, partial(_all, waiting.cancel, operations))

    # Expiry runs on a simulated clock: twenty seconds pass at once, tick by tick where something is due.
    wheel = TimingWheel(0.01, 64, 0.0)
    entries = [Entry(_nothing) for _ in range(count)]
    for entry, delay in zip(entries, delays, strict=True):
        wheel.add(entry, delay)

    def expire() -> None:
        left = count
        while (due := wheel.next_due()) is not None:
            left -= len(wheel.advance(due + 1e-9))
        assert left == 0

    found["expire"] = _each(count, expire)

    handles: list[asyncio.TimerHandle] = []
    found["call_later"] = _each(count, lambda: handles.extend(loop.call_later(d, _nothing) for d in delays))
    found["its cancel"] = _each(count, partial(_all, asyncio.TimerHandle.cancel, handles))
    return found


def bench_purgatory(report: Report) -> None:
    """Measure the cost of an operation at growing numbers, and that of ``loop.call_later`` (of asyncio's own loop)."""
    costs = {}
    for count in COUNTS:
        costs[count] = asyncio.run(_measure(count))
        report.row(
            "purgatory (microseconds an operation)",
            operations=f"{count:,}",
            **{name: round(cost, 2) for name, cost in costs[count].items()},
        )
    for what in ("insert", "complete", "expire"):
        growth = costs[COUNTS[-1]][what] / costs[COUNTS[1]][what]
        report.at_most(
            f"purgatory: {what} at {COUNTS[-1]:,} over {COUNTS[1]:,}", GOAL_GROWTH, growth, "times"
        )
