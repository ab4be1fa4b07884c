"""Keeps the connections of a worker's threads to PostgreSQL from task to task, as Django's requests do.

Celery closes them before and after each task, whatever ``CONN_MAX_AGE`` is, unless ``db_reuse_max`` is set;
then it never checks whether a connection still works. Periodic tasks run four times a second, and each would
begin with a sign-in and a new process of PostgreSQL.
"""

from __future__ import annotations

import sys
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun
from celery.states import SUCCESS
from django.db import close_old_connections, connections


def keep_connections(app: Celery) -> None:
    """Make the workers of this process close connections by Django's own rules (``CONN_MAX_AGE``,
    ``CONN_HEALTH_CHECKS``).
    """
    app.conf.CELERY_DB_REUSE_MAX = sys.maxsize
    task_prerun.connect(_before)
    task_postrun.connect(_after)


def _before(task: Any, **_: object) -> None:
    """Close connections that are too old. (The others are checked before their first use.)"""
    if not task.request.is_eager:
        close_old_connections()


def _after(task: Any, state: str | None, **_: object) -> None:
    """Close all connections after a failed task, so that the next one does not inherit its session, such as locks."""
    if task.request.is_eager:
        return
    if state == SUCCESS:
        close_old_connections()
    else:
        connections.close_all()
