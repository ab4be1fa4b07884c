"""systemd is told that a process is well as long as it is, and starts it again when it hears nothing."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash.monitoring import metrics
from hadash.monitoring.processes import Moves, WorkerProcess
from hadash.monitoring.watchdog import Watchdog


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


def test_it_is_told_again_and_again(systemd: socket.socket) -> None:
    unit = {
        "NOTIFY_SOCKET": systemd.getsockname(),
        "WATCHDOG_USEC": "30000",
        "WATCHDOG_PID": str(os.getpid()),
    }
    ended = Watchdog.of_environment(unit).start(lambda: False)
    assert [systemd.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    ended.set()


def test_nothing_is_said_of_one_that_is_stuck(systemd: socket.socket) -> None:
    asked, times = threading.Event(), iter(range(10**6))

    def stuck() -> bool:
        if next(times):  # (the second time: what it would have said the first time is said by then)
            asked.set()
        return True

    ended = Watchdog(systemd.getsockname(), seconds=0.03).start(stuck)
    assert asked.wait(10)
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(100)
    ended.set()


def test_a_socket_that_is_gone_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Watchdog(str(tmp_path / "gone"), seconds=1).say()
    assert "systemd was not told" in caplog.text


def test_prometheus_sees_that_a_worker_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """``up`` is 1 all the same, and so is the number of workers."""

    class Stuck(WorkerProcess):
        def _moves(self) -> Moves:
            return Moves(True, 0)

    def figure() -> float | None:
        return metrics.REGISTRY.get_sample_value("hadash_process_stuck")

    process = Stuck()
    process._begin("")
    try:
        assert figure() == 0
        process._progress.observe(-(10**6), could_move=True, done=0)
        process._progress.observe(-(10**6) + 1, could_move=True, done=0)
        assert figure() == 1
    finally:
        process.end()
        metrics.STUCK.set_function(lambda: 0.0)
