"""Connects tasks to logs, traces, metrics and health pages.

The ids of a request are sent with its tasks, so that their log lines have them on any worker.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

from celery.signals import (
    after_task_publish,
    beat_init,
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
    worker_shutdown,
)
from celery.worker import state
from django.conf import settings

from hadash.telemetry import ids, tracing

#: The message header with the sender's ids.
HEADER = "hadash_ids"

#: The running tasks, by id and thread: Redis delivers a task that takes too long a second time, perhaps to the
#: same process.
_running: dict[tuple[str, int], tuple[ExitStack, float]] = {}


@before_task_publish.connect
def _send_along(headers: dict[str, Any] | None = None, **_: object) -> None:
    found = {name: value for name, value in ids.current().items() if name != "task"}
    if headers is not None and found:
        headers[HEADER] = found


@after_task_publish.connect
def _published(sender: str, **_: object) -> None:
    from hadash.monitoring import metrics
    from hadash.monitoring.processes import BEAT

    metrics.PUBLISHED.labels(sender).inc()
    BEAT.moved()


@task_prerun.connect
def _begin(task_id: str, task: Any, **_: object) -> None:
    from hadash.monitoring import metrics

    sent = getattr(task.request, HEADER, None) or (task.request.headers or {}).get(HEADER) or {}
    stack = ExitStack()
    known = {name: value for name, value in sent.items() if name in ids.NAMES and isinstance(value, str)}
    stack.enter_context(ids.bound(**{**known, "task": task_id}))
    _running[task_id, threading.get_ident()] = stack, time.perf_counter()
    metrics.TASKS_RUNNING.inc()


@task_postrun.connect
def _end(task_id: str, task: Any, state: str | None = None, **_: object) -> None:
    from hadash.monitoring import metrics

    stack, began = _running.pop((task_id, threading.get_ident()), (None, 0.0))
    if stack is None:
        return
    metrics.TASKS_RUNNING.dec()
    metrics.TASKS.labels(task.name, (state or "unknown").lower()).inc()
    metrics.TASK_SECONDS.labels(task.name).observe(time.perf_counter() - began)
    stack.close()


class Consumer:
    """The state of a worker from Celery's own consumer, for every kind of pool."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self.queues = list(consumer.app.amqp.queues.consume_from)

    @property
    def begun(self) -> int:
        """The number of tasks since the start."""
        return sum(state.total_count.values())

    @property
    def has_hands_free(self) -> bool:
        return len(state.active_requests) < int(self._consumer.pool.num_processes)

    @property
    def is_connected(self) -> bool:
        """Whether it is connected to Redis."""
        connection = self._consumer.connection
        return connection is not None and bool(connection.connected)


@worker_ready.connect
def _worker_is_ready(sender: Any, **_: object) -> None:
    """:param sender: Celery's consumer."""
    from hadash.monitoring import metrics
    from hadash.monitoring.processes import WORKER

    # Initialised to 0: Prometheus does not count the first event of a counter that appears with it.
    for name in sender.app.tasks:
        if not name.startswith("celery."):
            for ended in ("success", "failure"):
                metrics.TASKS.labels(name, ended)
    WORKER.begin(settings.HEALTH_ADDRESS, Consumer(sender))


@worker_shutdown.connect
def _worker_ends(**_: object) -> None:
    from hadash.monitoring.processes import WORKER

    WORKER.end()


@beat_init.connect
def _beat_begins(**_: object) -> None:
    from hadash.monitoring.processes import BEAT

    BEAT.begin(settings.HEALTH_ADDRESS)
    tracing.begin(tracing.BEAT)
    tracing.trace_tasks()


@worker_init.connect
def _worker_begins(**_: object) -> None:
    tracing.begin(tracing.WORKER)
    tracing.trace_tasks()
