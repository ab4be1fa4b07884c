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


@pytest.fixture
def killing_worker(demo: Demo, tmp_path: Path) -> Iterator[object]:
    """Replaces the demo's worker by one that dies at a point; afterwards the demo has its own again."""
    assert demo.worker is not None
    demo.worker.stop(timeout=2)  # what it is looking at, the next worker looks at again
    started: list[Process] = []

    def start(stage: str, command: str, when: str) -> Process:
        mark = tmp_path / "killed"
        arguments = [
            argument.replace("tasks", "tests.support.killing_worker") for argument in demo.worker_arguments()
        ]
        process = Process(
            "killing worker",
            [sys.executable, *arguments],
            log_path=demo.data_dir / "logs" / "killing-worker.log",
            env={
                **demo.environment(),
                "KILL_STAGE": stage,
                "KILL_COMMAND": command,
                "KILL_WHEN": when,
                "KILL_MARK": str(mark),
            },
            cwd=ROOT,
        )
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.stop()
    demo.worker.start()
