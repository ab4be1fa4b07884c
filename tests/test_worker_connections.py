"""A worker's threads keep their connections to PostgreSQL from task to task."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery.app.task import Task
from celery.app.trace import build_tracer
from celery.fixups.django import DjangoWorkerFixup
from django.db import connection

from tasks import app

pytestmark = pytest.mark.stack


def session() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


class Worker:
    """One thread of a worker, with what Celery does before and after its tasks."""

    def __init__(self) -> None:
        self.sessions: list[int] = []
        self._fixup = DjangoWorkerFixup(app)
        self._fixup.install()
        self._thread = ThreadPoolExecutor(1)
        name = f"test.{uuid.uuid4()}"
        app.task(self._look, name=name, shared=False)
        self._task: Task = app.tasks[name]

    def _look(self, fails: bool) -> None:
        self.sessions.append(session())
        if fails:
            raise ValueError("a task that fails")

    def run(self, fails: bool = False) -> int:
        """The session of PostgreSQL that a task had."""
        key = str(uuid.uuid4())
        trace = build_tracer(self._task.name, self._task, app=app)
        request = {"id": key, "is_eager": False, "delivery_info": {}}
        self._thread.submit(trace, key, (fails,), {}, request).result(timeout=30)
        return self.sessions[-1]

    def end(self) -> None:
        self._thread.submit(lambda: connection.close()).result(timeout=30)  # (its own thread's)
        self._thread.shutdown()
        del app.tasks[self._task.name]


@pytest.fixture
def worker(transactional_db: None) -> Iterator[Worker]:
    made = Worker()
    yield made
    made.end()


def test_the_next_task_has_the_same_session(worker: Worker) -> None:
    assert worker.run() == worker.run()


def test_a_session_that_postgresql_has_ended_is_replaced(worker: Worker) -> None:
    first = worker.run()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [first])
    assert worker.run() != first


def test_what_a_failed_task_held_goes_with_its_session(worker: Worker) -> None:
    assert worker.run(fails=True) != worker.run()
