"""Part ``rebalances``: a coordinator and members, each a process of its own, on a real ZooKeeper. Members join and are
killed; what is measured is the time until the assignment is Stable again, and what ZooKeeper had to do for it.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hadash.bindings.client import SESSION_TIMEOUT_SECONDS
from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.pool import PoolProcesses
from hadash_sandbox.ports import HOST, allocate
from hadash_sandbox.secrets import passwords
from hadash_sandbox.waiting import wait_until
from hadash_sandbox.zookeeper import ZooKeeper

TOPIC, MEMBER = "records", "hadash_sandbox.bench.coordinator.quiet_member"
#: The pools that are measured: partitions and members. The goals are those of the first.
SIZES = ((1_000, 8), (100, 8), (1_000, 16), (4_000, 8))
#: Times that a member joins and is killed, for each size.
ROUNDS = 3
#: Goals: seconds until Stable.
GOAL_SECONDS = 2.0
#: Goals: how much more ZooKeeper may have to do with ten times as many partitions, and with twice as many members.
GOAL_PARTITIONS, GOAL_MEMBERS = 1.3, 2.5
#: Seconds for which the coordinator expects members back. Members take longer than that to start and to join.
RETURN_SECONDS = 0.5
#: Seconds for a pool to become Stable, before the benchmark gives up.
LIMIT_SECONDS = 15.0
#: Seconds between two looks: what is measured is no more precise.
PRECISION_SECONDS = 0.01


@contextmanager
def pool() -> Iterator[tuple[PoolProcesses, ZooKeeper]]:
    """A coordinator on a ZooKeeper of its own. (Nobody is asked how many partitions there are: no Kafka has them.)"""
    folder = Path(tempfile.mkdtemp(prefix="hadash-coordinator-"))
    port = allocate(["zookeeper"], folder / "ports.json")["zookeeper"]
    password = passwords(["zookeeper"], folder / "secrets.json")["zookeeper"]
    zookeeper = ZooKeeper(folder, port, find_java(), password)
    try:
        zookeeper.start(print)
        client = zookeeper.connect()
        made = PoolProcesses(folder, zookeeper.environment(), client)
        try:
            # A coordinator that has just taken over expects members back for a while: that is not what is measured.
            made.coordinate(partitions_seconds="86400", return_seconds=str(RETURN_SECONDS))
            yield made, zookeeper
        except BaseException:
            made.show_logs()
            raise
        finally:
            made.stop()
            client.stop()
            client.close()
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
        made.store.create()
        made.store.register(TOPIC, {"bootstrap.servers": "none:9092", "group.id": "bench"}, range(partitions))
        for number in range(members - 1):
            made.join(f"member-{number:02}", MEMBER)
        _wait(partial(made.is_stable, TOPIC))
        for _ in range(ROUNDS):
            before = _requests(zookeeper)
            made.join("member-late", MEMBER)
            # What is measured is the coordination, not how long Python takes to start: it begins when it is listed.
            _wait(partial(made.is_listed, "member-late"))
            began = time.monotonic()
            _wait(partial(made.is_stable, TOPIC))
            joins.append(time.monotonic() - began)
            asked.append(_requests(zookeeper) - before)
            began = time.monotonic()
            made.members.pop("member-late").kill()
            _wait(lambda made=made: not made.is_listed("member-late"))  # type: ignore[misc]
            lost = time.monotonic()
            _wait(partial(made.is_stable, TOPIC))
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
    limit = LIMIT_SECONDS * float(os.environ.get("HADASH_TEST_SLOWER", "1"))
    wait_until(look, "Stable", limit, every=PRECISION_SECONDS)
