"""The health of a worker and of beat, as they report it themselves."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from django.conf import settings

from hadash.monitoring import metrics, servers
from hadash.monitoring.health import Health, Progress, readiness
from hadash.monitoring.probes import NotFine, Probe, ask_all
from hadash.monitoring.process_server import ProcessServer
from hadash.monitoring.watchdog import Watchdog

log = logging.getLogger(__name__)

#: Seconds between two observations of whether the process still makes progress.
OBSERVED_SECONDS = 5.0


class Consumer(Protocol):
    """What a worker knows of its own consumer (:class:`tasks.observed.Consumer`)."""

    @property
    def queues(self) -> Sequence[str]: ...

    @property
    def begun(self) -> int: ...

    @property
    def has_hands_free(self) -> bool: ...

    @property
    def is_connected(self) -> bool: ...


class Moves(NamedTuple):
    """One observation. ``could``: whether there is work and the process is free to do it, ``None`` when that is
    unknown; ``done``: how much was done since the start.
    """

    could: bool | None
    done: int


class _Process(ABC):
    """This process' own health: it observes whether the process makes progress, and serves the health page."""

    name = ""

    def __init__(self) -> None:
        self._progress = Progress(patience=settings.HEALTH_STUCK_SECONDS)
        self._ended = threading.Event()
        self._server: ProcessServer | None = None
        self._probes: tuple[Probe, ...] = ()

    def _begin(self, address: str) -> None:
        self._ended.clear()
        metrics.STUCK.set_function(lambda: float(self._is_stuck()))
        Watchdog.of_environment().start(self._is_stuck)
        threading.Thread(target=self._observe, name="health observations", daemon=True).start()
        if address:
            self._server = ProcessServer(address, self.healthz, self.readyz)
            self._server.start()

    def end(self) -> None:
        """Stop observing, and close the health page."""
        self._ended.set()
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _observe(self) -> None:
        while not self._ended.wait(OBSERVED_SECONDS):
            moves = self._moves()
            self._progress.observe(time.monotonic(), could_move=moves.could, done=moves.done)

    def _is_stuck(self) -> bool:
        return self._progress.is_stuck(time.monotonic())

    @abstractmethod
    def _moves(self) -> Moves:
        """Return an observation of now."""

    @abstractmethod
    def stuck(self) -> str:
        """Return what the health page says of the process when it is stuck."""

    def healthz(self) -> Health:
        if self._is_stuck():
            return Health(self.name, "stuck", says=self.stuck())
        return Health(self.name, "ok")

    def readyz(self) -> Health:
        alive = self.healthz()
        if alive.status != "ok":
            return alive
        return readiness(self.name, ask_all(self._probes, settings.HEALTH_SECONDS))


class WorkerProcess(_Process):
    """A Celery worker. It needs PostgreSQL and Redis; a running switch waits for ZooKeeper by itself."""

    name = "worker"

    def __init__(self) -> None:
        super().__init__()
        self._consumer: Consumer | None = None

    def begin(self, address: str, consumer: Consumer) -> None:
        """Begin to observe, and serve the health page at ``address`` (none when it is empty).

        :raises ValueError: the address is not ``host:port``.
        """
        self._consumer = consumer
        self._probes = (
            servers.postgresql(is_needed=True),
            servers.redis_server(is_needed=True),
            Probe("queues", self._listens, is_needed=True),
            servers.zookeeper(is_needed=False),
            servers.bindings(),
            servers.kafka(),
        )
        self._begin(address)

    @property
    def _queues(self) -> Sequence[str]:
        return self._consumer.queues if self._consumer is not None else ()

    def _listens(self) -> str:
        if self._consumer is None or not self._consumer.is_connected:
            raise NotFine("it does not listen to its queues: it connects to Redis again")
        return f"listens to {', '.join(self._queues)}"

    def _moves(self) -> Moves:
        if self._consumer is None:
            return Moves(None, 0)
        try:
            waits = any(servers.redis_client().llen(queue) for queue in self._queues)
        except Exception:  # Redis is away, so the worker is not to blame
            return Moves(None, self._consumer.begun)
        return Moves(waits and self._consumer.has_hands_free, self._consumer.begun)

    def stuck(self) -> str:
        return (
            f"tasks have waited for more than {settings.HEALTH_STUCK_SECONDS:g} s in {', '.join(self._queues)}, "
            "and this worker has hands free and begins none of them: start it again"
        )


class BeatProcess(_Process):
    """Celery's beat. It publishes a task every two seconds, as long as Redis accepts it."""

    name = "beat"

    def __init__(self) -> None:
        super().__init__()
        self._handed_over = 0

    def moved(self) -> None:
        """Count one published task."""
        self._handed_over += 1

    def begin(self, address: str) -> None:
        """Begin to observe, and serve the health page at ``address`` (none when it is empty).

        :raises ValueError: the address is not ``host:port``.
        """
        self._probes = (servers.redis_server(is_needed=True),)
        self._begin(address)

    def _moves(self) -> Moves:
        try:
            return Moves(bool(servers.redis_client().ping()), self._handed_over)
        except Exception:  # Redis is away
            return Moves(None, self._handed_over)

    def stuck(self) -> str:
        seconds = settings.HEALTH_STUCK_SECONDS
        return f"Redis answers, and nothing was handed over for more than {seconds:g} s: start it again"


WORKER = WorkerProcess()
BEAT = BeatProcess()
