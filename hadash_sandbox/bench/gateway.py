"""``make bench-gateway``: measures the Gateway and the broker itself in turns, in one run."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import uvloop
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from hadash.bindings import catalogue
from hadash.bindings.model import Binding, BindingState, Broker, ClusterDescription, Journal, PairDescription
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash_sandbox.bench import presence
from hadash_sandbox.bench.purgatory import bench_purgatory
from hadash_sandbox.bench.raw import RawConnection, check_written, metadata_request, produce_request
from hadash_sandbox.bench.report import Report, begin, median, quantile
from hadash_sandbox.bench.stranger import bench_stranger
from hadash_sandbox.bench.tools import Login, PerfTools
from hadash_sandbox.downloads import KAFKA_VERSION
from hadash_sandbox.kafka import ADMIN, KafkaCluster
from hadash_sandbox.ports import HOST, allocate
from hadash_sandbox.processes import Process
from hadash_sandbox.stack import Stack

ROOT = Path(__file__).resolve().parents[2]
CHROOT = "/hadash-bench"
PORTS_PER_CLUSTER = 2
WORKERS = 2
MIB = 1 << 20

GOAL_THROUGHPUT = 0.95
GOAL_ADDED_P99_MS = 1.0
GOAL_IDLE_KIB = 40.0
GOAL_BLOCK_MS = 100.0

#: Turns of each measurement; the medians are compared.
TURNS = 5
#: By case: records, bytes of a record, settings of the producer. Each run takes about six seconds on two cores.
CASES: dict[str, tuple[int, int, dict[str, str]]] = {
    "100 B records, default batching": (3_000_000, 100, {}),
    "1 KiB batches": (400_000, 100, {"batch.size": "1024"}),
    "100 KiB batches": (700_000, 1024, {"batch.size": "102400", "linger.ms": "5"}),
}
#: A consumer reads the records of so many of a producer's runs: of fewer it is done before the machine's JVMs have
#: compiled what they do all the time.
RUNS_CONSUMED = 4
REQUESTS_A_SECOND = 1000
LATENCY_SECONDS = 3.0
IDLE_CONNECTIONS = 4000
SIGN_INS = 1000
BLOCK_CONNECTIONS = 10_000
BLOCKS = 5
#: Connections that are opened at the same time, at most.
OPENING = 100
#: METADATA answers during which latencies have to be measured, at least.
LEAST_ANSWERS = 5
#: Topics, and partitions of each, for the METADATA answer.
LARGE = (10, 1000)


class Bench:
    """A stack of two clusters and a Gateway in front of them."""

    def __init__(self, folder: Path, stack: Stack) -> None:
        self.folder = folder
        self.stack = stack
        self.east: KafkaCluster = stack.kafka["east"]
        self.login = Login(ADMIN, self.east.users[ADMIN])
        self.admin = AdminClient({**self.east.client_config(), "log_level": 0})
        self.tools = PerfTools(KAFKA_VERSION, folder, self.login)
        names = [
            "gateway",
            *(f"node {n}" for n in range(2 * PORTS_PER_CLUSTER)),
            *(f"admin {n}" for n in range(WORKERS)),
        ]
        self.ports = allocate(names, folder / "bench-ports.json")
        os.environ["HADASH_ZOOKEEPER_CHROOT"] = CHROOT
        self.zookeeper: KazooClient = stack.zookeeper.connect(CHROOT)
        self.store = BindingStore(self.zookeeper)
        self.process: Process | None = None
        self.workers = 0
        self._publish()

    def _publish(self) -> None:
        for cluster in self.stack.kafka.values():
            brokers = tuple(Broker(number, HOST, port) for number, port in enumerate(cluster.ports))
            catalogue.publish_cluster(
                self.zookeeper,
                ClusterDescription(cluster.cluster, cluster.id, cluster.bootstrap_servers, brokers=brokers),
            )
        catalogue.publish_pair(self.zookeeper, PairDescription("main", ("east", "west"), "east"))

    # -- the Gateway -----------------------------------------------------------------------------------------------

    def start(self, workers: int = 1) -> None:
        """Start a new Gateway with so many worker processes.

        :raises SandboxError: it does not start, or sends clients past itself.
        """
        self.stop()
        environment = {
            **self.stack.zookeeper.environment(),
            "HADASH_ZOOKEEPER_CHROOT": CHROOT,
            "HADASH_GATEWAY_ID": "bench",
            "HADASH_GATEWAY_PORT": str(self.ports["gateway"]),
            "HADASH_GATEWAY_PORTS_PER_CLUSTER": str(PORTS_PER_CLUSTER),
            "HADASH_GATEWAY_ADMIN_PORT": str(self.ports["admin 0"]),
            "HADASH_GATEWAY_WORKERS": str(workers),
            "HADASH_LOG_LEVEL": "WARNING",
        }
        self.process = Process(
            "gateway",
            [sys.executable, "-m", "hadash.gateway"],
            log_path=self.folder / "gateway.log",
            env=environment,
            ready=lambda: all(self._answers(n) for n in range(workers)),
            cwd=ROOT,
        )
        self.workers = workers
        self.process.start()
        self.process.wait_ready(30)
        nodes = [self.ports[f"node {n}"] for n in range(2 * PORTS_PER_CLUSTER)]
        presence.check_addresses(self.bootstrap, self.east.client_config(), [*nodes, self.ports["gateway"]])

    def _answers(self, number: int) -> bool:
        with urllib.request.urlopen(f"http://{HOST}:{self.ports[f'admin {number}']}/status", timeout=2):
            return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop(timeout=20)
            self.process = None

    @property
    def admin_ports(self) -> list[int]:
        """The status ports of the Gateway's processes."""
        return [self.ports[f"admin {number}"] for number in range(self.workers)]

    def relayed(self, kind: str, topic: str) -> int:
        """The number of records of a Topic that have passed through the Gateway.

        :param kind: produce or consume.
        """
        return presence.relayed(self.admin_ports, kind, topic)

    def processes(self) -> list[psutil.Process]:
        """The Gateway's worker processes; its only process when it has no workers."""
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return parent.children(recursive=True) or [parent]

    def cpu_seconds(self) -> float:
        """CPU time that the Gateway's processes have used so far."""
        return sum(sum(p.cpu_times()[:2]) for p in self.processes())

    def memory(self) -> int:
        """Bytes that belong to the Gateway's processes alone."""
        return sum(p.memory_full_info().uss for p in self.processes())

    # -- addresses -------------------------------------------------------------------------------------------------

    @property
    def direct(self) -> tuple[str, int]:
        return HOST, self.east.ports[0]

    @property
    def through(self) -> tuple[str, int]:
        """The Gateway's node for broker 0 of east."""
        return HOST, self.ports["node 0"]

    @property
    def bootstrap(self) -> str:
        """The Gateway's bootstrap address."""
        return f"{HOST}:{self.ports['gateway']}"

    def topic(self, name: str, partitions: int) -> str:
        """Create a Topic on east; return its name."""
        self.admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=120, request_timeout=120)[
            name
        ].result()
        return name

    async def connected(self, address: tuple[str, int], mechanism: str = "PLAIN") -> RawConnection:
        """A new connection that is signed in."""
        connection = await RawConnection.open(address)
        users = self.east.users if mechanism == "PLAIN" else self.east.scram_users
        user = ADMIN if mechanism == "PLAIN" else next(iter(users))
        return await connection.sign_in(user, users[user], mechanism)

    async def many(
        self, address: tuple[str, int], count: int, mechanism: str = "PLAIN"
    ) -> list[RawConnection]:
        """``count`` new connections that are signed in; :data:`OPENING` are opened at a time."""
        gate = asyncio.Semaphore(OPENING)

        async def one() -> RawConnection:
            async with gate:
                return await self.connected(address, mechanism)

        return await asyncio.gather(*(one() for _ in range(count)))


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


async def _paced(connection: RawConnection, data: bytes, seconds: float) -> list[float]:
    """Send PRODUCE requests at a fixed pace, without waiting for earlier answers; return the latencies in seconds.

    :raises SandboxError: a request was refused, which would be no latency of a write.
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
        answered = connection.send(data)
        answered.add_done_callback(lambda _, sent=sent: latencies.append(time.perf_counter() - sent))  # type: ignore[misc]
        pending.append(answered)
    check_written(await asyncio.gather(*pending))
    return latencies


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
    await _paced(direct, data, 1.0)
    await _paced(through, data, 1.0)
    for turn in range(2 * TURNS):
        ways = [("direct", direct), ("gateway", through)]
        for name, connection in ways if turn % 2 else reversed(ways):
            found[name] += await _paced(connection, data, LATENCY_SECONDS / 2)
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
        await _paced(writer, data, 1.0)
        alone = await _paced(writer, data, LATENCY_SECONDS)
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
        beside = await _paced(writer, data, 2 * LATENCY_SECONDS)
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
