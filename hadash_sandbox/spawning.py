"""Starts child processes that cannot outlive this process, even if it is killed with SIGKILL."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from hadash_sandbox.guard import Guard

_PR_SET_PDEATHSIG = 1
# Loaded here, because nothing may be loaded between fork and exec.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Command:
    """The program to run, and how to run it."""

    argv: Sequence[str]
    env: Mapping[str, str]  # added to this process's environment
    cwd: Path | None
    user: tuple[int, int] | None  # uid and gid, for servers that refuse root
    death_signal: signal.Signals  # sent by the kernel when this process dies


class _Forker:
    """The one thread that forks all children.

    The kernel sends the parent-death signal when the *thread* that forked ends, not the process. A daemon thread lives
    as long as the interpreter; an executor's thread would end before atexit handlers run.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def fork(self, command: Command, log_path: Path) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="sandbox-forker", daemon=True)
                self._thread.start()
        job = _Job(command, log_path, Future())
        self._jobs.put(job)
        return job.child.result()

    def _loop(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job.child.set_result(_fork(job.command, job.log_path))
            except Exception as error:
                job.child.set_exception(error)


@dataclass(frozen=True)
class _Job:
    command: Command
    log_path: Path
    child: Future[subprocess.Popen[bytes]]


def spawn(command: Command, log_path: Path) -> subprocess.Popen[bytes]:
    """Start the program in a session of its own, with its output appended to the log.

    :raises OSError: it could not be started.
    """
    child = _forker.fork(command, log_path)
    guard.add(child.pid)
    return child


def _fork(command: Command, log_path: Path) -> subprocess.Popen[bytes]:
    parent, death_signal = os.getpid(), int(command.death_signal)

    def die_with_parent() -> None:
        # Runs after setuid, which would clear the death signal.
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, death_signal)
            if os.getppid() != parent:  # the parent died between fork and prctl
                os._exit(1)

    uid, gid = command.user or (None, None)
    with log_path.open("ab") as log:
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **command.env},
            cwd=command.cwd,
            user=uid,
            group=gid,
            extra_groups=None if gid is None else [],
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


_forker = _Forker()
guard = Guard()
