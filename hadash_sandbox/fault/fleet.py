"""The demo of ``make fault``: its worker can be held, and its Gateway's connection to ZooKeeper can be cut."""

from __future__ import annotations

import sys
from pathlib import Path

from hadash_sandbox.demo import ROOT, Demo, Log
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.gate import Gate
from hadash_sandbox.fault.points import FOLDER, Points
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process

#: The AppID, InstanceID and Topic that move, and their world.
APPID, INSTANCE, TOPIC, WORLD = "shop", "shop-carts", "shop.carts", "faults"

#: Seconds that a process of hadash may take to be ready again: on a busy machine Django alone takes ten.
START_SECONDS = 120.0


class Fleet(Demo):
    """A demo for faults: ``with Fleet(folder, log) as fleet`` starts it."""

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
        """One of hadash's own processes: gateway, worker, beat or web.

        :raises SandboxError: it was not started.
        """
        found: Process | None = getattr(self, name)
        if found is None:
            raise SandboxError(f"The fleet has no {name}.")
        return found

    def second_worker(self) -> Process:
        """Start another worker, which is never held. No supervisor watches it, and the caller has to stop it."""
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
