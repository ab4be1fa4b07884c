"""The common interface of the stack's servers: prepare, start, wait, finish, stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process

Log = Callable[[str], None]

#: ``no``: servers do not wait until the disk has what they wrote. Data then survives a killed server, but not a power
#: cut. For stacks that are thrown away: every test that commits would wait for the disk, for long on a shared one.
WAIT_FOR_DISK = "HADASH_SANDBOX_WAIT_FOR_DISK"


def waits_for_disk() -> bool:
    """Whether servers wait for the disk (:data:`WAIT_FOR_DISK`; by default they do)."""
    return os.environ.get(WAIT_FOR_DISK, "yes") != "no"


class Service:
    """One server of the stack, of one or more processes (a Kafka cluster has one per broker)."""

    title: str
    start_timeout = 180.0  # on two busy cores a broker can take a minute
    stop_timeout = 20.0

    def __init__(self, name: str, data_dir: Path) -> None:
        self.name = name
        self.data_dir = data_dir  # of the whole stack
        self.dir = data_dir / name
        self.processes: list[Process] = []

    @property
    def address(self) -> str:
        """The server's address as it is shown to people."""
        raise NotImplementedError

    def start(self, log: Log) -> None:
        """Start the server and return when it can be used.

        A server of which a part was killed may be started again: processes that are alive are left alone.

        :raises SandboxError: a process did not become ready.
        """
        began = time.monotonic()
        self.dir.mkdir(parents=True, exist_ok=True)
        self.prepare()
        for process in self.processes:
            process.start()
        for process in self.processes:
            process.wait_ready(self.start_timeout)
        self.finish()
        log(f"{self.title} ready on {self.address} ({time.monotonic() - began:.1f} s)")

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop(self.stop_timeout)

    def prepare(self) -> None:
        """Create what must be in place before the processes start."""

    def finish(self) -> None:
        """Do what can be done only once the processes answer."""

    def log_path(self, name: str | None = None) -> Path:
        """The log file of the server, or of the process ``name``."""
        return self.data_dir / "logs" / f"{name or self.name}.log"


class PortService(Service):
    """A server of one process, which listens on one port."""

    def __init__(self, name: str, data_dir: Path, port: int) -> None:
        super().__init__(name, data_dir)
        self.port = port

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"
