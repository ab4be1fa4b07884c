"""What is measured: the Gateway in front of two clusters of real brokers."""

from __future__ import annotations

import asyncio
import os
import sys
import urllib.request
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from hadash.bindings import catalogue
from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.bindings.store import BindingStore
from hadash_sandbox.bench.gateway import presence
from hadash_sandbox.bench.raw import RawConnection
from hadash_sandbox.bench.tools import Login, PerfTools
from hadash_sandbox.downloads import KAFKA_VERSION
from hadash_sandbox.kafka import ADMIN, KafkaCluster
from hadash_sandbox.ports import HOST, allocate
from hadash_sandbox.processes import Process
from hadash_sandbox.stack import Stack

ROOT = Path(__file__).resolve().parents[3]
CHROOT = "/hadash-bench"
PORTS_PER_CLUSTER = 2
#: Worker processes that the Gateway can be started with, at most.
WORKERS = 2
#: Turns of each measurement; the medians are compared.
TURNS = 5
#: Connections that are opened at the same time, at most.
OPENING = 100


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
