"""The whole stack: the order in which servers start, their ports and passwords, and the settings for programs."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from hadash_sandbox import ports, secrets
from hadash_sandbox.connect import Connect
from hadash_sandbox.downloads import kafka_jars
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.kafka import ADMIN, MIRROR, KafkaCluster
from hadash_sandbox.postgres import Postgres
from hadash_sandbox.processes import Process, describe_exit
from hadash_sandbox.redis import Redis
from hadash_sandbox.service import Log, Service
from hadash_sandbox.supervisor import Supervisor
from hadash_sandbox.zookeeper import ZooKeeper

# The AppIDs of the demo. Passwords of `admin` and `hadash-mirror` are generated.
DEMO_USERS = {"shop": "shop-secret", "billing": "billing-secret", "audit": "audit-secret"}

say = partial(print, flush=True)  # flushed, so that progress is seen at once also through a pipe

# Seconds that the children of a killed stack may take to die and free their ports.
_GRACE = 10.0


#: The default Kafka clusters of a stack.
CLUSTERS = ("east", "west")


class Stack:
    """PostgreSQL, Redis, ZooKeeper, the Kafka clusters and Connect over one data folder.

    `plain_users` are AppIDs and passwords for PLAIN, `scram_users` for SCRAM (by default the same). Data, ports and
    passwords persist between starts with the same `data_dir`.
    """

    postgres: Postgres
    redis: Redis
    zookeeper: ZooKeeper

    def __init__(
        self,
        data_dir: Path | str,
        *,
        clusters: Sequence[str] = CLUSTERS,
        brokers: int = 1,
        plain_users: Mapping[str, str] | None = None,
        scram_users: Mapping[str, str] | None = None,
        with_connect: bool = True,
        kafka_config: Mapping[str, str] | None = None,
        connect_config: Mapping[str, str] | None = None,
        on_death: Callable[[Process], None] | None = None,
    ) -> None:
        self.data_dir = Path(data_dir).resolve()
        self.kafka: dict[str, KafkaCluster] = {}
        self._clusters = tuple(clusters)
        self._brokers = brokers
        self._users = dict(DEMO_USERS if plain_users is None else plain_users)
        self._scram_users = dict(self._users if scram_users is None else scram_users)
        self._with_connect = with_connect
        self._kafka_config = dict(kafka_config or {})
        self._connect_config = dict(connect_config or {})
        self._on_death = on_death
        self._supervisor: Supervisor | None = None
        self._lock_file: IO[str] | None = None
        self._connect: Connect | None = None
        self._floors: list[list[Service]] = []
        self._guests: list[Process] = []

    def start(self, log: Log = say) -> Self:
        """Start all servers; if one fails, stop everything.

        :raises SandboxError: a server did not come up, or another stack runs on this data folder.
        """
        self.data_dir.mkdir(parents=True, exist_ok=True)
        grace = self._take_lock()
        try:
            self._build(log, grace)
            for floor in self._floors:
                _start_together(floor, log)
        except BaseException:
            self.stop()
            raise
        self._supervisor = Supervisor(self._on_death or (lambda process: _say_death(process, log)))
        self._supervisor.watch(self.processes)
        self._supervisor.start()
        return self

    def stop(self) -> None:
        """Stop everything, last started first. Idempotent, and safe to call at any time."""
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None
        errors = stop_together(self._guests)
        for floor in reversed(self._floors):
            errors += stop_together(floor)
        self._guests.clear()
        if self._lock_file is not None:
            self._lock_file.truncate(0)
            self._lock_file.close()
            self._lock_file = None
        if errors:
            raise errors[0]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def add(self, process: Process, timeout: float = 60.0) -> None:
        """Start another program beside the stack, which is watched with it and stopped before it.

        :raises SandboxError: it is not ready after ``timeout`` seconds.
        """
        self._guests.append(process)
        process.start()
        process.wait_ready(timeout)
        if self._supervisor is not None:
            self._supervisor.watch([process])

    @property
    def connect(self) -> Connect:
        """The stack's Kafka Connect.

        :raises SandboxError: the stack was made without it.
        """
        if self._connect is None:
            raise SandboxError("This stack was made without Kafka Connect (with_connect=False).")
        return self._connect

    @property
    def processes(self) -> list[Process]:
        """All processes, in the order of their start."""
        servers = [p for floor in self._floors for service in floor for p in service.processes]
        return [*servers, *self._guests]

    def environment(self) -> dict[str, str]:
        """The environment variables that make hadash use this stack: production sets the same ones."""
        settings = {
            "DATABASE_URL": self.postgres.url,
            "REDIS_URL": self.redis.url,
            **self.zookeeper.environment(),
            "HADASH_SANDBOX_CLUSTERS": json.dumps([c.describe() for c in self.kafka.values()]),
        }
        if self._connect is not None:
            settings["CONNECT_URL"] = self._connect.url
        return settings

    def _build(self, log: Log, grace: float) -> None:
        java = find_java()
        jars = kafka_jars(java, log)
        words = secrets.passwords(("postgres", "zookeeper", ADMIN, MIRROR), self.data_dir / "secrets.json")
        brokers = {
            name: [f"kafka-{name}-{n}" if n else f"kafka-{name}" for n in range(self._brokers)]
            for name in self._clusters
        }
        names = ["postgres", "redis", "zookeeper", *chain(*brokers.values())]
        if self._with_connect:
            names.append("connect")
        port = ports.allocate(names, self.data_dir / "ports.json")
        ports.check(port, grace=grace)

        self.postgres = Postgres(self.data_dir, port["postgres"], words["postgres"], log)
        self.redis = Redis(self.data_dir, port["redis"])
        self.zookeeper = ZooKeeper(self.data_dir, port["zookeeper"], java, words["zookeeper"])
        system = {ADMIN: words[ADMIN], MIRROR: words[MIRROR]}
        self.kafka = {
            name: KafkaCluster(
                name,
                number,
                self.data_dir,
                [port[broker] for broker in brokers[name]],
                java=java,
                jars=jars,
                zookeeper=self.zookeeper.address,
                users={**system, **self._users},
                scram_users=self._scram_users,
                config=self._kafka_config,
            )
            for number, name in enumerate(self._clusters, start=1)
        }
        self._floors = [[self.postgres, self.redis, self.zookeeper]]
        if self.kafka:
            self._floors.append(list(self.kafka.values()))
        if self._with_connect:
            self._connect = Connect(
                self.data_dir,
                port["connect"],
                java=java,
                jars=jars,
                home=self.kafka[self._clusters[0]],
                config=self._connect_config,
            )
            self._floors.append([self._connect])

    def _take_lock(self) -> float:
        """Lock the data folder for this stack. The lock is the kernel's, so a killed stack leaves none.

        The file keeps the pid until a clean stop.

        :return: seconds to give the children of an earlier stack, which may still be dying if it did not stop cleanly.
        :raises SandboxError: another stack has the lock.
        """
        lock = (self.data_dir / "lock").open("a+")
        lock.seek(0)
        pid = lock.read().strip()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise SandboxError(
                f"A stack is already running on {self.data_dir} (pid {pid or 'unknown'}). "
                "Stop it (Ctrl-C in its terminal), or use another data folder."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock_file = lock
        return _GRACE if pid else 0.0


def _start_together(services: Sequence[Service], log: Log) -> None:
    """Start services at the same time; the first failure stops the others and is raised."""
    pool = ThreadPoolExecutor(max_workers=len(services))
    futures = [pool.submit(service.start, log) for service in services]
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except BaseException:
        for service in services:
            service.stop()  # also ends the wait of services that are not ready yet
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def stop_together(parts: Sequence[Service | Process]) -> list[Exception]:
    """Stop parts at the same time; return the errors. An error of one part does not keep the others alive."""
    errors = []
    with ThreadPoolExecutor() as pool:
        for future in [pool.submit(part.stop) for part in parts]:
            try:
                future.result()
            except Exception as error:
                errors.append(error)
    return errors


def _say_death(process: Process, log: Log) -> None:
    log(f"{process.name} died ({describe_exit(process.exit_code)}); its log is {process.log_path}")


def is_running(data_dir: Path) -> bool:
    """Whether a stack runs on this data folder."""
    path = data_dir / "lock"
    if not path.exists():
        return False
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
