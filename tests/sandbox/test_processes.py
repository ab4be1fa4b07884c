"""Children: ready or explained, stopped by their own pid, never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from hadash_sandbox import processes
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.processes import Process, describe_exit
from hadash_sandbox.supervisor import Supervisor

T = TypeVar("T")

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Make processes that run a shell script; all are gone after the test."""
    made: list[Process] = []

    def factory(script: str, **options: object) -> Process:
        process = Process("server", ["sh", "-c", script], log_path=tmp_path / "server.log", **options)  # type: ignore[arg-type]
        made.append(process)
        return process

    yield factory
    for process in made:
        process.stop(timeout=1)


def test_ready_process_is_returned_to_at_once(make: Callable[..., Process], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    process = make(f"sleep 0.2; touch {flag}; exec sleep 60", ready=flag.exists)
    process.start()
    process.wait_ready(timeout=10)
    assert process.alive
    assert flag.exists()


def test_end_before_ready_shows_the_log(make: Callable[..., Process]) -> None:
    process = make("echo the disk is full; exit 3", ready=lambda: False)
    process.start()
    with pytest.raises(SandboxError, match=r"server ended with exit code 3 before it was ready") as caught:
        process.wait_ready(timeout=10)
    assert "| the disk is full" in str(caught.value)


def test_the_log_of_an_earlier_start_is_not_shown(make: Callable[..., Process], tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("old trouble\n")
    process = make("echo new trouble; exit 1", ready=lambda: False)
    process.start()
    with pytest.raises(SandboxError) as caught:
        process.wait_ready(timeout=10)
    assert "new trouble" in str(caught.value)
    assert "old trouble" not in str(caught.value)


def test_not_ready_in_time(make: Callable[..., Process]) -> None:
    def refuse() -> bool:
        raise ConnectionRefusedError  # counts as "not yet"

    process = make("exec sleep 60", ready=refuse)
    process.start()
    with pytest.raises(SandboxError, match=r"server was not ready after 0.2 s"):
        process.wait_ready(timeout=0.2)


def test_missing_program_is_named(tmp_path: Path) -> None:
    process = Process("ghost", ["/no/such/program"], log_path=tmp_path / "ghost.log")
    with pytest.raises(SandboxError, match="ghost could not be started"):
        process.start()
    assert not process.alive


def test_stop_ends_only_its_own(make: Callable[..., Process], tmp_path: Path) -> None:
    first, second = make("exec sleep 60"), make("exec sleep 60")
    first.start()
    second.start()
    first.stop()
    assert not first.alive
    assert second.alive
    assert first.exit_code == -signal.SIGTERM
    first.stop()  # twice is fine


def test_stop_kills_the_stubborn_and_their_children(make: Callable[..., Process], tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    process = make(f"trap '' TERM; sleep 60 & echo $! > {pids}; wait; sleep 60", ready=pids.exists)
    process.start()
    process.wait_ready(timeout=10)
    child = int(eventually(pids.read_text))
    process.stop(timeout=0.3)
    assert process.exit_code == -signal.SIGKILL
    eventually(lambda: is_gone(child))


def test_pause_and_resume(make: Callable[..., Process]) -> None:
    process = make("exec sleep 60")
    process.start()
    process.pause()
    eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
    process.resume()
    eventually(lambda: psutil.Process(process.pid).status() != psutil.STATUS_STOPPED)
    process.pause()
    process.stop(timeout=5)  # a paused process obeys too
    assert process.exit_code == -signal.SIGTERM


def test_start_again_after_kill(make: Callable[..., Process]) -> None:
    process = make("exec sleep 60")
    process.start()
    before = process.pid
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    process.start()
    assert process.alive
    assert process.pid != before


def test_start_is_idempotent(make: Callable[..., Process]) -> None:
    process = make("exec sleep 60")
    process.start()
    before = process.pid
    process.start()
    assert process.pid == before


def test_environment_is_added_to_ours(make: Callable[..., Process], tmp_path: Path) -> None:
    process = make('echo "$GREETING $HOME"', env={"GREETING": "hello"})
    process.start()
    assert process.wait(timeout=10) == 0
    assert process.tail() == [f"hello {os.environ.get('HOME', '')}"]


def test_run_raises_with_the_output_of_a_failed_tool(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"initdb failed with exit code 2") as caught:
        processes.run("initdb", ["sh", "-c", "echo no space; exit 2"], log_path=tmp_path / "tool.log")
    assert "| no space" in str(caught.value)


def test_large_log_is_moved_aside(
    make: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOG_LIMIT", 1000)
    log = tmp_path / "server.log"
    process = make("seq 1000; read never < /dev/zero & wait")
    process.start()
    eventually(lambda: log.stat().st_size > 1000)
    process.trim_log()
    assert log.stat().st_size < 1000
    assert (tmp_path / "server.log.1").stat().st_size > 1000


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(1)", "sys.exit(0)"])
def test_no_orphan_when_the_parent_is_gone(tmp_path: Path, end: str) -> None:
    """Not the child, nor a child of its own that ignores everything but SIGKILL."""
    inner = tmp_path / "inner.sh"
    inner.write_text("trap '' TERM HUP INT\necho $$\nwhile :; do sleep 0.1; done\n")
    script = f"""
import os, sys, time
from pathlib import Path
from hadash_sandbox.processes import Process
process = Process("server", ["sh", "-c", "sh {inner} & wait"], log_path=Path("{tmp_path}", "log"))
process.start()
while not process.tail():
    time.sleep(0.01)
print(process.pid, *process.tail(), flush=True)
{end}
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    child, grandchild = map(int, result.stdout.split())
    eventually(lambda: is_gone(child), timeout=1)
    eventually(lambda: is_gone(grandchild), timeout=5)


def test_children_started_from_a_thread_outlive_that_thread(make: Callable[..., Process]) -> None:
    """The kernel ties a child to the forking thread: a pool that ends must not take it along."""
    process = make("exec sleep 60")
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(process.start).result()
    time.sleep(0.2)  # there is nothing to poll for: we check that nothing happens
    assert process.alive


def test_supervisor_reports_a_death_once(make: Callable[..., Process]) -> None:
    process = make("exec sleep 60")
    process.start()
    supervisor = Supervisor()
    supervisor.watch([process])
    assert supervisor.poll() == []
    process.kill()
    assert supervisor.poll() == [process]
    assert supervisor.poll() == []


def test_supervisor_ignores_what_was_stopped(make: Callable[..., Process]) -> None:
    process = make("exec sleep 60")
    process.start()
    supervisor = Supervisor()
    supervisor.watch([process])
    process.stop()
    assert supervisor.poll() == []


def test_supervisor_restarts_with_growing_pauses(make: Callable[..., Process]) -> None:
    now = [0.0]
    process = make("exec sleep 60", restart=True)
    process.start()
    supervisor = Supervisor(clock=lambda: now[0])
    supervisor.watch([process])
    pauses = []
    for _ in range(3):
        process.kill()
        began = now[0]
        supervisor.poll()
        while not process.alive:
            now[0] += 0.25
            supervisor.poll()
        pauses.append(now[0] - began)
    assert pauses == [0.5, 1.0, 2.0]


def test_supervisor_thread_restarts(make: Callable[..., Process]) -> None:
    deaths: list[Process] = []
    process = make("exec sleep 60", restart=True)
    process.start()
    supervisor = Supervisor(deaths.append, interval=0.05)
    supervisor.watch([process])
    supervisor.start()
    try:
        before = process.pid
        process.kill()
        eventually(lambda: process.alive and process.pid != before)
    finally:
        supervisor.close()
    assert deaths == [process]


def test_exit_in_words() -> None:
    assert describe_exit(1) == "exit code 1"
    assert describe_exit(-9) == "signal SIGKILL"


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def eventually(look: Callable[[], T], timeout: float = 10.0) -> T:
    """Poll until the value is true; return it."""
    deadline = time.monotonic() + timeout
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {timeout} s"
        time.sleep(0.02)
