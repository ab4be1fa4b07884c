"""``make bench-gateway PARTS=stranger``: signed-in clients beside somebody who floods the Gateway without signing in.

The Gateway has a core of its own; broker, client and stranger share the other one, and the stranger gets what
the other two leave. A second client writes to the broker itself at the same time. The stranger knows nothing
of that one, so what it waits longer is the machine's, and what the first waits longer than it is the
Gateway's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from hadash_sandbox.bench.flood import KINDS
from hadash_sandbox.bench.raw import RawConnection, check_written, produce_request
from hadash_sandbox.bench.report import Report, quantile
from hadash_sandbox.bench.tools import load_average
from hadash_sandbox.errors import SandboxError

if TYPE_CHECKING:
    from hadash_sandbox.bench.gateway import Bench

#: What the names of this part's goals begin with.
GOALS = "stranger"
#: By how much the slowest hundredth may be slower beside the stranger than without it.
GOAL_RISE_P99_MS = 5.0
GOAL_IDLE_SECONDS = 1.0
#: Connections a second of the stranger on the demo that was the reason for this: fewer are no measurement.
LEAST_CONNECTIONS_A_SECOND = 150

CONNECTIONS = 16
SECONDS = 60.0
#: The client alone, before the stranger and after it.
ALONE_SECONDS = 30.0
WARM_UP_SECONDS = 10.0
REQUESTS_A_SECOND = 200

#: Round trips below which a p99 says nothing.
LEAST_ROUND_TRIPS = 1000
#: Pause between two sign-ins of a new client beside the stranger.
SIGN_IN_EVERY_SECONDS = 1.0

#: A process is idle when it used less of a core than this, for so long. (The kernel counts in hundredths of a second.)
IDLE_SHARE = 0.1
IDLE_WINDOW_SECONDS = 0.3
#: Seconds after which nobody waits for it to become idle.
IDLE_PATIENCE_SECONDS = 30.0

GATEWAY_CORE, OTHERS_CORE = 0, 1

#: The real-time priority of Gateway, broker and client, when this process may give it: before the stranger,
#: and before all else that runs on the machine. (What they start has none.)
REAL_TIME = os.SCHED_RR | os.SCHED_RESET_ON_FORK
PRIORITY = 1


@dataclass
class Steady:
    """Round trips of one client that writes at a fixed pace, in seconds."""

    connection: RawConnection
    request: bytes

    async def run(self, seconds: float) -> list[float]:
        """Latencies of requests that are sent at that pace, whether or not earlier ones are answered.

        :raises SandboxError: one was refused.
        """
        latencies: list[float] = []
        pending = []
        start = time.perf_counter()
        for number in range(int(seconds * REQUESTS_A_SECOND)):
            due = start + number / REQUESTS_A_SECOND
            delay = due - time.perf_counter()
            if delay > 0:
                await asyncio.sleep(delay)
            sent = time.perf_counter()
            answered = self.connection.send(self.request)
            answered.add_done_callback(
                lambda _, sent=sent: latencies.append(time.perf_counter() - sent)  # type: ignore[misc]
            )
            pending.append(answered)
        check_written(await asyncio.gather(*pending))
        return latencies


@dataclass
class Pair:
    """The same client through the Gateway and directly at the broker, at the same time."""

    gateway: Steady
    direct: Steady

    async def run(self, seconds: float) -> Latencies:
        return Latencies(*await asyncio.gather(self.gateway.run(seconds), self.direct.run(seconds)))


@dataclass
class Latencies:
    """Round trips in seconds, through the Gateway and directly."""

    gateway: list[float]
    direct: list[float]

    def __iadd__(self, more: Latencies) -> Latencies:
        self.gateway += more.gateway
        self.direct += more.direct
        return self

    @property
    def p99_of_gateway_ms(self) -> float:
        """By how much the slowest hundredth through the Gateway is slower than the slowest hundredth without it."""
        return _milliseconds(self.gateway)["p99"] - _milliseconds(self.direct)["p99"]


async def bench_stranger(bench: Bench, report: Report) -> None:
    """Each kind of stranger in turn, with the clients alone before and after it."""
    bench.start()
    request = produce_request(bench.topic("bench-stranger", 1), b"x" * 100)
    with _cores(bench):
        clients = Pair(
            Steady(await bench.connected(bench.through), request),
            Steady(await bench.connected(bench.direct), request),
        )
        await clients.run(WARM_UP_SECONDS)
        for kind in KINDS:
            await _measure(bench, report, clients, kind)


async def _measure(bench: Bench, report: Report, clients: Pair, kind: str) -> None:
    alone = await clients.run(ALONE_SECONDS)
    cpu, began = bench.cpu_seconds(), time.perf_counter()
    stop = asyncio.Event()
    signing_in = asyncio.create_task(_sign_ins(bench, stop))
    flood = asyncio.create_task(_flood(bench.through, kind))
    beside = await clients.run(SECONDS)
    stop.set()
    sign_ins = await signing_in
    found = await flood
    busy = (bench.cpu_seconds() - cpu) / (time.perf_counter() - began)
    idle_after = await _idle_after(bench)
    alone += await clients.run(ALONE_SECONDS)
    rate = found["opened"] / found["seconds"]
    if not (alone.gateway and beside.gateway and sign_ins) or rate < LEAST_CONNECTIONS_A_SECOND:
        raise SandboxError(
            f"nothing was measured: {len(alone.gateway)} and {len(beside.gateway)} round trips, "
            f"{len(sign_ins)} sign-ins, a "
            f"stranger with {rate:.0f} connections a second (at least {LEAST_CONNECTIONS_A_SECOND})"
        )
    table = f"PRODUCE at {REQUESTS_A_SECOND} a second beside a stranger that is not signed in (ms)"
    for when, latencies in (("without", alone), ("beside", beside)):
        for way, values in (("gateway", latencies.gateway), ("direct", latencies.direct)):
            report.row(
                table, stranger=kind, when=when, way=way, round_trips=len(values), **_milliseconds(values)
            )
    report.row(
        "the stranger, and a new client that signs in beside it (ms)",
        stranger=kind,
        connections_a_second=round(rate),
        MB_a_second=round(found["sent"] / found["seconds"] / 1e6, 1),
        gateway_busy_percent=round(100 * busy),
        load=load_average(),
        sign_ins=len(sign_ins),
        **_milliseconds(sign_ins),
    )
    judge(report, kind, alone, beside, idle_after)


def judge(report: Report, kind: str, alone: Latencies, beside: Latencies, idle_after: float) -> None:
    """The goals for one kind of stranger.

    :param idle_after: seconds from its end until the Gateway did nothing any more.
    """
    report.at_most(
        f"{GOALS} {kind}: rise of the p99 that the Gateway adds",
        GOAL_RISE_P99_MS,
        beside.p99_of_gateway_ms - alone.p99_of_gateway_ms,
        "ms",
        samples=min(len(alone.gateway), len(beside.gateway)),
        needed=LEAST_ROUND_TRIPS,
    )
    report.at_most(f"{GOALS} {kind}: idle after its end", GOAL_IDLE_SECONDS, idle_after, "s")


async def _flood(address: tuple[str, int], kind: str) -> dict[str, float]:
    """Run the stranger to its end: what it did."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hadash_sandbox.bench.flood"),
        *(address[0], str(address[1]), "--kind", kind),
        *("--connections", str(CONNECTIONS), "--seconds", str(SECONDS), "--core", str(OTHERS_CORE)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        said, _ = await process.communicate()
    except BaseException:
        process.kill()
        raise
    if process.returncode:
        raise SandboxError(f"the stranger ended with exit code {process.returncode}")
    found: dict[str, float] = json.loads(said)
    return found


async def _sign_ins(bench: Bench, stop: asyncio.Event) -> list[float]:
    """Seconds that a new client takes from connecting to being signed in, one after the other until ``stop``."""
    took = []
    while not stop.is_set():
        began = time.perf_counter()
        connection = await bench.connected(bench.through)
        took.append(time.perf_counter() - began)
        connection.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), SIGN_IN_EVERY_SECONDS)
    return took


async def _idle_after(bench: Bench) -> float:
    """Seconds until the Gateway, which nobody asks anything, does nothing any more."""
    began = time.perf_counter()
    while (since := time.perf_counter() - began) < IDLE_PATIENCE_SECONDS:
        before = bench.cpu_seconds()
        await asyncio.sleep(IDLE_WINDOW_SECONDS)
        if bench.cpu_seconds() - before <= IDLE_SHARE * IDLE_WINDOW_SECONDS:
            return since
    return IDLE_PATIENCE_SECONDS


@contextmanager
def _cores(bench: Bench) -> Iterator[None]:
    """Give the Gateway a core of its own, and all else that the benchmark has started the other one."""
    if (os.cpu_count() or 1) < 2:
        raise SandboxError("this part needs two cores: one for the Gateway, one for the stranger")
    own = {process.pid for process in bench.processes()}
    gateway: list[int] = []
    others = [os.getpid()]
    for process in psutil.Process().children(recursive=True):
        (gateway if process.pid in own else others).append(process.pid)
    before = os.sched_getaffinity(0)
    _pin(gateway, {GATEWAY_CORE})
    _pin(others, {OTHERS_CORE})
    first = _schedule([*gateway, *others], REAL_TIME, PRIORITY)
    print(
        f"  the Gateway on core {GATEWAY_CORE}; broker, client and stranger on core {OTHERS_CORE}; "
        + ("the stranger has what the others leave" if first else "no priorities (only root may give them)"),
        flush=True,
    )
    try:
        yield
    finally:
        _pin([*gateway, *others], before)
        _schedule([*gateway, *others], os.SCHED_OTHER, 0)


def _threads(pids: list[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            for thread in psutil.Process(pid).threads():
                yield thread.id


def _pin(pids: list[int], cores: set[int]) -> None:
    for thread in _threads(pids):
        with suppress(ProcessLookupError):  # it has ended by now
            os.sched_setaffinity(thread, cores)


def _schedule(pids: list[int], policy: int, priority: int) -> bool:
    """Whether this process may do it."""
    for thread in _threads(pids):
        try:
            os.sched_setscheduler(thread, policy, os.sched_param(priority))
        except ProcessLookupError:
            continue
        except PermissionError:
            return False
    return True


def _milliseconds(values: list[float]) -> dict[str, float]:
    found = {
        name: quantile(values, share)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
    }
    return {name: round(1000 * value, 2) for name, value in found.items()}
