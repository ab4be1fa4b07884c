"""One whole hadash for these tests: servers, Gateway, web, worker, beat and live clients, in this process's care."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash.bindings.client import connect
from hadash.bindings.store import BindingStore
from hadash.sandbox.check import show_logs
from hadash.sandbox.demo import Demo
from hadash.sandbox.trial import Trial


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
