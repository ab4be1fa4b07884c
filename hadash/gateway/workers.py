"""Several processes of one Gateway on the same ports: started together, restarted one after the other, ended together.

The parent serves nobody. Each worker is a member in ZooKeeper of its own (``<id>-1``, ``<id>-2``, …), so a block waits for
all of them. SIGTERM lets them answer what is under way and ends them; SIGHUP restarts them one by one, while the others
take new connections; one that dies is started again.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

from hadash.gateway.settings import GatewaySettings

log = logging.getLogger(__name__)

#: Says to a process which of the workers it is, and where to say that it listens.
WORKER, READY = "HADASH_GATEWAY_WORKER", "HADASH_GATEWAY_READY_FD"

#: Exit code of a Gateway that cannot start: the reason is on standard error.
WRONG_SETTINGS = 2

#: Seconds before a worker that died is started again: one that dies at once must not fill the log.
RESPAWN_SECONDS = 1.0

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG = 1


class PortTaken(Exception):
    """Another program listens there already. The message says what to do."""


# -- in a worker ----------------------------------------------------------------------------------------------------


def worker_number() -> int:
    """Which of the workers this process is, from 1; 0 for one that stands alone."""
    return int(os.environ.get(WORKER, "0"))


def as_worker(settings: GatewaySettings, number: int) -> GatewaySettings:
    """The settings of one worker: a name and a status port of its own.

    >>> worker = as_worker(GatewaySettings(id="gw", admin_port=9400, workers=2), 2)
    >>> worker.id, worker.admin_port
    ('gw-2', 9401)
    """
    return replace(settings, id=f"{settings.id}-{number}", admin_port=settings.admin_port + number - 1)


def begin_worker() -> None:
    """Take the signals that the parent holds back from itself, and do not outlive it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent's to obey, also when a terminal sends it to all
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def say_ready() -> None:
    """Tell the parent that this worker listens."""
    descriptor = os.environ.get(READY)
    if descriptor is not None:
        os.write(int(descriptor), b".")
        os.close(int(descriptor))


# -- the parent -----------------------------------------------------------------------------------------------------


class Workers:
    """The parent of ``settings.workers`` processes."""

    def __init__(self, settings: GatewaySettings, command: list[str]) -> None:
        self._settings = settings
        self._command = command
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._ready: dict[int, int] = {}

    def run(self) -> int:
        """Until SIGTERM or SIGINT; the exit code.

        :raises PortTaken: somebody else has the bootstrap port.
        """
        # The workers share their ports, so it would not be noticed when a stranger did too.
        try:
            socket.create_server((self._settings.host, self._settings.port)).close()
        except OSError as error:
            raise PortTaken(
                f"The Gateway cannot listen ({error}). Choose a free HADASH_GATEWAY_PORT."
            ) from None
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        with tempfile.TemporaryDirectory(prefix="hadash-gateway-") as folder:
            state = self._settings.state or folder
            try:
                for number in range(1, self._settings.workers + 1):
                    self._start(number, state)
                return self._serve(state)
            finally:
                self._end_all()

    def _start(self, number: int, state: str) -> None:
        reading, writing = os.pipe()
        environment = {
            **os.environ,
            WORKER: str(number),
            READY: str(writing),
            "HADASH_GATEWAY_ID": self._settings.id,
            "HADASH_GATEWAY_STATE": state,
        }
        self._running[number] = subprocess.Popen(self._command, env=environment, pass_fds=(writing,))
        os.close(writing)
        self._ready[number] = reading

    def _await_ready(self, number: int) -> bool:
        """Whether the worker listens, as soon as it does; false when it has ended instead."""
        reading = self._ready.pop(number)
        try:
            return os.read(reading, 1) == b"."
        finally:
            os.close(reading)

    def _serve(self, state: str) -> int:
        for number in list(self._running):
            if not self._await_ready(number):
                return self._running[number].wait() or 1
        log.info("%d workers listen on port %d", len(self._running), self._settings.port)
        while True:
            received = signal.sigwait(_SIGNALS)
            if received in (signal.SIGTERM, signal.SIGINT):
                return 0
            if received == signal.SIGHUP:
                log.info("SIGHUP: restarting the workers one after the other")
                for number in sorted(self._running):
                    self._end(number)
                    self._start(number, state)
                    if not self._await_ready(number):
                        log.error("worker %d did not start again; the others go on as they are", number)
                        break
            self._replace_dead(state)

    def _replace_dead(self, state: str) -> None:
        """Start again who has died. (Settings that were good enough to start are not what it died of.)"""
        for number, process in sorted(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            log.error("worker %d has ended with exit code %d; starting it again", number, code)
            time.sleep(RESPAWN_SECONDS)
            self._start(number, state)
            self._await_ready(number)

    def _end(self, number: int) -> None:
        """SIGTERM, and the time that a worker may take to let its clients have their answers."""
        process = self._running[number]
        process.terminate()
        self._wait(process, time.monotonic() + self._patience)

    @property
    def _patience(self) -> float:
        return self._settings.linger_seconds + self._settings.hang_up_seconds + self._settings.connect_seconds

    @staticmethod
    def _wait(process: subprocess.Popen[bytes], deadline: float) -> None:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            log.error("worker with pid %d does not end; killing it", process.pid)
            process.kill()
            process.wait()

    def _end_all(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + self._patience
        for process in self._running.values():
            self._wait(process, deadline)
        for reading in self._ready.values():
            os.close(reading)


def run_workers(settings: GatewaySettings) -> int:
    """Run the Gateway as several processes. :raises PortTaken: the bootstrap port is another program's."""
    return Workers(settings, [sys.executable, "-m", "hadash.gateway"]).run()
