"""One whole hadash for these tests: servers, Gateway, web, worker, beat and live clients, in this process's care."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash.bindings.client import connect
from hadash.bindings.store import BindingStore
from hadash.sandbox.check import show_logs
from hadash.sandbox.demo import ROOT, Demo
from hadash.sandbox.processes import Process
from hadash.sandbox.trial import Trial

#: Seconds in which a worker has to reach the point at which it dies: a whole switch on a slow machine.
KILL_SECONDS = 90.0
#: Seconds for which clients may wait for a worker that takes over, where that is not what a test is about: nobody's patience.
PATIENT_SECONDS = 600.0


def a_demo() -> Iterator[Demo]:
    """A demo that ends with its fixture. Its data folder is not pytest's: PostgreSQL refuses folders that others may not
    enter."""
    folder = Path(tempfile.mkdtemp(prefix="hadash-e2e-"))
    try:
        with Demo(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    """The running demo of this folder."""
    yield from a_demo()


@pytest.fixture(scope="session")
def trial(demo: Demo) -> Trial:
    """Its two people, when all clients work."""
    prepared = Trial(demo, print)
    prepared.await_traffic()
    return prepared


@pytest.fixture(scope="session")
def bindings(demo: Demo) -> Iterator[BindingStore]:
    """The demo's bindings in its ZooKeeper."""
    client = connect(demo.environment()["ZOOKEEPER_HOSTS"])
    yield BindingStore(client)
    client.stop()
    client.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    """A failure leaves the logs of every process in the output."""
    report = yield
    if report.failed and call.when == "call" and "demo" in getattr(item, "funcargs", {}):
        show_logs(item.funcargs["demo"].data_dir)
    return report


class Workers:
    """A worker that dies at a point, and the one that comes after it. Both write the logs of the demo."""

    def __init__(self, demo: Demo, mark: Path) -> None:
        self._demo = demo
        self._mark = mark
        self.started: list[Process] = []

    def dying(self, stage: str, command: str, when: str) -> Process:
        """A worker that kills itself at a point; see ``tests/support/killing_worker.py``."""
        arguments = [
            argument.replace("tasks", "tests.support.killing_worker")
            for argument in self._demo.worker_arguments()
        ]
        where = {
            "KILL_STAGE": stage,
            "KILL_COMMAND": command,
            "KILL_WHEN": when,
            "KILL_MARK": str(self._mark),
        }
        return self._start("killing worker", arguments, where)

    def successor(self, blocked_seconds: float = PATIENT_SECONDS) -> Process:
        """The next worker.

        :param blocked_seconds: how long clients may have waited when it takes over. Usually so long that a slow machine, on
            which a worker needs half a minute to start, does not decide how the switch ends.
        """
        limits = {"HADASH_SWITCH_BLOCKED_SECONDS": str(blocked_seconds)}
        return self._start("successor", self._demo.worker_arguments(), limits)

    def _start(self, name: str, arguments: list[str], environment: dict[str, str]) -> Process:
        process = Process(
            name,
            [sys.executable, *arguments],
            log_path=self._demo.data_dir / "logs" / f"{name.replace(' ', '-')}.log",
            env={**self._demo.worker_environment(), **environment},
            cwd=ROOT,
        )
        process.start()
        self.started.append(process)
        return process


@pytest.fixture
def workers(demo: Demo, tmp_path: Path) -> Iterator[Workers]:
    """Instead of the demo's worker; afterwards the demo has its own again."""
    assert demo.worker is not None
    demo.worker.stop(timeout=2)  # what it is looking at, the next worker looks at again
    instead = Workers(demo, tmp_path / "killed")
    yield instead
    for process in instead.started:
        process.stop()
    demo.worker.start()
