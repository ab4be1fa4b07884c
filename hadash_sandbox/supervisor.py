"""Watches running processes, reports those that die, and restarts those that ask for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.processes import Process

FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
HEALTHY_AFTER = 30.0  # after so many seconds of life, the backoff of a process begins at FIRST_BACKOFF again


class Supervisor:
    """Polls its processes from one thread, and calls `on_death` once for each unexpected end."""

    def __init__(
        self,
        on_death: Callable[[Process], None] | None = None,
        *,
        interval: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_death = on_death
        self._interval = interval
        self._clock = clock
        self._watched: dict[Process, _Watch] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, processes: Iterable[Process]) -> None:
        """Add processes to watch; also allowed while the thread runs."""
        with self._lock:
            for process in processes:
                self._watched.setdefault(process, _Watch(self._clock()))

    def start(self) -> None:
        """Start the thread that polls."""
        self._thread = threading.Thread(target=self._loop, name="sandbox-supervisor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread. Call it before the processes are stopped, or they may be restarted."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def poll(self) -> list[Process]:
        """Look once: restart the processes that are due, and return those newly found dead."""
        with self._lock:
            watched = list(self._watched.items())
        return [process for process, watch in watched if self._look(process, watch)]

    def _look(self, process: Process, watch: _Watch) -> bool:
        process.trim_log()
        now = self._clock()
        if process.alive or not process.wanted:
            if watch.dead:
                watch.dead, watch.since = False, now
            return False
        newly_dead = not watch.dead
        if newly_dead:
            watch.died(now)
            process.clear()
        if process.restart and now >= watch.restart_at and not self._stopping.is_set():
            try:
                process.start()
            except SandboxError:
                watch.died(now)
            else:
                watch.dead, watch.since = False, now
        return newly_dead

    def _loop(self) -> None:
        while not self._stopping.wait(self._interval):
            for process in self.poll():
                if self._on_death is not None:
                    self._on_death(process)


class _Watch:
    """The state of one process: since when it is up or down, and the backoff before its next restart."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.dead = False
        self.restart_at = 0.0
        self._backoff = FIRST_BACKOFF

    def died(self, now: float) -> None:
        if not self.dead and now - self.since >= HEALTHY_AFTER:
            self._backoff = FIRST_BACKOFF
        self.dead = True
        self.restart_at = now + self._backoff
        self._backoff = min(self._backoff * 2, LONGEST_BACKOFF)
