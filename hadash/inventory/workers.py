"""The presence of Celery workers: each one updates its row every few seconds, and deletes it when it is
stopped.

A worker that was killed counts as gone after :setting:`WORKER_SILENT_SECONDS`, and is forgotten after a day.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from hadash import VERSION
from hadash.inventory.models import Worker

log = logging.getLogger(__name__)

#: The queue of the tasks of switches; jobs have a queue of their own.
SWITCHES = "celery"
#: How long a silent worker is still shown, so that users notice that it is missing.
FORGOTTEN_AFTER = timedelta(days=1)


class Presence:
    """A thread that periodically records that a worker is alive."""

    def __init__(self, name: str, queues: Collection[str]) -> None:
        self._name = name
        self._queues = sorted(queues)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which deletes the row. If PostgreSQL is down, the row stays until it counts as silent."""
        self._ended.set()
        self._thread.join(timeout=settings.WORKER_PRESENCE_SECONDS)

    def _go_on(self) -> None:
        began = timezone.now()
        while True:
            self._safely(lambda: self._note(began))
            if self._ended.wait(settings.WORKER_PRESENCE_SECONDS):
                break
        self._safely(lambda: Worker.objects.filter(name=self._name, began_at=began).delete())

    def _note(self, began: datetime) -> None:
        said = {"queues": self._queues, "version": VERSION, "began_at": began, "seen_at": timezone.now()}
        Worker.objects.update_or_create(name=self._name, defaults=said)

    def _safely(self, action: Callable[[], object]) -> None:
        try:
            action()
        except DatabaseError as error:
            log.warning("worker %s could not say that it is there: %s", self._name, error)
            connection.close()


def is_there(worker: Worker, now: datetime) -> bool:
    """Return whether a worker was seen within :setting:`WORKER_SILENT_SECONDS`."""
    return now - worker.seen_at <= timedelta(seconds=settings.WORKER_SILENT_SECONDS)


def known() -> list[Worker]:
    """Return the workers that were seen within :data:`FORGOTTEN_AFTER`, by name."""
    since = timezone.now() - FORGOTTEN_AFTER
    return list(Worker.objects.filter(seen_at__gte=since).order_by("name"))


def trim() -> None:
    """Delete workers that were last seen before :data:`FORGOTTEN_AFTER`."""
    Worker.objects.filter(seen_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()
