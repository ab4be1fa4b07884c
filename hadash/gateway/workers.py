"""Several processes of one Gateway on the same ports: started together, restarted one by one, stopped together.

The parent serves no clients. Each worker is a member of its own in ZooKeeper (``<id>-1``, ``<id>-2``, …), so a block
waits for all of them. After SIGTERM the workers answer what is under way and end. SIGHUP restarts them one by one,
while the others accept new connections. A worker that dies is started again.
"""

from __future__ import annotations

import ctypes
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace

from hadash.gateway.settings import GatewaySettings

log = logging.getLogger(__name__)

#: The variables that tell a process its worker number, and the descriptor on which it reports that it listens.
WORKER, READY = "HADASH_GATEWAY_WORKER", "HADASH_GATEWAY_READY_FD"

#: Exit code of a Gateway that cannot start: the reason is on standard error.
WRONG_SETTINGS = 2

#: Seconds before a worker that died is started again, and the longest pause for a worker that keeps dying before it
#: listens: it must not fill the log.
RESPAWN_SECONDS = 1.0
MAX_RESPAWN_SECONDS = 30.0

#: The most times that the pause doubles: enough to reach the longest pause.
DOUBLINGS = 5

#: Seconds after which a process that was killed but still exists is killed again.
KILL_SECONDS = 5.0

#: Seconds to try a node's port: on the same machine the answer comes at once.
PORT_SECONDS = 0.5

#: The clusters of a pair; each has its own range of node ports.
CLUSTERS = 2

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG = 1


class PortTaken(Exception):
    """Another program already listens on a port. The message says what to do."""


# -- in a worker ---------------------------------------------------------------------------------------------------


def worker_number() -> int:
    """This process's worker number, from 1; 0 for a process without workers."""
    return int(os.environ.get(WORKER, "0"))


def as_worker(settings: GatewaySettings, number: int) -> GatewaySettings:
    """Return the settings of one worker: it has its own name and status port.

    >>> worker = as_worker(GatewaySettings(id="gw", admin_port=9400, workers=2), 2)
    >>> worker.id, worker.admin_port
    ('gw-2', 9401)
    """
    return replace(settings, id=f"{settings.id}-{number}", admin_port=settings.admin_port + number - 1)


def begin_worker() -> None:
    """Prepare this process to be a worker: leave SIGHUP to the parent, and end when the parent dies."""
    # The parent handles SIGHUP, also when a terminal sends it to all.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def say_ready() -> None:
    """Tell the parent that this worker listens."""
    descriptor = os.environ.get(READY)
    if descriptor is not None:
        os.write(int(descriptor), b".")
        os.close(int(descriptor))


# -- the parent ----------------------------------------------------------------------------------------------------


@dataclass
class Worker:
    """One place among the workers, and the process that fills it."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    #: The descriptor on which the process reports that it listens; ``None`` once it has, or has ended without.
    ready: int | None = None
    #: Whether the process has reported that it listens.
    has_listened: bool = False
    #: If the process was told to end: the time at which it is killed if it has not.
    killed_at: float | None = None
    #: If there is no process: the time at which one is started.
    started_at: float | None = None
    #: How often in a row the process has ended without having listened.
    failures: int = 0

    @property
    def listens(self) -> bool:
        """Whether the process listens and has not been told to end."""
        return self.process is not None and self.has_listened and self.killed_at is None

    @property
    def next_step(self) -> float | None:
        """When the worker needs attention, in ``time.monotonic``; ``None`` if it only has to be watched."""
        return self.started_at if self.process is None else self.killed_at


class Workers:
    """The parent of ``settings.workers`` processes.

    It waits for signals (SIGCHLD reports a process that has ended), for a process that reports that it listens, and for
    the next time at which a worker needs attention; then it looks at each worker. So it never misses an event.
    """

    def __init__(self, settings: GatewaySettings, command: list[str]) -> None:
        self._settings = settings
        self._command = command
        self._workers = [Worker(number) for number in range(1, settings.workers + 1)]
        self._state = ""
        #: Workers that are still to be restarted, one by one.
        self._restarting: deque[Worker] = deque()
        self._all_have_listened = False
        self._selector = selectors.DefaultSelector()
        self._woken, self._wakes = socket.socketpair()
        for end in (self._woken, self._wakes):
            end.setblocking(False)

    def run(self) -> int:
        """Run until SIGTERM or SIGINT, and return the exit code.

        :raises PortTaken: another program has one of the ports.
        """
        self._refuse_taken_ports()
        for number in _SIGNALS:
            signal.signal(number, lambda *_: None)  # the parent is woken by the byte on its socket
        previous = signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        try:
            with tempfile.TemporaryDirectory(prefix="hadash-gateway-") as folder:
                self._state = self._settings.state or folder
                try:
                    return self._serve()
                finally:
                    self._end_all()
        finally:
            signal.set_wakeup_fd(previous)
            self._selector.close()

    def _refuse_taken_ports(self) -> None:
        """Refuse to start on ports of another program. The workers share their ports, so a stranger that shares them
        would not be noticed."""
        host, port = self._settings.host, self._settings.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            raise PortTaken(
                f"The Gateway cannot listen ({error}). Choose a free HADASH_GATEWAY_PORT."
            ) from None
        if self._settings.mode == "redirect":
            return
        for node in range(port + 1, port + 1 + CLUSTERS * self._settings.ports_per_cluster):
            if _would_be_shared(family, host, node):
                raise PortTaken(
                    f"Port {node}, one of this Gateway's nodes', is another program's that would share it. Choose a "
                    "HADASH_GATEWAY_PORT that leaves room for the nodes behind it (HADASH_GATEWAY_PORTS_PER_CLUSTER)."
                )

    def _serve(self) -> int:
        for worker in self._workers:
            self._start(worker)
        while True:
            received = self._wait()
            if received & {signal.SIGTERM, signal.SIGINT}:
                return 0
            if signal.SIGHUP in received:
                log.info("SIGHUP: restarting the workers one after the other")
                self._restarting = deque(self._workers)
            for worker in self._workers:
                code = self._look_at(worker)
                if code is not None:
                    return code
            if not self._all_have_listened and all(worker.listens for worker in self._workers):
                self._all_have_listened = True
                log.info("%d workers listen on port %d", len(self._workers), self._settings.port)
            self._go_on_restarting()

    def _wait(self) -> set[int]:
        """Wait until something happens, and return the signals that have arrived."""
        steps = [step for worker in self._workers if (step := worker.next_step) is not None]
        patience = max(min(steps) - time.monotonic(), 0) if steps else None
        received: set[int] = set()
        for key, _ in self._selector.select(patience):
            if key.data is None:
                received |= set(self._woken.recv(4096))
            else:
                self._hear(key.data)
        return received

    def _hear(self, worker: Worker) -> None:
        """Handle a worker's report that it listens, or the end of its pipe."""
        assert worker.ready is not None
        listens = os.read(worker.ready, 1) == b"."
        self._selector.unregister(worker.ready)
        os.close(worker.ready)
        worker.ready = None
        worker.has_listened = listens
        if listens:
            worker.failures = 0
        else:
            worker.failures += 1

    def _look_at(self, worker: Worker) -> int | None:
        """Do what is due for one worker; return an exit code when the workers cannot continue."""
        now = time.monotonic()
        if worker.process is None:
            if worker.started_at is not None and worker.started_at <= now:
                self._start(worker)
            return None
        code = worker.process.poll()
        if code is None:
            if worker.killed_at is not None and worker.killed_at <= now:
                log.error("worker %d does not end; killing it", worker.number)
                worker.process.kill()
                worker.killed_at = now + KILL_SECONDS
            return None
        if worker.ready is not None:
            self._hear(worker)
        asked, worker.killed_at, worker.process = worker.killed_at is not None, None, None
        if asked:
            self._start(worker)
            return None
        if not self._all_have_listened:
            return code or 1  # the worker's log has the reason
        if worker.failures:
            self._restarting.clear()  # the other workers keep running
        pause = min(RESPAWN_SECONDS * 2 ** min(worker.failures, DOUBLINGS), MAX_RESPAWN_SECONDS)
        log.error(
            "worker %d has ended with exit code %d; starting it again in %g s", worker.number, code, pause
        )
        worker.started_at = now + pause
        return None

    def _go_on_restarting(self) -> None:
        """Restart the next worker once all listen."""
        if self._restarting and all(worker.listens for worker in self._workers):
            self._tell_to_end(self._restarting.popleft())

    def _start(self, worker: Worker) -> None:
        worker.started_at = None
        reading, writing = os.pipe()
        environment = {
            **os.environ,
            WORKER: str(worker.number),
            READY: str(writing),
            "HADASH_GATEWAY_ID": self._settings.id,
            "HADASH_GATEWAY_STATE": self._state,
        }
        try:
            worker.process = subprocess.Popen(self._command, env=environment, pass_fds=(writing,))
        except OSError as error:  # out of memory or processes, which may pass
            os.close(reading)
            if not self._all_have_listened:
                raise
            worker.failures += 1
            worker.started_at = time.monotonic() + MAX_RESPAWN_SECONDS
            log.error("worker %d cannot be started (%s); trying again", worker.number, error)
            return
        finally:
            os.close(writing)
        worker.ready, worker.has_listened = reading, False
        self._selector.register(reading, selectors.EVENT_READ, worker)

    def _tell_to_end(self, worker: Worker) -> None:
        """Send SIGTERM, and set the time that the worker has to let its clients receive their answers."""
        assert worker.process is not None
        worker.process.terminate()
        settings = self._settings
        worker.killed_at = time.monotonic() + (
            settings.linger_seconds + settings.hang_up_seconds + settings.connect_seconds
        )

    def _end_all(self) -> None:
        running = [worker for worker in self._workers if worker.process is not None]
        for worker in running:
            if worker.killed_at is None:
                self._tell_to_end(worker)
        for worker in running:
            assert worker.process is not None and worker.killed_at is not None
            try:
                worker.process.wait(max(worker.killed_at - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                log.error("worker %d does not end; killing it", worker.number)
                worker.process.kill()
                worker.process.wait()
            if worker.ready is not None:
                os.close(worker.ready)


def _would_be_shared(family: int, host: str, port: int) -> bool:
    """Return whether another program listens on the port and the kernel would let this one share it.

    The other program would then get half of the connections. (A program that does not share the port is reported when
    the port is needed.)
    """
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.settimeout(PORT_SECONDS)
        reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        if trial.connect_ex((reached, port)) != 0 or trial.getsockname()[:2] == trial.getpeername()[:2]:
            return False
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            trial.bind((host, port))
        except OSError:
            return False
    return True


def run_workers(settings: GatewaySettings) -> int:
    """Run the Gateway as several processes, and return the exit code.

    :raises PortTaken: another program has one of its ports.
    """
    return Workers(settings, [sys.executable, "-m", "hadash.gateway"]).run()
