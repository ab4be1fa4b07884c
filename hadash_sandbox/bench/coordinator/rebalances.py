"""Part ``rebalances``: a coordinator and members, each a process of its own, on a real ZooKeeper. Members join and are
killed; what is measured is the time until the assignment is Stable again, and what ZooKeeper had to do for it.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hadash.bindings import layout
from hadash.bindings.client import SESSION_TIMEOUT_SECONDS
from hadash.coordinator.states import State
from hadash.coordinator.store import PoolStore
from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.demo import ROOT
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.ports import HOST, allocate
from hadash_sandbox.processes import Process
from hadash_sandbox.secrets import passwords
from hadash_sandbox.zookeeper import ZooKeeper

POOL, TOPIC = "bench", "records"
#: The pools that are measured: partitions and members. The goals are those of the first.
SIZES = ((1_000, 8), (100, 8), (1_000, 16), (4_000, 8))
#: Times that a member joins and is killed, for each size.
ROUNDS = 3
#: Goals: seconds until Stable.
GOAL_SECONDS = 2.0
#: Goals: how much more ZooKeeper may have to do with ten times as many partitions, and with twice as many members.
GOAL_PARTITIONS, GOAL_MEMBERS = 1.3, 2.5
#: Seconds for a pool to become Stable, before the benchmark gives up.
LIMIT_SECONDS = 60.0


class BenchPool:
    """A coordinator and members on a ZooKeeper."""

    def __init__(self, folder: Path, zookeeper: ZooKeeper, http_port: int) -> None:
        self._folder = folder
        self._zookeeper = zookeeper
        token = folder / "token"
        token.write_text("the token of the bench's pool")
        self._environment = {
            **zookeeper.environment(),
            "PYTHONPATH": str(ROOT),
            "HADASH_MEMBER_POOL": POOL,
            "HADASH_MEMBER_TOKEN_FILE": str(token),
            "HADASH_MEMBER_HTTP_PORT": "0",
            "HADASH_COORDINATOR_TOKEN_FILE": str(token),
            # The partitions are not Kafka's: nobody is asked how many there are.
            "HADASH_COORDINATOR_PARTITIONS_SECONDS": "86400",
            "HADASH_COORDINATOR_HTTP_PORT": str(http_port),
        }
        self._client = zookeeper.connect()
        self.store = PoolStore(self._client, POOL)
        self.members: dict[str, Process] = {}
        self.coordinator = self._start("coordinator", "hadash.coordinator", {})

    def _start(self, name: str, module: str, more: dict[str, str]) -> Process:
        process = Process(
            name,
            [sys.executable, "-m", module],
            log_path=self._folder / f"{name}.log",
            env={**self._environment, **more},
        )
        process.start()
        return process

    def register(self, partitions: int) -> None:
        self.store.create()
        self.store.register(TOPIC, {"bootstrap.servers": "none:9092", "group.id": POOL}, range(partitions))

    def join(self, name: str) -> None:
        module = "hadash_sandbox.bench.coordinator.quiet_member"
        self.members[name] = self._start(name, module, {"HADASH_MEMBER_NAME": name})

    def kill(self, name: str) -> None:
        self.members.pop(name).kill()

    def is_listed(self, name: str) -> bool:
        return self._client.exists(layout.pool_member(POOL, name)) is not None

    def is_stable(self) -> bool:
        """Whether all members, and no others, have the partitions."""
        assigned = self.store.read().topics[TOPIC]
        holding = set(assigned.document.members.values())
        return assigned.standing.state is State.STABLE and holding == set(self.members)

    def stop(self) -> None:
        for process in (*self.members.values(), self.coordinator):
            process.stop()
        self._client.stop()
        self._client.close()


@contextmanager
def pool() -> Iterator[tuple[BenchPool, ZooKeeper]]:
    folder = Path(tempfile.mkdtemp(prefix="hadash-coordinator-"))
    ports = allocate(("zookeeper", "http"), folder / "ports.json")
    password = passwords(("zookeeper",), folder / "secrets.json")["zookeeper"]
    zookeeper = ZooKeeper(folder, ports["zookeeper"], find_java(), password)
    try:
        zookeeper.start(print)
        made = BenchPool(folder, zookeeper, ports["http"])
        try:
            yield made, zookeeper
        finally:
            made.stop()
    finally:
        zookeeper.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure(report: Report) -> None:
    """Measure every size, and judge."""
    requests: dict[tuple[int, int], float] = {}
    for partitions, members in SIZES:
        joins, deaths, asked = _measure(report, partitions, members)
        requests[partitions, members] = median(asked)
        if (partitions, members) == SIZES[0]:
            what = f"{partitions:,} partitions, {members} members"
            report.at_most(
                f"a join to Stable, {what}", GOAL_SECONDS, max(joins), "s", samples=len(joins), needed=ROUNDS
            )
            report.at_most(
                f"a death to Stable beyond the session, {what}",
                GOAL_SECONDS,
                max(deaths),
                "s",
                samples=len(deaths),
                needed=ROUNDS,
            )
    few, many = requests[100, 8], requests[1_000, 8]
    report.at_most(
        "requests to ZooKeeper with ten times the partitions", GOAL_PARTITIONS, many / few, "times"
    )
    more = requests[1_000, 16] / requests[1_000, 8]
    report.at_most("requests to ZooKeeper with twice the members", GOAL_MEMBERS, more, "times")


def _measure(report: Report, partitions: int, members: int) -> tuple[list[float], list[float], list[float]]:
    """Return the seconds of each join and of each death, and the requests to ZooKeeper for each join."""
    joins: list[float] = []
    deaths: list[float] = []
    asked: list[float] = []
    with pool() as (made, zookeeper):
        made.register(partitions)
        for number in range(members - 1):
            made.join(f"member-{number:02}")
        _wait(made.is_stable)
        for _ in range(ROUNDS):
            before = _requests(zookeeper)
            made.join("member-late")
            # What is measured is the coordination, not how long Python takes to start: it begins when it is listed.
            _wait(lambda: made.is_listed("member-late"))
            began = time.monotonic()
            _wait(made.is_stable)
            joins.append(time.monotonic() - began)
            asked.append(_requests(zookeeper) - before)
            began = time.monotonic()
            made.kill("member-late")
            _wait(lambda: not made.is_listed("member-late"))
            lost = time.monotonic()
            _wait(made.is_stable)
            deaths.append(time.monotonic() - began - SESSION_TIMEOUT_SECONDS)
            report.row(
                "rebalances",
                partitions=partitions,
                members=members,
                join_s=round(joins[-1], 2),
                join_requests=round(asked[-1]),
                death_s=round(time.monotonic() - began, 2),
                after_zookeeper_noticed_s=round(time.monotonic() - lost, 2),
            )
    return joins, deaths, asked


def _requests(zookeeper: ZooKeeper) -> int:
    """The packets that ZooKeeper has received since it began; its clients' heartbeats are among them."""
    with socket.create_connection((HOST, zookeeper.port), timeout=5) as connection:
        connection.sendall(b"srvr")
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
    for line in answer.decode().splitlines():
        if line.startswith("Received: "):
            return int(line.removeprefix("Received: "))
    raise SandboxError(f"ZooKeeper does not say how much it has received: {answer.decode()!r}")


def _wait(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS * float(os.environ.get("HADASH_TEST_SLOWER", "1"))
    while not look():
        if time.monotonic() > deadline:
            raise SandboxError("The pool did not become Stable.")
        time.sleep(0.01)
