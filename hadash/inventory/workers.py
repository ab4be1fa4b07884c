"""Which Celery workers are there, by what they say of themselves: each notes it every few seconds, and says
good-bye when it is stopped.

One that was killed says nothing more: it counts as gone after :setting:`WORKER_SILENT_SECONDS`, and is
forgotten after a day.
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

#: The queue of everything that a switch needs; jobs have one of their own.
SWITCHES = "celery"
#: How long one that says nothing more is still shown: so that somebody sees that it is missing.
FORGOTTEN_AFTER = timedelta(days=1)


class Presence:
    """A thread that says again and again that a worker is there."""

    def __init__(self, name: str, queues: Collection[str]) -> None:
        self._name = name
        self._queues = sorted(queues)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Good-bye. PostgreSQL may be away: then it is found out by silence."""
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

    def _safely(self, act: Callable[[], object]) -> None:
        try:
            act()
        except DatabaseError as error:
            log.warning("worker %s could not say that it is there: %s", self._name, error)
            connection.close()


def is_there(worker: Worker, now: datetime) -> bool:
    return now - worker.seen_at <= timedelta(seconds=settings.WORKER_SILENT_SECONDS)


def known() -> list[Worker]:
    """Those of the last day, by name."""
    since = timezone.now() - FORGOTTEN_AFTER
    return list(Worker.objects.filter(seen_at__gte=since).order_by("name"))


def trim() -> None:
    """Forget those that have long been gone."""
    Worker.objects.filter(seen_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()
