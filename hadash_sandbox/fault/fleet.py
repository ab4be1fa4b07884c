"""The demo that faults are done to: its worker can be held, and its Gateway's way to ZooKeeper can be cut."""

from __future__ import annotations

import sys
from pathlib import Path

from hadash_sandbox.demo import ROOT, Demo, Log
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.gate import Gate
from hadash_sandbox.fault.points import FOLDER, Points
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process

#: What moves, and the world that it is in.
APPID, INSTANCE, TOPIC, WORLD = "shop", "shop-carts", "shop.carts", "faults"

#: Seconds for a process of hadash to be ready again after its end: on a busy machine Django alone takes ten.
START_SECONDS = 120.0


class Fleet(Demo):
    """Start with ``with Fleet(folder) as fleet``."""

    worker_app = "hadash_sandbox.fault.pausing_worker"

    def __init__(self, data_dir: Path, log: Log) -> None:
        super().__init__(data_dir, world=WORLD, log=log)
        self.points = Points(self._points_folder)
        self.gate: Gate | None = None

    @property
    def _points_folder(self) -> Path:
        return self.data_dir / "points"

    def _start_hadash(self) -> None:
        self.gate = Gate((HOST, self.stack.zookeeper.port))
        super()._start_hadash()

    def stop(self) -> None:
        super().stop()
        if self.gate is not None:
            self.gate.close()

    def gateway_environment(self) -> dict[str, str]:
        assert self.gate is not None
        return {**self.environment(), "ZOOKEEPER_HOSTS": self.gate.address}

    def worker_environment(self) -> dict[str, str]:
        return {**self.environment(), FOLDER: str(self._points_folder)}

    def process(self, name: str) -> Process:
        """One of hadash's own: gateway, worker, beat, web."""
        found: Process | None = getattr(self, name)
        if found is None:
            raise SandboxError(f"The fleet has no {name}.")
        return found

    def second_worker(self) -> Process:
        """Another worker, which is never held. Not watched: whoever starts it stops it."""
        arguments = [a.replace(self.worker_app, "tasks") for a in self.worker_arguments()]
        process = Process(
            "second worker",
            [sys.executable, *arguments],
            log_path=self.data_dir / "logs" / "second-worker.log",
            env=self.environment(),
            cwd=ROOT,
        )
        process.start()
        return process
