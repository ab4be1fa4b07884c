"""Child processes that never outlive this process, and whose errors say why they did not start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from hadash_sandbox import spawning
from hadash_sandbox.errors import SandboxError

TAIL_LINES = 30
POLL_SECONDS = 0.05
LOG_LIMIT = 20 * 1024 * 1024


class Process:
    """One child process, started in a session of its own and stopped by its pid.

    It dies with this process, however that ends. Its output goes to `log_path`. `ready` is polled until it returns
    True; an OSError (no server listens yet) counts as False. `env` is added to this process's environment; `user` is
    the (uid, gid) for servers that refuse root; `restart` asks the Supervisor to start it again when it dies.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        ready: Callable[[], bool] | None = None,
        cwd: Path | None = None,
        user: tuple[int, int] | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        death_signal: signal.Signals = signal.SIGKILL,
        restart: bool = False,
    ) -> None:
        self.name = name
        self.command = spawning.Command(
            argv=[str(argument) for argument in argv],
            env=dict(env or {}),
            cwd=cwd,
            user=user,
            death_signal=death_signal,
        )
        self.log_path = log_path
        self.ready = ready
        self.stop_signal = stop_signal
        self.restart = restart
        self.wanted = False  # started and not stopped: if it is not alive, it died unexpectedly
        self._lock = threading.RLock()
        self._popen: subprocess.Popen[bytes] | None = None
        self._cleared = False  # whether nothing of the last start is left to kill
        self._log_start = 0

    def __repr__(self) -> str:
        return f"<Process {self.name} pid={self.pid} {'alive' if self.alive else 'down'}>"

    @property
    def pid(self) -> int | None:
        """The pid of the last start, also after that process has ended; None before the first start."""
        return self._popen.pid if self._popen else None

    @property
    def alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code as subprocess has it: negative for a signal, None while running or never started."""
        return self._popen.poll() if self._popen else None

    def start(self) -> None:
        """Start the program unless it runs already, without waiting until it is ready.

        :raises SandboxError: it could not be started.
        """
        with self._lock:
            if self.alive:
                return
            self.clear()
            self.log_path.parent.mkdir(parents=True, exist_ok=True)
            self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
            try:
                self._popen = spawning.spawn(self.command, self.log_path)
            except OSError as error:
                raise SandboxError(f"{self.name} could not be started: {error}.") from error
            self._cleared = False
            self.wanted = True

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until the program is ready.

        :param timeout: in seconds.
        :raises SandboxError: it ended, or was not ready in time; the message has the end of its log.
        """
        deadline = time.monotonic() + timeout
        while True:
            if not self.alive:
                raise SandboxError(
                    f"{self.name} ended with {describe_exit(self.exit_code)} before it was ready; "
                    f"its log is {self.log_path}.{self._quoted_tail()}"
                )
            if self._is_ready():
                return
            if time.monotonic() >= deadline:
                raise SandboxError(
                    f"{self.name} was not ready after {timeout:g} s; "
                    f"its log is {self.log_path}.{self._quoted_tail()}"
                )
            time.sleep(POLL_SECONDS)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the program to end by itself; return its exit code.

        :raises SandboxError: it was never started, or did not end within ``timeout`` seconds.
        """
        if self._popen is None:
            raise SandboxError(f"{self.name} was never started.")
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise SandboxError(
                f"{self.name} did not end within {timeout:g} s.{self._quoted_tail()}"
            ) from None

    def has_ended(self, timeout: float) -> bool:
        """Whether the program ends by itself within ``timeout`` seconds; for callers that have other work meanwhile."""
        if self._popen is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(timeout)
        return not self.alive

    def stop(self, timeout: float = 20.0) -> None:
        """Ask the program to end, and kill what is left of it after `timeout` seconds."""
        with self._lock:
            self.wanted = False
            if self._popen is None:
                return
            if self.alive:
                self._popen.send_signal(self.stop_signal)
                self._signal_tree(signal.SIGCONT)  # a paused process cannot obey
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._popen.wait(timeout)
            self._kill_tree()

    def clear(self) -> None:
        """Kill the children that the program left when it died, soon: its pid may be given to another process."""
        with self._lock:
            if not self.alive:
                self._kill_tree()

    def kill(self) -> None:
        """End the program at once with SIGKILL, as a crash would: the supervisor sees it die."""
        with self._lock:
            self._kill_tree()

    def pause(self) -> None:
        """Freeze the program and its children (SIGSTOP): connections stay open and nothing answers."""
        self._signal_tree(signal.SIGSTOP)

    def resume(self) -> None:
        """End :meth:`pause` (SIGCONT)."""
        self._signal_tree(signal.SIGCONT)

    def tail(self, lines: int = TAIL_LINES) -> list[str]:
        """The last lines that the program wrote to its log since its last start."""
        try:
            with self.log_path.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(min(self._log_start, size), size - 65536))
                text = log.read().decode(errors="replace")
        except OSError:
            return []
        return text.splitlines()[-lines:]

    def trim_log(self) -> None:
        """Copy a log that has grown too large to ``.log.1``, and truncate it (the program appends to it)."""
        with contextlib.suppress(OSError):
            if self.log_path.stat().st_size > LOG_LIMIT:
                old = self.log_path.with_suffix(".log.1")
                old.write_bytes(self.log_path.read_bytes())
                os.truncate(self.log_path, 0)
                self._log_start = 0

    def _is_ready(self) -> bool:
        if self.ready is None:
            return True
        try:
            return self.ready()
        except OSError:
            return False

    def _quoted_tail(self) -> str:
        return "".join(f"\n  | {line}" for line in self.tail())

    def _signal_tree(self, number: signal.Signals) -> None:
        """Signal the program and its descendants, of which PostgreSQL's leave the process group."""
        if not self.alive or self.pid is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            leader = psutil.Process(self.pid)
            if number == signal.SIGSTOP:
                leader.send_signal(number)  # before its children, so that it starts no more of them
            for process in [leader, *leader.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def _kill_tree(self) -> None:
        if self._popen is None or self._cleared:
            return
        self._signal_tree(signal.SIGKILL)
        # Kill what is left of the session after its leader has ended.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        spawning.guard.remove(self._popen.pid)
        self._cleared = True


def describe_exit(code: int | None) -> str:
    """An exit code in words: "exit code 1", "signal SIGKILL".

    >>> describe_exit(-9)
    'signal SIGKILL'
    """
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def run(
    name: str,
    argv: Sequence[str | Path],
    *,
    log_path: Path,
    timeout: float = 120.0,
    user: tuple[int, int] | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a tool to its end, as a :class:`Process` that leaves no orphans.

    :param timeout: in seconds.
    :raises SandboxError: it failed or took too long.
    """
    process = Process(name, argv, log_path=log_path, user=user, env=env)
    try:
        process.start()
        code = process.wait(timeout)
    finally:
        process.stop(timeout=0)
    if code != 0:
        tail = "".join(f"\n  | {line}" for line in process.tail())
        raise SandboxError(f"{name} failed with {describe_exit(code)}; its log is {log_path}.{tail}")
