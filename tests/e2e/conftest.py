"""One whole hadash for these tests: servers, Gateway, web, worker, beat and live clients, in this process's care."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.otlp import Collector, collector
from support.waiting import eventually

from hadash.bindings.store import BindingStore
from hadash_sandbox.bench.records import judge_records
from hadash_sandbox.bench.report import Report
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import DEMO_RATE, ROOT, Demo
from hadash_sandbox.processes import Process
from hadash_sandbox.traffic.client import PARTITIONS, Pace
from hadash_sandbox.trial import READY_SECONDS, Trial
from hadash_sandbox.world import ClientSpec

#: Seconds in which a worker has to reach the point at which it dies: a whole switch on a slow machine.
KILL_SECONDS = 90.0
#: Seconds for which clients may wait for a worker that takes over, where that is not what a test is about:
#: nobody's patience.
PATIENT_SECONDS = 600.0
#: Seconds for the checks of a request, instead of 30: where three lanes of tests share two cores, Connect answers late
#: after it has hung. A person would ask again; shorter than what the test's client waits for a page (``PAGE_SECONDS``).
CHECK_SECONDS = 90.0


def a_demo() -> Iterator[Demo]:
    """A demo that ends with its fixture. Its data folder is not pytest's: PostgreSQL refuses folders that
    others may not enter.
    """
    folder = Path(tempfile.mkdtemp(prefix="hadash-e2e-"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HADASH_SWITCH_CHECK_SECONDS", str(CHECK_SECONDS))
        yield from _running_in(folder)


def _running_in(folder: Path) -> Iterator[Demo]:
    try:
        # Producers in a closed loop write as fast as the brokers answer: a core of the two that all lanes
        # share, and no test here measures pauses to a hundredth of a second. (With many records under way
        # librdkafka changes their order when it sends them again.)
        with Demo(folder, rate=DEMO_RATE, pace=Pace.ONE_AT_A_TIME) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def traces() -> Iterator[Collector]:
    """What the processes of the demo tell of their work: they make traces."""
    with collector() as found, pytest.MonkeyPatch.context() as patched:
        patched.setenv("HADASH_TRACES", "1")
        patched.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        patched.setenv("OTEL_BSP_SCHEDULE_DELAY", "500")
        yield found


@pytest.fixture(scope="session")
def demo(traces: Collector) -> Iterator[Demo]:
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
    client = demo.stack.zookeeper.connect()
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

    def dying(self, stage: str, command: str, when: str, blocked_seconds: float = PATIENT_SECONDS) -> Process:
        """A worker that kills itself at a point; see ``tests/support/killing_worker.py``. When another one
        has died before, clients may have waited for it as for a :meth:`successor`.
        """
        self._mark.unlink(missing_ok=True)
        arguments = [
            argument.replace("tasks", "tests.support.killing_worker")
            for argument in self._demo.worker_arguments()
        ]
        where = {
            "KILL_STAGE": stage,
            "KILL_COMMAND": command,
            "KILL_WHEN": when,
            "KILL_MARK": str(self._mark),
            "HADASH_SWITCH_BLOCKED_SECONDS": str(blocked_seconds),
        }
        return self._start("killing worker", arguments, where)

    def successor(self, blocked_seconds: float = PATIENT_SECONDS) -> Process:
        """The next worker.

        :param blocked_seconds: how long clients may have waited when it takes over. Usually so long that a
            slow machine, on which a worker needs half a minute to start, does not decide how the switch ends.
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


class TwoWorkers:
    """Two workers with the limits that everybody has, as the README advises: when one dies, the other goes on.

    A test names a point; the worker that comes to it first kills itself.
    """

    def __init__(self, demo: Demo, folder: Path) -> None:
        self._armed, self._mark = folder / "armed.json", folder / "killed"
        #: How often each was started.
        self._starts: Counter[str] = Counter()
        arguments = [
            argument.replace("tasks", "tests.support.killing_worker") for argument in demo.worker_arguments()
        ]
        where = {"KILL_ARMED": str(self._armed), "KILL_MARK": str(self._mark)}
        self.processes = [
            Process(
                f"worker {number}",
                [sys.executable, *arguments],
                log_path=demo.data_dir / "logs" / f"worker-{number}.log",
                env={**demo.worker_environment(), **where},
                cwd=ROOT,
            )
            for number in (1, 2)
        ]

    def arm(self, stage: str, command: str, when: str) -> None:
        """Both work (again), and one of them will die at this point."""
        for process in self.processes:
            self.start(process)
        for process in self.processes:
            eventually(
                lambda process=process: self._works(process), f"a {process.name} that works", KILL_SECONDS
            )
        point = self._armed.with_suffix(".new")
        point.write_text(json.dumps({"stage": stage, "command": command, "when": when}))
        self._mark.unlink(missing_ok=True)
        point.replace(self._armed)

    def start(self, process: Process) -> None:
        """Start it again, unless it runs."""
        if not process.alive:
            self._starts[process.name] += 1
            process.start()

    def _works(self, process: Process) -> bool:
        """Whether Celery has said so in its log as often as it was started."""
        said = process.log_path.read_text(errors="replace").count(" ready.\n")
        return said >= self._starts[process.name]

    def await_death(self) -> Process:
        """The one that has died at the point."""
        dead = eventually(
            lambda: [process for process in self.processes if not process.alive],
            "the death of a worker inside the stage",
            KILL_SECONDS,
        )
        assert [process.exit_code for process in dead] == [-9]
        return dead[0]

    def stop(self) -> None:
        for process in self.processes:
            process.stop()


@pytest.fixture(scope="module")
def two_workers(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoWorkers]:
    """Instead of the demo's worker; afterwards the demo has its own again."""
    assert demo.worker is not None
    demo.worker.stop(timeout=2)
    instead = TwoWorkers(demo, tmp_path_factory.mktemp("workers"))
    yield instead
    instead.stop()
    demo.worker.start()


def part_of(demo: Demo, clients: Sequence[ClientSpec], prefixes: Sequence[str]) -> Demo:
    """The same demo, as if these were all its clients and AppIDs: for a trial of theirs alone."""
    part = copy.copy(demo)
    topics = {topic for spec in clients for topic in spec.topics}
    part.world = replace(
        demo.world,
        clients=tuple(clients),
        topics=dict.fromkeys(topics, PARTITIONS),
        prefixes={name: demo.world.prefixes[name] for name in prefixes},
    )
    return part


def apart(demo: Demo, trial: Trial, name: str, clients: Sequence[ClientSpec]) -> Iterator[Trial]:
    """A trial of clients of their own, with Topics of their own on east, a mirror of this name and one InstanceID.

    They run beside the demo's until the fixture ends.
    """
    (appid,), (instance,) = {spec.appid for spec in clients}, {spec.client_id for spec in clients}
    part = part_of(demo, clients, [appid])
    topics = sorted(part.world.topics)
    admin = AdminClient(demo.stack.kafka["east"].client_config())
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
        created.result(30)
    subprocess.run(
        [sys.executable, "manage.py", "register_mirror", "main", name, *topics, "--source", "east"],
        cwd=ROOT,
        env=demo.environment() | {"PATH": "/usr/bin:/bin"},
        check=True,
        timeout=READY_SECONDS,
    )
    number = trial.operator.appid(appid)
    trial.operator.call("POST", f"appids/{number}/instances/", {"name": instance})
    for spec in clients:
        part.start_client(spec)
    try:
        prepared = Trial(part, print)
        prepared.await_traffic()
        yield prepared
    finally:
        for spec in clients:
            demo.clients.pop(spec.name).stop()


def missed(verdict: dict[str, Any]) -> list[str]:
    """The goals for records that a verdict misses."""
    report = Report()
    judge_records(report, [verdict])
    return [goal["name"] for goal in report.goals if not goal["met"]]
