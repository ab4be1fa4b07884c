"""Tracks the tasks of a mirror's connector. Connect reports their current state, but not how often they have
restarted, so that is counted here. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hadash.kafka.connect import ConnectorStatus

RUNNING = "RUNNING"

#: hadash's own state of a task while Connect does not answer.
UNKNOWN = "UNKNOWN"


def unseen(before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tasks while Connect does not answer: their state is unknown, and the counts are kept."""
    return [{**task, "state": UNKNOWN} for task in before]


def counted(
    before: Sequence[Mapping[str, Any]], connector: str, status: ConnectorStatus | None, at: str
) -> list[dict[str, Any]]:
    """Return the new entries for ``Mirror.tasks``: ``connector``, ``id``, ``state`` and ``worker`` from
    Connect,
    ``since``: when it got these; ``error``: the first line of the last failure, and ``error_at``; ``restarts``
    since ``counted_since``.

    A task has restarted when it runs and did not before, or runs on another worker. A failure and restart
    between two looks is not counted.

    :param before: the entries of the previous look.
    :param connector: its name: the other direction has other tasks.
    :param status: ``None`` when Connect knows no such connector.
    """
    if status is None:
        return []
    known = {task["id"]: task for task in before if task.get("connector") == connector}
    found = []
    for task in status.details:
        was = known.get(task.id)
        same = was is not None and (was["state"], was["worker"]) == (task.state, task.worker)
        stood = was is not None and (was["state"] not in (RUNNING, UNKNOWN) or was["worker"] != task.worker)
        restarted = stood and task.state == RUNNING
        error = task.trace or (was["error"] if was else "")
        fresh_error = bool(task.trace) and (
            was is None or was["error"] != task.trace or was["state"] == RUNNING
        )
        found.append(
            {
                "connector": connector,
                "id": task.id,
                "state": task.state,
                "worker": task.worker,
                "since": was["since"] if was is not None and same else at,
                "error": error,
                "error_at": at if fresh_error else (was["error_at"] if was else ""),
                "restarts": (was["restarts"] if was else 0) + restarted,
                "counted_since": was["counted_since"] if was else at,
            }
        )
    return found
