"""The same jobs on a standalone cluster: a master and two workers, none of which has hadash's code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from lake.reports import NOON, put, report
from support.waiting import eventually

from hadash.lake.store import Store
from hadash_sandbox.ports import allocate
from spark import manifest

pytestmark = [pytest.mark.spark, pytest.mark.long]

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@contextmanager
def server(log: Path, *arguments: str) -> Iterator[None]:
    """One of Spark's own, from an empty folder, until the block ends."""
    folder = log.with_suffix("")
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPARK_CLASS), *arguments], cwd=folder, env=environment, stdout=output, stderr=output
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster with two workers of one core each."""
    ports = allocate(["master", "web", "worker-1", "worker-2"], tmp_path / "ports.json")
    port, web = ports["master"], ports["web"]
    address = f"spark://127.0.0.1:{port}"
    log = tmp_path / "master.log"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as servers:
        servers.enter_context(
            server(
                log,
                f"{deploy}.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                f"{port}",
                "--webui-port",
                f"{web}",
            )
        )
        eventually(lambda: "I have been elected leader" in log.read_text(), "the master", patience=60)
        for number in (1, 2):
            options = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                f"{ports[f'worker-{number}']}",
            ]
            servers.enter_context(
                server(tmp_path / f"worker-{number}.log", f"{deploy}.worker.Worker", *options, address)
            )
        eventually(lambda: log.read_text().count("Registering worker") == 2, "two workers", patience=60)
        yield address


def test_facts_are_made_by_two_workers(master: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "the lake"))
    for number in range(4):
        put(store, f"a-{number}", report(f"web-{number}", records=number))
    environment = os.environ | {
        "SPARK_MASTER": master,
        "HADASH_SPARK_MEMORY": "512m",
        "DATABASE_URL": "",  # also where a stack has one: facts are no run then
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "spark", "facts", "--lake", store.address, "--pairs", "east=main"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1])["days"] == [f"{NOON:%Y-%m-%d}"]
    assert len(store.files(manifest.read(store).facts)) == 16
    executors = re.findall(r"Launching executor \S+ on worker (\S+)", (tmp_path / "master.log").read_text())
    assert len(set(executors)) == 2
