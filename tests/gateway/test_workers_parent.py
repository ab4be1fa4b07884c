"""The parent of several processes, with stand-ins for the workers: what real ones do only when something is very wrong.

(With real ones: test_workers.py.)
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gateway import ROOT, exit_of, free_ports
from support.waiting import eventually

#: A parent whose workers run the program that it is given; it writes down each that it starts.
PARENT = """
import logging, sys
from hadash.gateway import workers
from hadash.gateway.settings import GatewaySettings
logging.basicConfig(format="%(message)s", level="INFO")
workers.RESPAWN_SECONDS = 0.05
settings = GatewaySettings(port=int(sys.argv[1]), ports_per_cluster=2, workers=2, linger_seconds=0.2,
                           hang_up_seconds=0.1, connect_seconds=0.1)
try:
    sys.exit(workers.Workers(settings, [sys.executable, "-c", sys.argv[2]]).run())
except workers.PortTaken as error:
    print(error, file=sys.stderr)
    sys.exit(workers.WRONG_SETTINGS)
"""

BEGIN = """
import os, signal, sys, time
from pathlib import Path
from hadash.gateway.workers import say_ready
number, folder = os.environ["HADASH_GATEWAY_WORKER"], Path(os.environ["FOLDER"])
with (folder / f"started-{number}").open("a") as starts:
    starts.write(f"{os.getpid()}\\n")
"""
LISTENS = BEGIN + "say_ready(); signal.pause()"


class Parent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports(5)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, worker: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PARENT, str(self.port), worker],
                cwd=ROOT,
                env={**os.environ, "FOLDER": str(self.folder)},
                stdout=log,
                stderr=log,
            )
        return self.process

    def started(self, number: int) -> list[int]:
        """The process ids of worker ``number``, from the first to the last."""
        path = self.folder / f"started-{number}"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for_starts(self, first: int, second: int) -> None:
        eventually(
            lambda: (len(self.started(1)), len(self.started(2))) >= (first, second),
            f"{first} and {second} starts",
        )

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def wait_for_log(self, text: str) -> None:
        eventually(lambda: text in self.log(), f"{text!r} in the log")


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    made = Parent(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.terminate()
        exit_of(made.process)
    left = [pid for number in (1, 2) for pid in made.started(number) if is_running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_obeys_while_workers_start(parent: Parent) -> None:
    process = parent.start(BEGIN + "signal.pause()")  # they never listen
    parent.wait_for_starts(1, 1)
    process.send_signal(signal.SIGTERM)
    assert exit_of(process) == 0


def test_a_worker_that_does_not_obey_is_killed(parent: Parent) -> None:
    process = parent.start(
        BEGIN + "signal.signal(signal.SIGTERM, signal.SIG_IGN); say_ready()\nwhile True: signal.pause()"
    )
    parent.wait_for_log("2 workers listen")
    process.send_signal(signal.SIGTERM)
    assert exit_of(process) == 0
    assert "does not end; killing it" in parent.log()


def test_it_obeys_in_the_middle_of_a_rolling_restart(parent: Parent) -> None:
    """Even when the worker that is restarted never listens again."""
    process = parent.start(BEGIN + "(folder / 'stuck').exists() or say_ready(); signal.pause()")
    parent.wait_for_log("2 workers listen")
    (parent.folder / "stuck").touch()
    process.send_signal(signal.SIGHUP)
    parent.wait_for_starts(2, 1)
    process.send_signal(signal.SIGTERM)
    assert exit_of(process) == 0


def test_a_worker_that_fails_in_a_rolling_restart_ends_the_restart_only(parent: Parent) -> None:
    process = parent.start(
        BEGIN + "(folder / 'broken').exists() and sys.exit(3); say_ready(); signal.pause()"
    )
    parent.wait_for_log("2 workers listen")
    (parent.folder / "broken").touch()
    process.send_signal(signal.SIGHUP)
    parent.wait_for_log("worker 1 has ended with exit code 3; starting it again in 0.1 s")
    parent.wait_for_log(
        "worker 1 has ended with exit code 3; starting it again in 0.2 s"
    )  # it is given ever more time
    (parent.folder / "broken").unlink()
    parent.wait_for_log("worker 1 has ended with exit code 3; starting it again")
    (survivor,) = parent.started(2)
    assert is_running(survivor)
    # What was wrong is mended: the next restart reaches both.
    starts = len(parent.started(1))
    eventually(lambda: parent.started(1)[-1] and is_running(parent.started(1)[-1]), "worker 1")
    process.send_signal(signal.SIGHUP)
    parent.wait_for_starts(starts + 1, 2)


def test_one_that_cannot_start_at_all_ends_all_of_them(parent: Parent) -> None:
    process = parent.start(BEGIN + "number == '2' and sys.exit(2); say_ready(); signal.pause()")
    assert exit_of(process) == 2


def test_a_port_of_a_node_that_somebody_has_is_named(parent: Parent) -> None:
    with socket.create_server(("127.0.0.1", parent.port + 3), reuse_port=True):
        assert exit_of(parent.start(LISTENS)) == 2
    assert f"Port {parent.port + 3}, one of this Gateway's nodes', is another program's that" in parent.log()


def test_one_that_cannot_be_shared_is_told_when_it_is_needed(parent: Parent) -> None:
    """Most node ports never are: a monitoring program may have one of them."""
    with socket.create_server(("127.0.0.1", parent.port + 3)):
        parent.start(LISTENS)
        parent.wait_for_log("2 workers listen")


def test_one_that_dies_is_started_again(parent: Parent) -> None:
    parent.start(LISTENS)
    parent.wait_for_log("2 workers listen")
    killed = parent.started(1)[-1]
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: parent.started(1)[-1] != killed, "a new worker 1")
    assert "worker 1 has ended with exit code -9; starting it again in 0.05 s" in parent.log()
