"""``make bench-gateway PARTS=stranger``: measures signed-in clients while a stranger floods the Gateway.

The stranger never signs in. The Gateway has a core of its own; broker, clients and stranger share the other one, and
the stranger gets what the others leave. One client writes through the Gateway, a second one directly to the broker at
the same time. The stranger does not touch the second client's connection, so what that client waits longer is caused by
the machine, and what the first client waits longer still is caused by the Gateway.
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

import psutil

from hadash_sandbox.bench.gateway.fixture import Bench
from hadash_sandbox.bench.gateway.flood import KINDS
from hadash_sandbox.bench.gateway.pacing import paced
from hadash_sandbox.bench.raw import RawConnection, produce_request
from hadash_sandbox.bench.report import Report, quantile
from hadash_sandbox.bench.tools import load_average
from hadash_sandbox.errors import SandboxError

#: Prefix of the names of this part's goals.
GOALS = "stranger"
#: Goal: milliseconds by which the 99th percentile that the Gateway adds may rise beside the stranger.
GOAL_RISE_P99_MS = 5.0
#: Goal: seconds after the stranger's end until the Gateway is idle.
GOAL_IDLE_SECONDS = 1.0
#: Connections a second of the stranger, at least; with fewer, the measurement does not count. A demo with so many was
#: the reason for this benchmark.
LEAST_CONNECTIONS_A_SECOND = 150

CONNECTIONS = 16
SECONDS = 60.0
#: Seconds in which the clients are measured alone, before the stranger and again after it.
ALONE_SECONDS = 30.0
WARM_UP_SECONDS = 10.0
REQUESTS_A_SECOND = 200

#: Round trips that a 99th percentile needs, at least.
LEAST_ROUND_TRIPS = 1000
#: Seconds between two sign-ins of a new client beside the stranger.
SIGN_IN_EVERY_SECONDS = 1.0

#: The Gateway is idle when it uses no more than this share of a core in a window of so many seconds. (The kernel counts
#: in hundredths of a second.)
IDLE_SHARE = 0.1
IDLE_WINDOW_SECONDS = 0.3
#: Seconds to wait for it to become idle.
IDLE_PATIENCE_SECONDS = 30.0

GATEWAY_CORE, OTHERS_CORE = 0, 1

#: The real-time scheduling of Gateway, broker and clients, if this process may set it: they run before the stranger and
#: everything else on the machine. (Their new child processes do not inherit it.)
REAL_TIME = os.SCHED_RR | os.SCHED_RESET_ON_FORK
PRIORITY = 1


@dataclass
class Steady:
    """One client that writes at a fixed pace."""

    connection: RawConnection
    request: bytes

    async def run(self, seconds: float) -> list[float]:
        """Send requests at that pace, without waiting for earlier answers; return the latencies in seconds.

        :raises SandboxError: a request was refused.
        """
        return await paced(self.connection, self.request, seconds, REQUESTS_A_SECOND)


@dataclass
class Pair:
    """Two equal clients at the same time, one through the Gateway and one directly at the broker."""

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
        """The 99th percentile through the Gateway minus the one without it, in milliseconds."""
        return _milliseconds(self.gateway)["p99"] - _milliseconds(self.direct)["p99"]


async def bench_stranger(bench: Bench, report: Report) -> None:
    """Measure each kind of stranger in turn, with the clients alone before and after it."""
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
    """Add the goals for one kind of stranger.

    :param idle_after: seconds from its end until the Gateway was idle.
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
    """Run the stranger to its end; return its counts.

    :raises SandboxError: it failed.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hadash_sandbox.bench.gateway.flood"),
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
    """Sign in one new client after the other until ``stop``; return the seconds from connecting to signed in."""
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
    """Wait until the Gateway is idle; return the seconds that took, at most :data:`IDLE_PATIENCE_SECONDS`."""
    began = time.perf_counter()
    while (since := time.perf_counter() - began) < IDLE_PATIENCE_SECONDS:
        before = bench.cpu_seconds()
        await asyncio.sleep(IDLE_WINDOW_SECONDS)
        if bench.cpu_seconds() - before <= IDLE_SHARE * IDLE_WINDOW_SECONDS:
            return since
    return IDLE_PATIENCE_SECONDS


@contextmanager
def _cores(bench: Bench) -> Iterator[None]:
    """Pin the Gateway to a core of its own, and everything else of the benchmark to the other one.

    :raises SandboxError: the machine has one core only.
    """
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
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(thread, cores)


def _schedule(pids: list[int], policy: int, priority: int) -> bool:
    """Set the scheduling policy of processes; return whether this process is allowed to."""
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
