"""A task's lines have the ids of whatever has handed it over; it is counted where it ends."""

from __future__ import annotations

from types import SimpleNamespace

import click
from celery.bin.worker import WorkersPool
from celery.concurrency.thread import TaskPool

from hadash.monitoring import metrics
from hadash.telemetry import ids
from tasks import observed
from tasks.app import app


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


def carried_out(headers: dict[str, object] | None, state: str = "SUCCESS") -> dict[str, str]:
    """The ids inside a task that came with these headers."""
    task = SimpleNamespace(name="tests.task", request=SimpleNamespace(headers=headers))
    observed._begin("t-1", task)
    try:
        return ids.current()
    finally:
        observed._end("t-1", task, state)


def test_a_request_leads_to_its_task() -> None:
    headers: dict[str, object] = {}
    with ids.bound(request="r-1", person="olga", task="t-0"):
        observed._send_along(headers)
    assert headers == {observed.HEADER: {"request": "r-1", "person": "olga"}}
    assert carried_out(headers) == {"request": "r-1", "person": "olga", "task": "t-1"}
    assert ids.current() == {}


def test_what_beat_hands_over_has_no_header() -> None:
    headers: dict[str, object] = {}
    observed._send_along(headers)
    assert headers == {}
    assert carried_out(None) == {"task": "t-1"}


def test_headers_of_somebody_else_are_not_believed() -> None:
    assert carried_out({observed.HEADER: {"customer": "c", "person": 7, "request": "r"}}) == {
        "request": "r",
        "task": "t-1",
    }


def test_it_is_counted_by_name_and_end() -> None:
    labels = {"task": "tests.task", "state": "failure"}
    before, timed = (
        value("hadash_tasks_total", **labels),
        value("hadash_task_seconds_count", task="tests.task"),
    )
    carried_out(None, "FAILURE")
    assert value("hadash_tasks_total", **labels) == before + 1
    assert value("hadash_task_seconds_count", task="tests.task") == timed + 1
    assert value("hadash_tasks_running") == 0


def test_tasks_are_threads_whatever_the_command_says() -> None:
    """Celery's default, processes of their own, would count for themselves, and each would connect to every cluster."""
    context = click.Context(click.Command("worker"), obj=SimpleNamespace(app=app))
    assert WorkersPool().convert("prefork", None, context) is TaskPool
