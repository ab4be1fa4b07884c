"""The Spark applications of this worker: each is a process, ``python -m spark serve``, that runs one job after
the other.

Starting Spark takes longer than most jobs, so an application waits a while for the next job
(``HADASH_PIPELINE_IDLE_SECONDS``). It ends with this worker in any case, because its standard input is a pipe
from the worker.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO

from django.conf import settings

from spark.codes import FAILED

log = logging.getLogger(__name__)

#: Seconds for a Spark process to end after its input was closed.
END_SECONDS = 20.0

#: Seconds between two looks at whether a job is still wanted: as often as a page asks how far it is.
WATCH_SECONDS = 1.0

#: The last lines of a process's error output that are kept: they explain an unexpected end.
LINES_KEPT = 50


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a job. ``code``: 0, or one of :mod:`spark.codes`; for a process that has died its exit code
    (``-9``: killed). ``said``: its message. ``died``: the process has ended without an answer.
    """

    code: int
    said: str
    died: bool = False


class TookTooLong(Exception):
    """A job was not done in time. Its process was ended."""


class NotWanted(Exception):
    """A job is not wanted any more. Its process was ended."""


def command(with_kafka: bool) -> list[str]:
    """Return the command that starts an application. (The database's address contains a password, so it is
    passed in the environment.)
    """
    back = ["nice", "-n", str(settings.PIPELINE_NICE)] if settings.PIPELINE_NICE else []
    found = [*back, sys.executable, "-m", "spark", "serve", "--lake", settings.LAKE]
    return [*found, "--with-kafka"] if with_kafka else found


class Application:
    """One Spark process. It runs one job at a time.

    :param with_kafka: whether it can read a Topic.
    :param environment: variables in addition to those of this process.
    """

    def __init__(self, with_kafka: bool, environment: Mapping[str, str]) -> None:
        self.with_kafka = with_kafka
        self._process = subprocess.Popen(
            command(with_kafka),
            cwd=settings.BASE_DIR,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._orders = self._process.stdin
        self._answers: SimpleQueue[str | None] = SimpleQueue()
        self._last: deque[str] = deque(maxlen=LINES_KEPT)
        self._readers = [
            threading.Thread(target=self._hear, args=[self._process.stdout], daemon=True),
            threading.Thread(target=self._keep, args=[self._process.stderr], daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def carry_out(
        self, order: Sequence[str], seconds: float, is_wanted: Callable[[], bool] = lambda: True
    ) -> Ended:
        """Run one job.

        :param order: the arguments of ``python -m spark``.
        :param is_wanted: asked every :data:`WATCH_SECONDS`; what it raises ends the job as well.
        :raises TookTooLong: it was not done within ``seconds``. :raises NotWanted: it is not wanted any more.
        """
        try:
            print(json.dumps(order), file=self._orders, flush=True)
        except OSError:
            return self._dead()
        answer = self._answer(time.monotonic() + seconds, is_wanted)
        if answer is None:
            return self._dead()
        try:
            told = json.loads(answer)
            return Ended(told["code"], told["said"])
        except (ValueError, TypeError, KeyError):
            self.end()
            return Ended(FAILED, f"Its process has answered: {answer.strip()}")

    def _answer(self, deadline: float, is_wanted: Callable[[], bool]) -> str | None:
        while True:
            left = deadline - time.monotonic()
            try:
                return self._answers.get(timeout=max(0.0, min(left, WATCH_SECONDS)))
            except Empty:
                if left <= 0:
                    self.end()
                    raise TookTooLong from None
            if not is_wanted():
                self.end()
                raise NotWanted

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End the process by closing its standard input, and kill it if that does not help."""
        try:
            self._orders.close()
        except OSError:
            pass  # it has already ended
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _dead(self) -> Ended:
        self.end()
        return Ended(self._process.returncode or FAILED, self._last[-1] if self._last else "", died=True)

    def _hear(self, answers: IO[str]) -> None:
        with answers:
            for line in answers:
                self._answers.put(line)
        self._answers.put(None)

    def _keep(self, said: IO[str]) -> None:
        with said:
            for line in said:
                if line.strip():
                    self._last.append(line.strip())


class Applications:
    """The applications of this worker: as many as jobs run at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Application, threading.Timer]] = []

    @contextmanager
    def lent(self, with_kafka: bool, environment: Mapping[str, str]) -> Iterator[Application]:
        """Lend an application for one job: an idle one, or a new one. It is not kept if it has ended, or after
        an exception.
        """
        application = self._take(with_kafka) or Application(with_kafka, environment)
        try:
            yield application
        except BaseException:
            application.end()
            raise
        self._keep(application)

    def warm_up(self, environment: Mapping[str, str]) -> None:
        """Start an application for the next job, unless one is idle."""
        with self._lock:
            waits = bool(self._idle)
        if not waits and settings.PIPELINE_IDLE_SECONDS > 0:
            self._keep(Application(False, environment))

    def _take(self, with_kafka: bool) -> Application | None:
        with self._lock:
            for number, (application, timer) in enumerate(self._idle):
                if application.with_kafka == with_kafka and application.is_alive:
                    del self._idle[number]
                    timer.cancel()
                    return application
        return None

    def _keep(self, application: Application) -> None:
        if not application.is_alive:
            return
        if settings.PIPELINE_IDLE_SECONDS <= 0:
            application.end()
            return
        timer = threading.Timer(settings.PIPELINE_IDLE_SECONDS, self._end, [application])
        timer.daemon = True
        with self._lock:
            self._idle.append((application, timer))
        timer.start()

    def _end(self, application: Application) -> None:
        """End an application if it is still idle."""
        with self._lock:
            kept = [each for each in self._idle if each[0] is not application]
            mine = len(kept) < len(self._idle)
            self._idle = kept
        if mine:
            application.end()

    def end_idle(self) -> None:
        """End all idle applications."""
        with self._lock:
            idle, self._idle = self._idle, []
        for application, timer in idle:
            timer.cancel()
            application.end()


#: The applications of this process.
APPLICATIONS = Applications()
